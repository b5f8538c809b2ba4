"""Moves by the use of nodes, by hand and against plain second forms."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from rebalance_support import Running, running

from tracekit.policy.entrant import parse_rebalancer
from tracekit.policy.rebalance._utilization import measured_amounts
from tracekit.policy.view.snapshot import Snapshot
from tracekit.policy.view.usage import SeriesUsage

LOW = "low_node_utilization"
LEVEL = "thresholds=cpu:{0}+memory:{0},target_thresholds=cpu:{1}+memory:{1}"


def evicted(text: str, seen: Snapshot) -> list[int]:
    return [int(at) for at in parse_rebalancer(text).evict(seen)]


def test_the_metrics_server_knows_no_other_resource() -> None:
    seen = running([(1000, 1000)] * 2, [(0, 900, 10), (1, 10, 10)])
    settings = "thresholds=gpu:20+cpu:20,target_thresholds=gpu:50+cpu:50"
    assert evicted(f"{LOW}[{settings}]", seen) == [0]  # gpu is not there and is left out
    assert evicted(f"{LOW}[{settings},usage_source=metrics_server]", seen) == []


def test_a_prometheus_query_says_nothing_of_containers() -> None:
    seen = running([(1000, 1000)] * 2, [(0, 500, 10), (0, 400, 10), (1, 10, 10)])
    settings = (
        "usage_source=prometheus,thresholds=MetricResource:20,target_thresholds=MetricResource:50"
    )
    assert evicted(f"{LOW}[{settings}]", seen) == [1]
    assert evicted(f"{LOW}[{settings},eviction_limit_node=2]", seen) == [1, 0]


def plain(nodes: list[tuple[int, int]], rows: list[Running], low: int, high: int) -> list[int]:
    """The rules one container at a time, by requests, thresholds on both resources."""
    used = [[sum(row[r] for row in rows if row[0] == n) for r in (1, 2)] for n in range(len(nodes))]
    share = [
        [100 * u / c for u, c in zip(us, cs, strict=True)]
        for us, cs in zip(used, nodes, strict=True)
    ]
    under = [n for n in range(len(nodes)) if all(s <= low for s in share[n])]
    over = [n for n in range(len(nodes)) if n not in under and any(s > high for s in share[n])]
    if not under or len(under) == len(nodes) or not over:
        return []
    budget = [sum(int(nodes[n][r] * high * 0.01) - used[n][r] for n in under) for r in (0, 1)]
    free = [
        [c - u for u, c in zip(us, cs, strict=True)] for us, cs in zip(used, nodes, strict=True)
    ]
    out: list[int] = []
    for n in sorted(over, key=lambda n: -sum(used[n])):
        here = [i for i, row in enumerate(rows) if row[0] == n]
        for i in sorted(here, key=lambda i: (sum(rows[i][1:3]) > 0, sum(rows[i][1:3]), i)):
            goal = [int(c * high * 0.01) for c in nodes[n]]
            if not any(u > g for u, g in zip(used[n], goal, strict=True)) or min(budget) <= 0:
                break
            request = rows[i][1:3]
            others = (free[m] for m in range(len(nodes)) if m != n)
            if any(
                all(f >= a or a == 0 for f, a in zip(fs, request, strict=True)) for fs in others
            ):
                out.append(i)
                for r in (0, 1):
                    used[n][r] -= request[r]
                    budget[r] -= request[r]
    return out


@given(
    some.lists(
        some.tuples(some.integers(200, 900), some.integers(200, 900)), min_size=2, max_size=6
    ),
    some.lists(
        some.tuples(some.integers(0, 5), some.integers(0, 200), some.integers(0, 200)), max_size=25
    ),
    some.integers(0, 60),
    some.integers(0, 40),
)
def test_evicts_as_the_plain_form_does(
    nodes: list[tuple[int, int]], rows: list[Running], low: int, gap: int
) -> None:
    held = [(row[0] % len(nodes), *row[1:]) for row in rows]
    seen = running(nodes, held)
    high = low + gap
    settings = LEVEL.format(low, high)
    expected = plain(nodes, held, low, high)
    assert evicted(f"{LOW}[{settings}]", seen) == expected


def test_containers_without_a_measurement_share_what_their_node_uses() -> None:
    seen = running([(1000, 1000)], [(0, 100, 30, 400.0, 60.0), (0, 300, 10, 0.0, 20.0)])
    placed = dataclasses.replace(seen.placed, usage=np.array([[np.nan, 60.0], [80.0, np.nan]]))
    with_placed = dataclasses.replace(seen, known_placed=placed)
    # the node uses 400 and 80: by request 100 of 300, 60 and 20
    assert measured_amounts(with_placed).tolist() == [[100, 60], [80, 20]]
    nothing = dataclasses.replace(seen.placed, usage=None)
    shared = measured_amounts(dataclasses.replace(seen, known_placed=nothing))
    assert shared.tolist() == [[100, 60], [300, 20]]


NODES = [(1000, 1000)] * 3
#: Loads .9, .4, .2: the mean is .5.
ROWS: list[Running] = [
    (0, 10, 10, 500.0, 10.0),
    (0, 10, 10, 150.0, 10.0),
    (0, 10, 10, 250.0, 800.0),
    (1, 10, 10, 400.0, 10.0),
    (2, 10, 10, 200.0, 10.0),
]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # 500 would take it below the mean; 250 leaves 150 over it, and the last brings it there
        ("", [2, 1]),
        ("margin_fraction=0.2", [2]),
        ("margin_fraction=0.4", []),
        ("margin_fraction=0", [2, 1]),
        ("moves_max=1", [2]),
        ("moves_max=0", []),
        # loads .82, .01, .01 of memory: all that moves would overshoot, but for the small ones
        ("resource=memory", [0, 1]),
    ],
)
def test_by_hand(settings: str, expected: list[int]) -> None:
    policy = parse_rebalancer(f"load_spread[{settings}]" if settings else "load_spread")
    assert policy.evict(running(NODES, ROWS)).tolist() == expected


def test_no_more_goes_than_the_others_may_take() -> None:
    # loads .9 of a small node, .45 of a large one with 1000 in all: the room is what it lacks
    rows: list[Running] = [(0, 1, 1, 300.0, 1.0), (0, 1, 1, 600.0, 1.0), (1, 1, 1, 4500.0, 1.0)]
    seen = running([(1000, 1000), (10000, 1000)], rows)
    # mean 5400 of 11000: 409 over it on n0, as much below on n1
    assert parse_rebalancer("load_spread").evict(seen).tolist() == [0]


def test_load_is_the_mean_of_the_newest_samples() -> None:
    policy = parse_rebalancer("load_spread[samples=2]")
    assert policy.metric_samples() == 2
    history = np.zeros((3, 3, 2))
    history[:, 0, 0] = [0.0, 0.9, 0.9]
    seen = running(NODES, ROWS)
    loud = dataclasses.replace(seen, known_usage=SeriesUsage(history, 0))
    assert policy.evict(loud).tolist() == [0]  # 600 over the mean: 500 goes, and that is enough
    history[1:, 0, 0] = [0.9, -0.9]
    quiet = dataclasses.replace(seen, known_usage=SeriesUsage(history, 0))
    assert policy.evict(quiet).tolist() == []


@given(
    some.lists(
        some.tuples(
            some.integers(0, 3),
            some.just(1),
            some.just(1),
            some.integers(0, 300).map(float),
            some.just(1.0),
        ),
        max_size=20,
    )
)
def test_no_source_falls_below_the_mean_and_the_spread_shrinks(rows: list[Running]) -> None:
    seen = running([(1000, 1000)] * 4, rows)
    evicted = parse_rebalancer("load_spread").evict(seen)
    before = seen.usage.latest(0)
    own = np.array([row[3] for row in rows], dtype=np.float64)  # type: ignore[misc]
    taken = np.bincount(seen.placed.node[evicted], own[evicted], minlength=4) / 1000
    sources = np.flatnonzero(taken)
    assert (before[sources] > before.mean() + 0.1).all()
    assert (before - taken)[sources].min(initial=np.inf) >= before.mean() - 1e-9
    assert taken.sum() <= np.clip(before.mean() - before, 0, None).sum() + 1e-9
