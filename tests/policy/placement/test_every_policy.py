"""Promises that every placement policy keeps, on clusters drawn at random."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from replay_support import container, snapshot

from tracekit.policy.parse import get_policy
from tracekit.policy.placement import all_policies
from tracekit.policy.view.choice import fits
from tracekit.policy.view.snapshot import Snapshot
from tracekit.replay.engine.placer import decide
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
