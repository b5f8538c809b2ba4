"""Promises that every placement policy keeps, and the window of nodes that a scheduler scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from replay_support import container, snapshot, workload

from tracekit.policy.parse import get_policy, parse_policy
from tracekit.policy.placement import ScoreError, all_policies
from tracekit.policy.placement.baselines import Random
from tracekit.policy.placement.default_scheduler import nodes_to_find, search
from tracekit.policy.placement.node_resources import LeastAllocated
from tracekit.policy.view.snapshot import Snapshot, fits
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import MakePlacer, PlainPlacer, decide
from tracekit.replay.fast.choose import fast_placer, rows_placer
from tracekit.testing import PolicyContract

POLICIES = all_policies()
every_policy = pytest.mark.parametrize("name", POLICIES)

amounts = some.tuples(some.integers(1, 1000), some.integers(1, 1000))
rows = some.lists(some.tuples(amounts, amounts), min_size=2, max_size=6)


def cluster(given_rows: list[tuple[tuple[int, int], tuple[int, int]]]) -> Snapshot:
    return snapshot([row[0] for row in given_rows], [row[1] for row in given_rows])


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
class TestEveryPolicy(PolicyContract):
    """Of the registry each."""


@every_policy
def test_recorded_cases_find_it(name: str) -> None:
    assert get_policy(f"k8s_{name}") is POLICIES[name]
    assert all(get_policy(alias) is POLICIES[name] for alias in POLICIES[name].aliases)


@every_policy
@given(rows, amounts)
def test_chooses_a_node_with_room(
    name: str, nodes: list[tuple[tuple[int, int], tuple[int, int]]], request_: tuple[int, int]
) -> None:
    policy, seen, waiting = POLICIES[name](), cluster(nodes), container(*request_)
    chosen = decide(policy, seen, waiting, np.random.default_rng(0))
    if policy.filtered:
        assert (chosen is None) == (not fits(seen, waiting).any())
        assert chosen is None or fits(seen, waiting)[chosen]
    else:
        assert chosen == waiting.recorded_node


# A policy whose parameter leaves it no resource is an error; one that counts none is not.

THREE = workload([(100, 100)] * 3, [(0, 9000, 10, 10)] * 6)
PLACERS = pytest.mark.parametrize("placer", [PlainPlacer, rows_placer, fast_placer])


@PLACERS
def test_a_policy_without_a_resource_of_its_own_says_so(placer: MakePlacer) -> None:
    engine = Engine(THREE, LeastAllocated(resources=()), np.random.default_rng(1), placer=placer)
    with pytest.raises(ScoreError, match="resources"):
        engine.run()


@PLACERS
def test_a_formula_over_no_resource_scores_every_node_alike(placer: MakePlacer) -> None:
    engine = Engine(THREE, Random(tie="first"), np.random.default_rng(1), placer=placer)
    assert engine.run().node.tolist() == [0] * 6


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
    walked: list[int] = []
    after = start
    for step in range(len(fits)):
        node = (start + step) % len(fits)
        if fits[node] and len(walked) == wanted:
            after = node  # the one too many ends the search, and begins the next
            break
        if fits[node]:
            walked.append(node)
    chosen, next_start = search(np.flatnonzero(fits), start, wanted)
    assert chosen.tolist() == walked
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
