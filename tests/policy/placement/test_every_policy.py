"""Promises that every placement policy keeps, on clusters drawn at random."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from replay_support import container, snapshot

from tracekit.policy.parse import get_policy, parse_policy
from tracekit.policy.placement import PlacementPolicy, all_policies
from tracekit.policy.view.choice import fits
from tracekit.policy.view.snapshot import Snapshot
from tracekit.replay.engine.decision import decide
from tracekit.testing import PolicyContract

POLICIES = all_policies()
every_policy = pytest.mark.parametrize("name", POLICIES)
every_single = pytest.mark.parametrize(
    "name", [name for name, policy in POLICIES.items() if not policy.joint]
)

amounts = some.tuples(some.integers(1, 1000), some.integers(1, 1000))
rows = some.lists(some.tuples(amounts, amounts), min_size=2, max_size=6)


def cluster(given_rows: list[tuple[tuple[int, int], tuple[int, int]]]) -> Snapshot:
    return snapshot([row[0] for row in given_rows], [row[1] for row in given_rows])


def state(seen: Snapshot) -> list[bytes]:
    values = (getattr(seen, field.name) for field in dataclasses.fields(seen))
    return [value.tobytes() for value in values if isinstance(value, np.ndarray)]


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


@every_policy
@given(rows, amounts, some.sampled_from(["first", "reservoir"]))
def test_same_input_same_choice_and_nothing_changed(
    name: str,
    nodes: list[tuple[tuple[int, int], tuple[int, int]]],
    request_: tuple[int, int],
    tie: str,
) -> None:
    policy, seen = parse_policy(f"{name}[tie={tie}]"), cluster(nodes)
    before = state(seen)
    chosen = {
        decide(policy, seen, container(*request_), np.random.default_rng(7)) for _ in range(3)
    }
    assert len(chosen) == 1
    assert state(seen) == before


@every_single
@given(rows, amounts, some.randoms())
def test_a_subset_scores_as_it_does_among_all(
    name: str,
    nodes: list[tuple[tuple[int, int], tuple[int, int]]],
    request_: tuple[int, int],
    random: object,
) -> None:
    policy, seen, waiting = POLICIES[name](), cluster(nodes), container(*request_)
    whole = policy.score(seen, waiting, np.arange(len(nodes)))
    subset = np.array(random.sample(range(len(nodes)), len(nodes) // 2 + 1))  # type: ignore[attr-defined]
    assert whole.dtype in (np.int64, np.float64)
    assert policy.score(seen, waiting, subset).tolist() == whole[subset].tolist()


def test_a_policy_is_frozen() -> None:
    policy: PlacementPolicy = POLICIES["first_fit"]()
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.tie = "reservoir"  # type: ignore[misc]
