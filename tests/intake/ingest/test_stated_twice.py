"""A later file that states a node or a container otherwise: rejects; the first file counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest
from cluster_support import store_of, workload
from cluster_support import written as folder_of
from facts_support import causes

from tracekit.intake.ingest import ingest
from tracekit.intake.ingest.repeated.once import STATED_TWICE
from tracekit.store.checksums import damaged_parts
from tracekit.store.folder import Store, open_store
from tracekit.store.query import Database, run
from tracekit.store.views import read

GIB = 2**30
NODES = "node,cpu_milli,memory_bytes,price_per_hour"
CONTAINERS = "container,service,node,arrival_ms,cpu_milli,memory_bytes"
CLUSTER: Mapping[str, Sequence[str]] = {
    "nodes_9.csv": [NODES, f"n0,8000,{32 * GIB},0.4", f"n1,8000,{32 * GIB},"],
    "containers_9.csv": [CONTAINERS, f"c0,s,n0,0,500,{GIB}", f"c1,s,n1,0,500,{GIB}"],
}


def _rejects(store: Store) -> list[tuple[str, int, str]]:
    with Database(store) as database:
        sql = 'SELECT source_file, line, "column" FROM reject ORDER BY 1, 2'
        return [(str(file), int(line), str(why)) for file, line, why in database.frame(sql).rows()]


@pytest.mark.parametrize(
    ("more", "rejects"),
    [
        (
            {"containers_10.csv": [CONTAINERS, f"c0,s,n0,0,2000,{GIB}", f"c2,s,n0,0,1,{GIB}"]},
            [("containers_10.csv", 2, "request")],
        ),
        (
            {"nodes_10.csv": [NODES, f"n0,16000,{32 * GIB},0.9", f"n1,8000.0,{32 * GIB},0.7"]},
            [("nodes_10.csv", 2, "price_per_hour")],
        ),
        # of a container nothing but a resource can be added
        (
            {
                "containers_10.csv": [
                    CONTAINERS + ",gpu,cpu_limit_milli,priority",
                    f"c0,s,n0,0,500,{GIB},1,,",
                    f"c1,s,n1,0,500,{GIB},,900,7",
                ]
            },
            [("containers_10.csv", 3, "priority")],
        ),
        # a list of prices beside nodes with sizes takes no node away, nor a price that is stated
        (
            {"node.csv": ["node,price_per_hour", "n0,0.3", "n1,0.3"]},
            [("node.csv", 2, "price_per_hour")],
        ),
        (
            {
                "node_resource.csv": [
                    "node,resource,amount,unit",
                    "n0,cpu,16,cores",
                    "n0,gpu,1,count",
                ]
            },
            [("node_resource.csv", 2, "amount")],
        ),
        (
            {"containers_10.csv": [CONTAINERS, f"c0,s,n0,60,500,{GIB}", f"c1,t,n1,0,500,{GIB}"]},
            [("containers_10.csv", 2, "time_ms"), ("containers_10.csv", 3, "service")],
        ),
        ({"nodes_10.csv": ["time_ms," + NODES, f"60000,n0,16000,{32 * GIB},0.9"]}, []),
        (
            {"containers_10.csv": [CONTAINERS, f"c0,s,n0,0,-1,{GIB}"]},
            [("containers_10.csv", 2, "cpu_milli")],
        ),
    ],
    ids=[
        "a container",
        "a node",
        "more of a container",
        "prices beside",
        "a size beside",
        "a life",
        "a node later",
        "broken itself",
    ],
)
@pytest.mark.parametrize("later", [False, True])
def test_the_first_file_counts(
    tmp_path: Path,
    more: Mapping[str, Sequence[str]],
    rejects: list[tuple[str, int, str]],
    *,
    later: bool,
) -> None:
    """Whether the second file comes with the first, or in an ingest of its own."""
    store = store_of(tmp_path, CLUSTER if later else {**CLUSTER, **more})
    if later:
        ingest(folder_of(tmp_path / "later", more), store.path)
    assert _rejects(open_store(store.path)) == rejects


def test_a_replay_has_what_the_first_file_states(tmp_path: Path) -> None:
    nodes = [NODES, *(f"n{at},16000,{32 * GIB},0.9" for at in range(2))]
    containers = [CONTAINERS, *(f"c{at},s,n{at},0,2000,{GIB}" for at in range(2))]
    store = store_of(tmp_path, {**CLUSTER, "nodes_10.csv": nodes, "containers_10.csv": containers})
    load = workload(store)
    assert load.containers.request[:, 0].tolist() == [500, 500]
    assert load.nodes.capacity[:, 0].tolist() == [8000, 8000]
    assert load.nodes.price_per_hour is not None
    assert load.nodes.price_per_hour[0] == 0.4
    assert not {"node_resized", "node_repriced"} & {*causes(load.provenance.remarks)}


def _held(store: Store, table: str) -> list[tuple[str, int, int]]:
    """The parts of a table: file, rows, duplicates."""
    parts = store.manifest.parts(table)
    return [(one.file, one.rows, one.duplicates_dropped) for one in parts]


@pytest.mark.slow
def test_a_row_that_says_nothing_else_is_counted_and_left_out(tmp_path: Path) -> None:
    more = {
        # the first says the same at another place, the second less of the service
        "containers_10.csv": [
            CONTAINERS,
            f"c2,s,n0,0,1,{GIB}",
            f"c0,s,n0,0,500,{GIB}",
            f"c1,,n1,0,500.0,{GIB}",
        ],
        # the second says a price more
        "nodes_10.csv": [NODES, f"n0,8000,{32 * GIB},0.4", f"n1,8000,{32 * GIB},0.7"],
    }
    store = store_of(tmp_path, {**CLUSTER, **more})
    assert _rejects(store) == []
    assert _held(store, "container") == [("containers_9.csv", 2, 0), ("containers_10.csv", 1, 2)]
    assert [one[1:] for one in _held(store, "container_resource")] == [(4, 0), (2, 4)]
    assert _held(store, "node") == [("nodes_9.csv", 2, 0), ("nodes_10.csv", 1, 1)]
    assert [one[1:] for one in _held(store, "node_resource")] == [(4, 0), (0, 4)]
    containers = read(store, "container").sort("container")
    assert containers["container"].to_list() == ["c0", "c1", "c2"]
    assert containers["service"].to_list() == ["s"] * 3
    assert not list(damaged_parts(store.path, store.manifest.sources))
    told = run(store, "quality/ledger").filter(pl.col("defect") == STATED_TWICE)
    assert told["rows"].sum() == 11
    load = workload(store)
    assert load.nodes.price_per_hour is not None
    assert load.nodes.price_per_hour.tolist() == [0.4, 0.7]
