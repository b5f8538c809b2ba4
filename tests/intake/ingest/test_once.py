"""Samples that stand in two files count once, those of the first file, whoever asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest
from cluster_support import store_of, workload
from cluster_support import written as folder_of
from facts_support import causes, the
from kubernetes_support import answer, listed, node, pod, series, written

from tracekit.intake.ingest import ingest
from tracekit.intake.ingest.repeated.once import TWICE
from tracekit.store.checksums import damaged_parts
from tracekit.store.doubts import OTHERWISE, doubts
from tracekit.store.folder import Store, open_store
from tracekit.store.query import run
from tracekit.store.views import read

FROM_S = 1_767_229_200
CLUSTER: Mapping[str, Sequence[str]] = {
    "nodes.csv": ["node,cpu_milli,memory_bytes", "n0,8000,34359738368"],
    "containers.csv": [
        "container,service,node,arrival_ms,cpu_milli,memory_bytes",
        "c0,s,n0,0,1000,1073741824",
    ],
}


def _usage(milli: int, *minutes: int) -> list[str]:
    return [
        "container,time_ms,cpu_milli,memory_bytes",
        *(f"c0,{at * 60_000},{milli},536870912" for at in minutes),
    ]


def _two(folder: Path) -> Store:
    """The second file states three of the minutes of the first again, and one more."""
    second = _usage(10, 2, 3, 4, 5)
    return store_of(
        folder, {**CLUSTER, "usage_1.csv": _usage(400, 0, 1, 2, 3, 4), "usage_2.csv": second}
    )


def _ledger(store: Store) -> pl.DataFrame:
    return run(store, "quality/ledger").filter(pl.col("defect").is_in([TWICE, OTHERWISE]))


@pytest.mark.slow
def test_everyone_counts_those_of_the_first_file(tmp_path: Path) -> None:
    store = _two(tmp_path)
    cpu = read(store, "container_amount").filter(resource="cpu").sort("time_ms")
    assert cpu["amount"].to_list() == [0.4] * 5 + [0.01]
    shares = read(store, "container_usage").sort("time_ms")["cpu_fraction"].to_list()
    assert shares == pytest.approx([0.4] * 5 + [0.01])
    nodes = read(store, "node_usage").sort("time_ms")["cpu_fraction"].to_list()
    assert nodes == pytest.approx([0.05] * 5 + [0.00125])
    load = workload(store)
    at = (120_000 - int(load.use.times_ms[0])) // load.use.step_ms
    assert load.use.values[0][at].tolist() == [400]


@pytest.mark.slow
def test_ingest_and_check_say_so(tmp_path: Path) -> None:
    store = _two(tmp_path)
    doubt = the(doubts(store), OTHERWISE)
    assert (doubt.value, doubt.about["file"]) == (6, "usage_2.csv")
    [line] = _ledger(store).to_dicts()
    assert (line["table"], line["rows"]) == ("container_amount", 6)
    assert line["example"] == f"usage_2.csv: {doubt.about['example']}"
    (entry,) = [one for one in store.manifest.sources if one.file == "usage_2.csv"]
    assert (entry.rows_read, entry.rows, entry.duplicates_dropped) == (8, 2, 6)
    assert list(damaged_parts(store.path, store.manifest.sources)) == []


@pytest.mark.slow
@pytest.mark.parametrize("damaged", ["usage_1.csv", "usage_2.csv"])
def test_a_damaged_part_is_mended_without_them(tmp_path: Path, damaged: str) -> None:
    store = _two(tmp_path)
    before = read(store, "container_amount").sort("resource", "time_ms")
    at = [one.file for one in store.manifest.parts("container_amount")].index(damaged)
    store.table_files("container_amount")[at].write_bytes(b"broken")
    ingest(tmp_path / "traces", store.path)
    again = open_store(store.path)
    assert read(again, "container_amount").sort("resource", "time_ms").equals(before)
    assert list(damaged_parts(again.path, again.manifest.sources)) == []
    assert _ledger(again).height == 1


@pytest.mark.slow
def test_a_file_that_comes_later_is_held_against_the_store(tmp_path: Path) -> None:
    store = store_of(tmp_path, {**CLUSTER, "usage_2.csv": _usage(400, 0, 1, 2)})
    folder_of(tmp_path / "traces", {"usage_1.csv": _usage(10, 1, 2, 3)})
    summary = ingest(tmp_path / "traces", store.path)
    assert [(one.rows, one.duplicates_dropped) for one in summary.ingested] == [(2, 4)]
    cpu = read(open_store(store.path), "container_amount").filter(resource="cpu").sort("time_ms")
    assert cpu["amount"].to_list() == [0.4, 0.4, 0.4, 0.01]


def test_fractions_of_ones_own_too(tmp_path: Path) -> None:
    header = "time_ms,container,node,service,cpu_fraction,memory_fraction"
    files = {
        f"container_usage_{number}.csv": [header, *(f"{at},c0,n0,s,{cpu},0.5" for at in times)]
        for number, cpu, times in ((1, 0.4, (0, 60_000)), (2, 0.1, (60_000, 120_000)))
    }
    store = store_of(tmp_path, files)
    rows = read(store, "container_usage").sort("time_ms")
    assert rows["cpu_fraction"].to_list() == [0.4, 0.4, 0.1]
    assert OTHERWISE in causes(doubts(store))


@pytest.mark.slow
def test_a_sample_of_two_files_is_in_the_ledger(tmp_path: Path) -> None:
    """Fetched anew from where the last fetch ended, and a time before; memory does not overlap."""
    made = tmp_path / "cluster"
    made.mkdir()
    written(made / "cluster.json", listed(node("n1"), pod("p0", nodeName="n1")))
    parts = {("cpu", 0): 4, ("cpu", 2): 4, ("memory", 0): 2, ("memory", 2): 2}
    for (what, first), count in parts.items():
        (made / str(first)).mkdir(exist_ok=True)
        times = [(FROM_S + 60 * (first + at), 0.5 if what == "cpu" else 5e8) for at in range(count)]
        some = series(None, times, namespace="default", pod="p0")
        written(made / str(first) / f"container_{what}_in_use.json", answer(some))
    ingest(made, tmp_path / "store")
    store = open_store(tmp_path / "store")
    [line] = _ledger(store).to_dicts()
    assert (line["defect"], line["table"], line["rows"]) == (TWICE, "container_amount", 2)
    assert "2/container_cpu_in_use.json" in line["example"]
    # the same values are nothing to be told on every occasion
    assert OTHERWISE not in causes(doubts(store))
    # made anew of all, it is told once
    written(made / "more.json", listed(node("n2")))
    ingest(made, tmp_path / "store")
    assert _ledger(open_store(tmp_path / "store")).height == 1
