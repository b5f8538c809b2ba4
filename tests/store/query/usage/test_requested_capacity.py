"""Requests against capacity, against sums by hand; a store without use shows them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from cluster_support import store_of

from tracekit.store.node_states import nodes_of
from tracekit.store.query import run
from tracekit.store.views import read

GIB = 2**30


@pytest.fixture(scope="module")
def query_rows(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """Two nodes, one with GPUs; the second container departs as the third arrives."""
    folder = tmp_path_factory.mktemp("requested")
    files = {
        "nodes.csv": [
            "node,cpu_milli,memory_bytes,gpu",
            f"a,8000,{16 * GIB},4",
            f"b,8000,{16 * GIB},0",
        ],
        "containers.csv": [
            "container,node,arrival_ms,departure_ms,cpu_milli,memory_bytes,gpu",
            f"one,a,0,,2000,{4 * GIB},1",
            f"two,a,0,60000,4000,{4 * GIB},2",
            f"three,a,60000,120000,1000,{8 * GIB},1",
            "four,b,30000,,,,",
        ],
    }
    store = store_of(folder, files)
    return run(store, "usage/requested_capacity")


def test_the_most_at_one_time_and_all_together(query_rows: pl.DataFrame) -> None:
    rows = {row["resource"]: row for row in query_rows.to_dicts()}
    assert list(rows) == ["cpu", "gpu", "memory"]
    cpu, gpu, memory = (rows[name] for name in rows)
    assert (cpu["nodes"], cpu["capacity"], cpu["containers"]) == (2, 16, 3)
    # two has left when three comes
    assert (cpu["requested_at_once"], cpu["requested_in_all"]) == (6, 7)
    assert (gpu["nodes"], gpu["capacity"], gpu["at_once_share"]) == (1, 4, 0.75)
    assert gpu["in_all_share"] == 1
    assert memory["requested_at_once"] == 12 * GIB
    assert memory["in_all_share"] == pytest.approx(0.5)


def test_a_node_has_the_last_size_that_is_none_of_nothing(tmp_path: Path) -> None:
    """As a replay has it: a node was resized, and its device plugin restarts at the end."""
    files = {
        "node_resource.csv": [
            "time_ms,node,resource,cell,amount,unit",
            "0,a,cpu,,16,cores",
            "60000,a,cpu,,4,cores",
            "0,a,gpu,,2,devices",
            "60000,a,gpu,,0,devices",
        ],
        "container_resource.csv": [
            "time_ms,container,resource,request,limit,unit",
            "0,one,cpu,1,,cores",
            "0,one,gpu,1,,devices",
        ],
        "container.csv": ["time_ms,container,node", "0,one,a"],
    }
    store = store_of(tmp_path, files)
    replayed = run(store, "usage/requested_capacity")
    _, sizes = nodes_of(read(store, "node"), read(store, "node_resource"))
    assert dict(replayed.select("resource", "capacity").rows()) == {"cpu": 4.0, "gpu": 2.0}
    assert dict(sizes.select("resource", "amount").rows()) == {"cpu": 4.0, "gpu": 2.0}
