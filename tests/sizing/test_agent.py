"""The agent's parts: worked examples, and each against a slow, obvious one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as runs
from hypothesis import strategies as some
from sizing_support import GOLDEN

from tracekit.sizing.agent.network import LEAST, Memory
from tracekit.sizing.agent.train import RewardCredit, credited_reward, double_target
from tracekit.sizing.weights import bounds, explore, greedy


def test_double_target() -> None:
    case = GOLDEN["ddqn.target"]
    given_ = case["input"]
    q, target = np.array(given_["q_eval_next"]), np.array(given_["q_target_next"])
    targets = double_target(given_["r"], given_["gamma"], q, target)
    assert float(targets) == pytest.approx(case["expected"]["y_double"])
    # a single network is the vanilla target
    vanilla = double_target(given_["r"], given_["gamma"], target, target)
    assert float(vanilla) == pytest.approx(case["expected"]["y_vanilla_max"])


def test_upper_bounds() -> None:
    case = GOLDEN["ddqn.ucb"]
    given_ = case["input"]
    q, taken = np.array(given_["q"]), np.array(given_["n_a"])
    assert taken.sum() == given_["n"]
    assert bounds(q, taken, given_["c"]) == pytest.approx(case["expected"])
    allowed = np.ones((1, 3), dtype=np.bool_)
    assert explore(q[None].astype(np.float32), allowed, taken.copy(), 1.0).tolist() == [2]
    assert bounds(q, np.array([1, 0, 1]), 1.0)[1] == np.inf


def test_exploring_counts_each_decision_before_the_next() -> None:
    taken = np.zeros(3, dtype=np.int64)
    q = np.zeros((4, 3), dtype=np.float32)
    allowed = np.array([[True, True, True]] * 3 + [[False, True, True]])
    assert explore(q, allowed, taken, 1.0).tolist() == [0, 1, 2, 1]
    assert taken.tolist() == [1, 2, 1]
    assert greedy(np.array([[1.0, 3.0, 3.0]], np.float32), allowed[:1]).tolist() == [1]
    assert greedy(np.array([[9.0, 3.0, 3.0]], np.float32), allowed[3:]).tolist() == [1]


def test_rewards_handed_back() -> None:
    case = GOLDEN["ddqn.discount"]
    for (reward, now, then), expected in zip(case["input"]["cases"], case["expected"], strict=True):
        handed = credited_reward(np.array([reward]), now - then, "root", 0.9)
        assert handed[0] == pytest.approx(expected)
    assert credited_reward(np.array([2.0]), 2, "gamma", 0.9)[0] == pytest.approx(1.62)
    assert credited_reward(np.array([2.0]), 2, "off", 0.9)[0] == 0


def memory_with(count: int, capacity: int = 8) -> Memory:
    memory = Memory(capacity, (1, 1), 2)
    for at in range(count):
        one = np.full((1, 1, 1), at, dtype=np.float32)
        allowed = np.ones((1, 2), dtype=np.bool_)
        memory.add(one, np.array([at % 2]), np.array([float(at)]), one, allowed)
    return memory


def test_a_reward_reaches_the_three_decisions_before() -> None:
    memory, back = memory_with(5), RewardCredit(1, "root", 0.9, 3)
    for at, reward in enumerate([0.0, 0.0, 0.0, 0.0, 8.0]):
        memory.rewards[at] = reward
        back.add(memory, np.array([0]), np.array([at]), np.array([reward]))
    thirds = [8 ** (1 / 4) / 3, 8 ** (1 / 3) / 3, 8 ** (1 / 2) / 3]
    assert memory.rewards[:5] == pytest.approx([0.0, *thirds, 8.0])


@given(some.lists(some.floats(0, 10), min_size=1, max_size=8), some.integers(0, 1000))
@runs(max_examples=40)
def test_drawing_goes_by_priority(errors: list[float], seed: int) -> None:
    memory = memory_with(len(errors))
    memory.surprise(np.arange(len(errors)), np.array(errors))
    priorities = (np.array(errors) + LEAST) ** 0.6
    batch = memory.draw(16, 0.5, np.random.default_rng(seed))
    drawn = (np.arange(16) + np.random.default_rng(seed).random(16)) / 16 * priorities.sum()
    expected = np.searchsorted(np.cumsum(priorities), drawn, side="right")
    on_edge = np.abs(drawn[:, None] - np.cumsum(priorities)).min(axis=1) < 1e-9
    assert (batch.slots == np.minimum(expected, len(errors) - 1))[~on_edge].all()
    weights = (len(errors) * priorities[batch.slots] / priorities.sum()) ** -0.5
    assert batch.weights == pytest.approx(weights / weights.max(), rel=1e-4)


def test_the_oldest_transitions_are_forgotten() -> None:
    memory = memory_with(11, capacity=8)
    assert memory.count == 8
    assert sorted(memory.states[:, 0, 0].tolist()) == list(range(3, 11))
    assert memory.tree[1] == pytest.approx(8.0)
