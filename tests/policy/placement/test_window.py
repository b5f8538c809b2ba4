"""Which nodes the default scheduler looks at, against a loop over the nodes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from replay_support import workload

from tracekit.policy.parse import parse_policy
from tracekit.policy.placement.default_scheduler import nodes_to_find, search
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import PlainPlacer
from tracekit.replay.fast.choose import fast_placer, rows_placer

COUNTS = [
    (99, 0, 99),
    (100, 0, 100),
    (200, 10, 100),
    (1000, 0, 420),
    (1000, 40, 400),
    (1000, 100, 1000),
    (5625, 0, 281),  # 50 - 45 = 5 %
    (13_000, 0, 650),
]


@pytest.mark.parametrize(("nodes", "percentage", "wanted"), COUNTS)
def test_nodes_to_find(nodes: int, percentage: int, wanted: int) -> None:
    assert nodes_to_find(nodes, percentage) == wanted


@given(some.lists(some.booleans(), min_size=1, max_size=12), some.data())
def test_search_is_a_walk_around_the_cluster(fits: list[bool], data: some.DataObject) -> None:
    start = data.draw(some.integers(0, len(fits) - 1))
    wanted = data.draw(some.integers(1, len(fits)))
    found: list[int] = []
    after = start
    for step in range(len(fits)):
        node = (start + step) % len(fits)
        if fits[node] and len(found) == wanted:
            after = node  # the one too many ends the search, and begins the next
            break
        if fits[node]:
            found.append(node)
    chosen, next_start = search(np.flatnonzero(fits), start, wanted)
    assert chosen.tolist() == found
    assert next_start == after


def test_the_replay_goes_round_the_cluster() -> None:
    # 150 equal nodes, 100 looked at: from 0, from 100 around to 49, from 50
    load = workload([(1000, 1000)] * 150, [(at, 9000, 100, 100) for at in range(3)])
    policy = parse_policy("default_scheduler[percentage_of_nodes_to_score=10,tie=first]")
    outcome = Engine(load, policy, np.random.default_rng(0)).run()
    assert outcome.node.tolist() == [0, 100, 50]


def test_closed_nodes_after_the_last_wanted_are_passed_once() -> None:
    # upstream's smallest case: n100 has no room for the first pod, and has for the second
    nodes = [(8000, 32 if at != 100 else 1) for at in range(102)]
    load = workload(nodes, [(0, 9000, 1000, 2), (1, 9000, 1000, 0)])
    for make in (PlainPlacer, rows_placer, fast_placer):
        policy = parse_policy("default_scheduler[tie=first]")
        engine = Engine(load, policy, np.random.default_rng(0), placer=make)
        assert engine.run().node.tolist() == [0, 101]
