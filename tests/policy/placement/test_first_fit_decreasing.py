"""First fit decreasing: textbook packings, its guarantee, and what it is beside first fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from replay_support import container, snapshot, workload

from tracekit.policy.parse import parse_policy
from tracekit.policy.placement import Batch
from tracekit.replay.engine.engine import Engine


def nodes_used(name: str, sizes: list[int]) -> int:
    """Nodes of 100 that a policy uses for containers that are all there at the start."""
    load = workload([(100, 1000)] * len(sizes), [(0, 9000, size, 1) for size in sizes])
    outcome = Engine(load, parse_policy(name), np.random.default_rng(0)).run()
    assert (outcome.node >= 0).all()
    return len(set(outcome.node.tolist()))


@pytest.mark.parametrize(
    ("sizes", "first_fit", "decreasing"),
    [
        ([30, 30, 30, 70, 70, 70], 4, 3),
        ([10, 20, 30, 40, 60, 70, 80, 90], 5, 4),
        ([50] * 4, 2, 2),
        # four are enough (51 and 49 twice, 27 27 23 23, 26 26 23 23): no rule is the best always
        ([51, 51, 27, 27, 26, 26, 23, 23, 23, 23, 49, 49], 5, 5),
    ],
)
def test_it_knows_who_comes_and_first_fit_does_not(
    sizes: list[int], first_fit: int, decreasing: int
) -> None:
    assert nodes_used("first_fit", sizes) == first_fit
    assert nodes_used("first_fit_decreasing", sizes) == decreasing


@given(some.lists(some.integers(1, 100), min_size=1, max_size=24))
def test_it_keeps_the_bound_that_is_proven_for_it(sizes: list[int]) -> None:
    """Any two nodes together hold more than one has, and each but the last is almost full."""
    used = nodes_used("first_fit_decreasing", sizes)
    assert -(-sum(sizes) // 100) <= used
    assert used == 1 or used * 100 < 2 * sum(sizes)
    assert (used - 1) * (100 - max(sizes)) < sum(sizes)


def test_the_scarcest_resource_says_who_is_large() -> None:
    seen = snapshot([(100, 1000)] * 2, [(0, 0)] * 2)
    policy = parse_policy("first_fit_decreasing")
    batch = Batch(containers=(container(50, 10), container(60, 10), container(10, 900)))
    chosen = policy.select(seen, batch, np.random.default_rng(0))  # type: ignore[attr-defined]
    assert chosen.tolist() == [1, 0, 0]
