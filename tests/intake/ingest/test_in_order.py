"""Duplicates: which rows are, which of them stays, and how the manifest counts them."""

from __future__ import annotations

from pathlib import Path

from store_support import ingest_one
from tests_support import CALL_HEADER, NODE_HEADER, hex_id

from tracekit.store.folder import open_store
from tracekit.store.query import Database


def test_duplicates_are_dropped_and_the_first_is_kept(tmp_path: Path) -> None:
    node, other = hex_id("node", 0), hex_id("node", 1)
    lines = [
        f"30000,{node},0.5,0.5",
        f"0,{other},0.1,0.1",
        f"30000,{node},0.6,0.5",
        f"30000,{node},0.5,0.5",
        f"0,{node},0.4,0.5",
    ]
    entry = ingest_one(tmp_path, "Node_0.csv", NODE_HEADER, lines)
    assert entry.duplicates_dropped == 2
    assert {d.defect: (d.rows, d.example) for d in entry.defects} == {
        "exact_duplicate": (1, "line 5"),
        "conflicting_duplicate": (1, "line 4"),
    }
    with Database(open_store(tmp_path / "store")) as database:
        kept = database.frame("SELECT cpu_fraction FROM node_usage WHERE time_ms = 30000")
    assert kept["cpu_fraction"].to_list() == [0.5]


def test_calls_are_duplicates_only_when_equal_in_every_column(tmp_path: Path) -> None:
    a, b = hex_id("service", 0), hex_id("service", 1)
    same = f"t1,5,0.1,{a},mc,{b},,1"
    lines = [same, f"t1,5,0.1,{a},rpc,{b},i,1", f"t1,5,0.1,{a},rpc,{b},i,-1", same]
    entry = ingest_one(tmp_path, "MSCallGraph_0.csv", CALL_HEADER, lines)
    assert (entry.rows, entry.duplicates_dropped) == (3, 1)
