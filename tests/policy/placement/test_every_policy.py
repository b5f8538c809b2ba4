"""Promises that every placement policy keeps, on clusters drawn at random."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from replay_support import container, snapshot, workload

from tracekit.policy.parse import get_policy
from tracekit.policy.placement import ScoreError, all_policies
from tracekit.policy.placement.baselines import Random
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
