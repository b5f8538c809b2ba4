"""The compiled environment against the slow one, and the rules of cycles, room and reward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as runs
from hypothesis import strategies as some
from plain_sizing import PlainSimulation
from sizing_support import random_set, set_of

from tracekit.sizing.world.room import INFEASIBLE, KEPT, MOVED, RESIZED
from tracekit.sizing.world.settings import Settings
from tracekit.sizing.world.simset import SimulationSet
from tracekit.sizing.world.simulation import Simulation


def play(part: SimulationSet, settings: Settings, seed: int) -> tuple[Simulation, PlainSimulation]:
    """The same random wishes through both environments, every reward and state compared."""
    wishes = np.random.default_rng(seed).uniform(0.2, 4.4, (part.size, part.periods, 2))
    keeps = np.random.default_rng(seed + 1).random((part.size, part.periods)) < 0.7
    for one in range(part.size):
        for period in range(1, part.periods):
            if keeps[one, period]:
                wishes[one, period] = wishes[one, period - 1]
    plain = PlainSimulation(part, settings)
    plain.run(lambda at, period: tuple(wishes[at, period]))
    fast = Simulation(part, settings)
    while not fast.done:
        fast.apply(wishes[fast.due, fast.now])
        fast.advance()
        for at, reward in zip(fast.ended, fast.rewards, strict=True):
            assert reward == pytest.approx(plain.rewards.pop((int(at), fast.now)), abs=1e-12)
            newest = fast.arrays.history[at, :, -1]
            assert newest == pytest.approx(plain.states[int(at), fast.now], abs=1e-12)
    assert not plain.rewards
    return fast, plain


@given(some.integers(0, 10_000), some.sampled_from(["reciprocal", "printed"]), some.integers(1, 7))
@runs(max_examples=12)
def test_equals_the_plain_environment(seed: int, reward: Any, cycle: int) -> None:
    settings = Settings(cycle_periods=cycle, reward=reward, nodes=3, node_scale=0.2)
    fast, plain = play(random_set(seed), settings, seed)
    for at, period, cores, gb in plain.log:
        assert fast.arrays.limits[at, period].tolist() == [cores, gb]
    assert fast.arrays.node_share == pytest.approx(plain.node_share, abs=1e-12)


def test_equals_the_plain_environment_where_nodes_are_full() -> None:
    part = random_set(3, containers=60, periods=30)
    fast, _ = play(part, Settings(cycle_periods=4, nodes=2, node_scale=1), 3)
    assert fast.infeasible.sum() > 0
    assert fast.arrays.allocated == pytest.approx(
        np.array([fast.arrays.limit[fast.arrays.node == n].sum(axis=0) for n in range(2)])
    )


def test_an_overflow_ends_the_cycle_at_once() -> None:
    need = np.full((1, 10, 2), 0.5)
    need[0, 5, 1] = 1.5
    simulation = Simulation(set_of(need), Settings(cycle_periods=4))
    ends, rewards = [], []
    while not simulation.done:
        simulation.apply(np.array([[1.0, 1.0]])[: len(simulation.due)])
        simulation.advance()
        ends.append(simulation.now)
        rewards.append(simulation.rewards[0])
    assert ends == [4, 6, 10]
    assert rewards[0] == 0.0  # K = 0: the first cycle earns nothing
    assert rewards[1] == -1.0
    assert rewards[2] == 0.0  # K begins anew after an overflow
    assert simulation.overflow_cycles.tolist() == [1]
    assert simulation.cycles.tolist() == [3]


def test_outcomes_of_resizing() -> None:
    simulation = Simulation(
        set_of(np.full((26, 4, 2), 0.5)), Settings(cycle_periods=2, nodes=3, node_scale=1)
    )
    first = simulation.apply(np.tile([4.0, 4.0], (26, 1)))
    # 26 containers of four cores want 104 of the 80 cores of the first-fit nodes and 48 of the rest
    assert set(first.tolist()) == {RESIZED, MOVED, INFEASIBLE}
    simulation.advance()
    assert set(simulation.apply(simulation.arrays.limit[simulation.due]).tolist()) == {KEPT}


def test_a_part_that_begins_later_sees_later_needs() -> None:
    part = random_set(1)
    simulation = Simulation(part, Settings())
    simulation.reset(start=20)
    simulation.apply(np.full((part.size, 2), 4.0))
    simulation.advance()
    assert simulation.arrays.served[:, 20].tolist() == part.need[:, 20].tolist()
    assert not simulation.arrays.served[:, :20].any()
