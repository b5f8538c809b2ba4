"""Load spread: by hand, and what it promises of every cluster."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from rebalance_support import Running, running

from tracekit.policy.entrant import parse_rebalancer
from tracekit.policy.view.usage import SeriesUsage

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
