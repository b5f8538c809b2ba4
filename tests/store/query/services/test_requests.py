"""What services request and use, against a plain count."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from cluster_support import store_of
from kubernetes_support import answer, container, listed, node, pod, series, written

from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
from tracekit.store.query import run

GIB = 2**30


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """One service runs throughout, one for half of the time, one requests nothing."""
    folder = tmp_path_factory.mktemp("requests")
    files = {
        "nodes.csv": ["node,cpu_milli,memory_bytes", f"n,64000,{64 * GIB}"],
        "containers.csv": [
            "container,service,node,arrival_ms,cpu_milli,memory_bytes",
            f"a1,a,n,0,4000,{8 * GIB}",
            f"a2,a,n,0,2000,{4 * GIB}",
            f"b1,b,n,0,8000,{2 * GIB}",
            "c1,c,n,0,,",
        ],
        "usage.csv": [
            "time_ms,container,cpu_milli,memory_bytes",
            *(f"{at * 60_000},a1,1000,{2 * GIB}" for at in range(4)),
            *(f"{at * 60_000},a2,2000,{3 * GIB}" for at in range(4)),
            *(f"{at * 60_000},b1,2000,{3 * GIB}" for at in range(2)),
            *(f"{at * 60_000},c1,5000,{3 * GIB}" for at in range(4)),
        ],
    }
    store = store_of(folder, files)
    return run(store, "services/requests")


def test_amounts_are_weighted_by_time_and_summed_over_containers(found: pl.DataFrame) -> None:
    rows = {row["service"]: row for row in found.to_dicts()}
    assert set(rows) == {"a", "b"}
    assert rows["a"]["containers"] == 2
    assert rows["a"]["cpu_requested_cores"] == pytest.approx(6)
    assert rows["a"]["cpu_unused_cores"] == pytest.approx(3)
    assert rows["a"]["memory_unused_gib"] == pytest.approx(7)
    assert rows["b"]["cpu_requested_cores"] == pytest.approx(4)
    assert rows["b"]["cpu_unused_cores"] == pytest.approx(3)
    assert rows["b"]["memory_unused_gib"] == pytest.approx(-0.5)


def test_a_sample_that_two_files_hold_counts_once(tmp_path: Path) -> None:
    """Files of days that overlap: a pod of 2 cores was said to request 2.5."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    pods = pod("web-1", nodeName="n1", containers=[container("2")])
    written(folder / "cluster.json", listed(node("n1"), pods))
    for day, minutes in ((1, range(3)), (2, range(2, 4))):
        values = [(1_767_225_600 + 60 * at, 0.5) for at in minutes]
        one = series(None, values, namespace="default", pod="web-1")
        written(folder / f"container_cpu_in_use-{day}.json", answer(one))
    ingest(folder, tmp_path / "store")
    (row,) = run(open_store(tmp_path / "store"), "services/requests").to_dicts()
    assert row["cpu_requested_cores"] == pytest.approx(2)
    assert row["cpu_used_cores"] == pytest.approx(0.5)
