from __future__ import annotations

from pathlib import Path

import pytest
from tests_support import TraceFolder

from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store
from tracekit.store.query import run


@pytest.fixture
def store(traces: TraceFolder, tmp_path: Path) -> Store:
    """Three nodes: one in zone A, one in C, one with constant memory."""
    ingest(traces.path, tmp_path / "store")
    return open_store(tmp_path / "store")


def test_zone_summary(store: Store) -> None:
    rows = run(store, "usage/zone_summary").select("zone", "nodes", "memory_mean").rows()
    # memory of node 0 is 0.9 - 0.01 k, of node 1 0.4 + 0.02 k, over k = 0 1 2 3 4 0 1 2 3 4 0 1
    assert [(zone, nodes) for zone, nodes, _ in rows] == [("A", 1), ("C", 1), ("U", 1)]
    assert [mean for *_, mean in rows] == pytest.approx([0.9 - 0.21 / 12, 0.4 + 0.42 / 12, 0.7])


def test_util_diff_by_zone_counts_every_node_once(store: Store) -> None:
    rows = run(store, "usage/util_diff_by_zone", {"bin_width": 0.1})
    assert rows["nodes"].sum() == 3
    profile = run(store, "usage/node_profile")
    for zone, util_diff in profile.select("zone", "util_diff").rows():
        starts = rows.filter(zone=zone)["bin_start"].to_list()
        assert any(start <= util_diff < start + 0.1 for start in starts)


def test_the_typical_node_of_a_zone_is_one_of_it(store: Store) -> None:
    typical = run(store, "usage/typical_nodes").select("zone", "node").rows()
    assert set(typical) == set(run(store, "usage/node_profile").select("zone", "node").rows())


def test_the_series_of_a_node(store: Store) -> None:
    node = run(store, "usage/node_profile")["node"][0]
    series = run(store, "usage/node_series", {"node": node})
    assert series["time_ms"].to_list() == [step * 30000 for step in range(12)]
