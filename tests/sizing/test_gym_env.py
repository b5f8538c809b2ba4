"""The environment keeps gymnasium's contract, and is the same environment."""

from __future__ import annotations

import numpy as np
import pytest
from sizing_support import random_set

from tracekit.sizing.world.simset import Settings

pytest.importorskip("gymnasium", reason="the extra rl is not installed")

from gymnasium.utils.env_checker import check_env

from tracekit.sizing.gym_env import SizingEnv


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
