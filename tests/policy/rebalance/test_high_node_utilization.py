"""High node utilization in the replay, by hand."""

from __future__ import annotations

import pytest
from rebalance_support import Running, running

from tracekit.policy.entrant import parse_rebalancer
from tracekit.policy.view.snapshot import Snapshot

HIGH = "high_node_utilization"
#: n0 and n2 are under 20 percent, n1 is not; n0 is used least.
ROWS: list[Running] = [
    (0, 100, 50),
    (0, 50, 50),
    (1, 500, 500),
    (2, 100, 100),
    (2, 90, 100),
]


def evicted(settings: str, seen: Snapshot) -> list[int]:
    return [int(at) for at in parse_rebalancer(f"{HIGH}[{settings}]").evict(seen)]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("thresholds=cpu:20", [1, 0, 4, 3]),  # nodes used least first, then the smallest
        ("thresholds=cpu:20,number_of_nodes=2", []),
        ("thresholds=cpu:5", []),  # none is under
        ("thresholds=cpu:60+memory:60", []),  # all are
        ("thresholds=cpu:16", [1, 0]),
        ("thresholds=gpu:16", []),  # not there, so every node is under
    ],
)
def test_drains_underused_nodes(settings: str, expected: list[int]) -> None:
    assert evicted(settings, running([(1000, 1000)] * 3, ROWS)) == expected


def test_stops_when_the_others_are_full() -> None:
    # n1 has 130 of cpu left: 50 and 100 go, and then it is spent
    rows: list[Running] = [*ROWS[:2], (1, 870, 500), *ROWS[3:]]
    settings = "thresholds=cpu:20,node_fit=false"
    assert evicted(settings, running([(1000, 1000)] * 3, rows)) == [1, 0]


def test_may_leave_alone_what_does_not_request_the_resource() -> None:
    rows: list[Running] = [(0, 0, 50), (0, 50, 50), (1, 500, 500)]
    seen = running([(1000, 1000)] * 2, rows)
    assert evicted("thresholds=cpu:20", seen) == [0, 1]
    assert evicted("thresholds=cpu:20,only_thresholding_resources=true", seen) == [1]
    both = "thresholds=cpu:20+memory:20,only_thresholding_resources=true"
    assert evicted(both, seen) == [0, 1]
