"""The environment keeps gymnasium's contract, and is the same environment."""

from __future__ import annotations

import numpy as np
import pytest
from sizing_support import random_set

from tracekit.sizing.world.simset import Settings
from tracekit.sizing.world.simulation import Simulation

pytest.importorskip("gymnasium", reason="the extra rl is not installed")

from gymnasium.utils.env_checker import check_env

from tracekit.sizing.gym_env import SizingEnv, SizingVectorEnv


def test_passes_gymnasiums_checker() -> None:
    check_env(SizingEnv(random_set(2)), skip_render_check=True)


def test_an_episode_ends_after_64_cycles_or_with_the_trace() -> None:
    for periods, expected in ((60, 6), (800, 64)):
        env = SizingEnv(random_set(2, containers=5, periods=periods))
        env.reset(seed=3, options={"container": 1})
        steps, truncated = 0, False
        while not truncated:
            _, reward, terminated, truncated, info = env.step(np.int64(15))
            assert not terminated
            assert reward >= 0
            assert info["container"] == "c1"
            steps += 1
        assert steps == expected


def test_an_action_without_room_keeps_and_says_so() -> None:
    env = SizingEnv(random_set(2, containers=47, periods=30), Settings(nodes=1, node_scale=1))
    _, info = env.reset(seed=0, options={"container": 0})
    # 47 of 48 cores and GB are taken: two of each have room, three have not
    assert info["action_mask"].reshape(4, 4).tolist() == [[1, 1, 0, 0]] * 2 + [[0] * 4] * 2
    _, _, _, _, info = env.step(np.int64(15))
    assert info["infeasible"]


def test_all_containers_at_once_are_the_same_environment() -> None:
    part = random_set(5)
    env, plain = SizingVectorEnv(part), Simulation(part, Settings())
    rng = np.random.default_rng(0)
    state, info = env.reset(seed=1)
    over = np.zeros(part.size, dtype=np.bool_)
    while not over.any():
        actions = rng.integers(16, size=part.size)
        assert np.flatnonzero(info["due"]).tolist() == plain.due.tolist()
        plain.apply(Settings().sizes()[actions[plain.due]])
        plain.advance()
        state, rewards, _, over, info = env.step(actions)
        assert rewards[plain.ended].tolist() == plain.rewards.tolist()
        assert env.observation_space.contains(state)
    assert plain.done
    state, _, _, over, _ = env.step(actions)
    assert not over.any()
    assert state.tolist() == env.reset()[0].tolist()
