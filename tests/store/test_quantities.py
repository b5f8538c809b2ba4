"""What a store records: looked up in its columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster_support import CLUSTER, stored
from kubernetes_support import answer, series, written
from store_support import tiny_store

from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
from tracekit.store.quantities import ABSENT, INFERRED, RECORDED, quantities, together


def test_a_cluster_of_ones_own(tmp_path: Path) -> None:
    known = quantities(stored(tmp_path))
    recorded = ("node sizes", "requests", "use of containers", "placement", "departures")
    assert {known[name] for name in (*recorded, "fault domains")} == {RECORDED}
    assert known["use of nodes"] == INFERRED
    assert {known[name] for name in ("limits", "priorities", "NUMA cells", "calls")} == {ABSENT}


@pytest.mark.slow
def test_a_trace_with_sizes_beside_it(tmp_path: Path) -> None:
    known = quantities(tiny_store(tmp_path))
    assert {known[name] for name in ("use of nodes", "use of containers", "placement")} == {
        RECORDED
    }
    assert {known[name] for name in ("node sizes", "requests", "arrivals")} == {RECORDED}


@pytest.mark.parametrize(("what", "lacks"), [("cpu", "memory"), ("memory", "cpu")])
def test_use_of_nodes_without_one_of_two_says_which(tmp_path: Path, what: str, lacks: str) -> None:
    made = tmp_path / "made"
    made.mkdir()
    use = series(None, [(1_767_225_600 + 60 * at, 1e9) for at in range(3)], nodename="n1")
    written(made / f"node_{what}_in_use.json", answer(use))
    ingest(made, tmp_path / "store")
    known = quantities(open_store(tmp_path / "store"))
    assert known["use of nodes"] == RECORDED
    assert {name: kind for name, kind in known.items() if name.startswith("use of nodes:")} == {
        f"use of nodes: {lacks}": ABSENT
    }


def test_a_column_without_a_value_is_absent(tmp_path: Path) -> None:
    header, *rows = CLUSTER["containers.csv"]
    parts = [row.split(",") for row in rows]
    empty = [",".join([*part[:4], "", *part[5:]]) for part in parts]
    known = quantities(stored(tmp_path, {"containers.csv": [header, *empty]}))
    assert known["departures"] == ABSENT


@pytest.mark.parametrize(
    ("before", "more", "both"),
    [
        (ABSENT, RECORDED, RECORDED),
        (RECORDED, ABSENT, RECORDED),
        (INFERRED, ABSENT, INFERRED),
        (INFERRED, RECORDED, RECORDED),
        (ABSENT, ABSENT, ABSENT),
    ],
)
def test_of_two_parts_the_better_known_counts(before: str, more: str, both: str) -> None:
    assert together({"requests": before}, {"requests": more}) == {"requests": both}
    assert together({}, {"requests": more}) == {"requests": more}
