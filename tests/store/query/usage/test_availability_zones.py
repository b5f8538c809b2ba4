"""Nodes by availability zone, against sums by hand."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from cluster_support import store_of

from tracekit.store.query import run

GIB = 2**30


@pytest.fixture(scope="module")
def query_rows(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """Two nodes in each of two zones, one of them empty, and one in none; one container leaves."""
    folder = tmp_path_factory.mktemp("availability")
    files = {
        "nodes.csv": [
            "node,cpu_milli,memory_bytes,zone",
            f"a1,8000,{16 * GIB},a",
            f"a2,8000,{16 * GIB},a",
            f"b1,4000,{8 * GIB},b",
            f"b2,4000,{8 * GIB},b",
            f"c1,4000,{8 * GIB},",
        ],
        "containers.csv": [
            "container,service,node,arrival_ms,cpu_milli,memory_bytes",
            f"one,s,a1,0,4000,{8 * GIB}",
            f"two,s,a2,0,4000,{8 * GIB}",
            f"three,s,b1,0,1000,{2 * GIB}",
            f"four,s,c1,0,1000,{2 * GIB}",
        ],
        "usage.csv": [
            "time_ms,container,cpu_milli,memory_bytes",
            *(f"{at * 60_000},one,1000,{GIB}" for at in range(4)),
            *(f"{at * 60_000},two,1000,{GIB}" for at in range(2)),
            *(f"{at * 60_000},three,500,{GIB}" for at in range(4)),
            *(f"{at * 60_000},four,500,{GIB}" for at in range(4)),
        ],
    }
    store = store_of(folder, files)
    return run(store, "usage/availability_zones")


def test_requests_count_while_containers_have_samples(query_rows: pl.DataFrame) -> None:
    rows = {row["availability_zone"]: row for row in query_rows.to_dicts()}
    assert set(rows) == {"a", "b"}
    assert (rows["a"]["nodes"], rows["a"]["cpu_cores"]) == (2, 16)
    # two is there for half of the time: 4 + 2 of 16 cores
    assert rows["a"]["cpu_requested_share"] == pytest.approx(6 / 16)
    assert rows["a"]["memory_requested_share"] == pytest.approx(12 / 32)
    assert rows["b"]["cpu_requested_share"] == pytest.approx(1 / 8)
    assert rows["a"]["cpu_used_share"] == pytest.approx(1 / 8)
    # no use of the empty node is recorded: it is in no share used, and counted as such
    assert [rows[zone]["nodes_without_use"] for zone in "ab"] == [0, 1]
    assert rows["b"]["cpu_used_share"] == pytest.approx(1 / 8)


@pytest.mark.slow
def test_a_later_price_takes_no_zone_away(tmp_path: Path) -> None:
    """What a row of a node does not state is as it was last stated: zone, and that it is gone."""
    now = 1_767_225_600_000
    files = {
        "nodes.csv": [
            "time_ms,node,cpu_milli,memory_bytes,zone,state",
            *(f"{now},{one},8000,{16 * GIB},a," for one in ("a1", "a2", "a3")),
            f"{now + 60_000},a3,8000,{16 * GIB},,gone",
        ],
        "node.csv": [
            "time_ms,node,price_per_hour",
            *(f"{now + 120_000},{one},0.4" for one in ("a1", "a3")),
        ],
        "containers.csv": [
            "container,service,node,arrival_ms,cpu_milli,memory_bytes",
            f"one,s,a1,{now},4000,{8 * GIB}",
        ],
        "usage.csv": [
            "time_ms,container,cpu_milli,memory_bytes",
            *(f"{now + at * 60_000},one,1000,{GIB}" for at in range(4)),
        ],
    }
    replayed = run(store_of(tmp_path, files), "usage/availability_zones")
    assert replayed.select("availability_zone", "nodes").rows() == [("a", 2)]
