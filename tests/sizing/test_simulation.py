"""The compiled environment against the slow one, and the rules of cycles, room and reward."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as runs
from hypothesis import strategies as some
from sizing_support import random_set, set_of

from tracekit.sizing.world.periods import INFEASIBLE, KEPT, MOVED, RESIZED
from tracekit.sizing.world.simset import SPECIFICATIONS, Settings, SimulationSet, nodes_for
from tracekit.sizing.world.simulation import Simulation


@dataclass
class PlainNode:
    """A node and the limits on it, by container."""

    total: tuple[float, float]
    first_fit: bool
    limits: dict[int, tuple[float, float]] = field(default_factory=dict)

    def room(self, at: int, limit: tuple[float, float]) -> bool:
        """Whether the container fits, its present limit aside."""
        others = [value for one, value in self.limits.items() if one != at]
        return all(
            sum(other[r] for other in others) + limit[r] <= self.total[r] + 1e-9 for r in (0, 1)
        )

    def debris(self, at: int, limit: tuple[float, float]) -> float:
        """Debris rate of allocations after placing."""
        others = [value for one, value in self.limits.items() if one != at]
        shares = [(sum(o[r] for o in others) + limit[r]) / self.total[r] for r in (0, 1)]
        return sum(1 - share for share in shares) / 2


def scaled(node: int, settings: Settings) -> tuple[float, float]:
    """Cores and GB of a node."""
    cores, memory = SPECIFICATIONS[node % 2]
    return cores * settings.node_scale, memory * settings.node_scale


class PlainSimulation:
    """All containers sized by a function of (container, period) that returns limits."""

    def __init__(self, part: SimulationSet, settings: Settings) -> None:
        self.part, self.settings = part, settings
        count = nodes_for(settings, part.size)
        half = [n // 2 % 2 == 0 for n in range(count)] if count > 2 else [True, False][:count]
        self.nodes = [PlainNode(scaled(n, settings), half[n]) for n in range(count)]
        self.rewards: dict[tuple[int, int], float] = {}
        self.states: dict[tuple[int, int], list[float]] = {}
        self.log: list[tuple[int, int, float, float]] = []

    def run(self, decide: Any) -> None:
        """Every period: whose cycle ended decides, then everyone runs."""
        part = self.part
        size = part.size
        self.on = [-1] * size
        for at in range(size):
            self._place(at, (1.0, 1.0))
        self.kept, self.began, self.over = [0] * size, [0] * size, [False] * size
        decided = [0] * size
        due = list(range(size))
        self.share = np.zeros((size, part.periods, 2))
        self.node_share = np.zeros((len(self.nodes), part.periods, 2))
        for period in range(part.periods):
            for at in due:
                changed = self._resize(at, decide(at, period))
                keeps = not changed and decided[at] > 0 and not self.over[at]
                self.kept[at] = self.kept[at] + 1 if keeps else 0
                self.began[at] = period
                decided[at] += 1
            due = self._period(period)
            for at in due:
                self._close(at, period + 1)

    def _place(self, at: int, limit: tuple[float, float]) -> bool:
        two = any(not node.first_fit for node in self.nodes)
        mine = [
            n for n, node in enumerate(self.nodes) if node.first_fit == (at % 2 == 0 or not two)
        ]
        fitting = [n for n in mine if self.nodes[n].room(at, limit)]
        if not fitting:
            return False
        if at % 2 == 0 or not two:
            chosen = fitting[0]
        else:
            chosen = min(fitting, key=lambda n: (round(self.nodes[n].debris(at, limit), 11), n))
        self._move(at, chosen, limit)
        return True

    def _move(self, at: int, node: int, limit: tuple[float, float]) -> None:
        if self.on[at] >= 0:
            del self.nodes[self.on[at]].limits[at]
        self.nodes[node].limits[at] = limit
        self.on[at] = node

    def _resize(self, at: int, wanted: tuple[float, float]) -> bool:
        top = (self.settings.largest_cores, self.settings.largest_gb)
        limit = tuple(
            float(min(max(math.ceil(w - 1e-9), 1), t)) for w, t in zip(wanted, top, strict=True)
        )
        old = self.nodes[self.on[at]].limits[at]
        if limit == old:
            return False
        if self.nodes[self.on[at]].room(at, limit):  # type: ignore[arg-type]
            self._move(at, self.on[at], limit)  # type: ignore[arg-type]
            return True
        return self._place(at, limit)  # type: ignore[arg-type]

    def _period(self, period: int) -> list[int]:
        ended = []
        for at in range(self.part.size):
            limit = self.nodes[self.on[at]].limits[at]
            need = self.part.need[at, period]
            for r in (0, 1):
                served = min(need[r], limit[r])
                self.share[at, period, r] = served / limit[r]
                self.node_share[self.on[at], period, r] += served
            self.over[at] = bool(need[0] > limit[0] or need[1] > limit[1])
            self.log.append((at, period, *limit))
            full = period + 1 - self.began[at] >= self.settings.cycle_periods
            if self.over[at] or full or period + 1 == self.part.periods:
                ended.append(at)
        for n, node in enumerate(self.nodes):
            self.node_share[n, period] /= node.total
        return ended

    def _close(self, at: int, now: int) -> None:
        begin = self.began[at]
        own = self._look(self.share[at, begin:now])
        node = self._look(self.node_share[self.on[at], begin:now])
        debris = ((1 - min(node[0], 1)) + (1 - min(node[2], 1))) / 2
        limit = self.nodes[self.on[at]].limits[at]
        s = self.settings
        self.states[at, now] = [
            *self._upstream(at, begin, now),
            *own,
            limit[0] / s.largest_cores,
            limit[1] / s.largest_gb,
            min(self.kept[at], 64) / 64,
            *node,
            debris,
        ]
        self.rewards[at, now] = self._reward(at, own, node[4], debris)

    @staticmethod
    def _look(rows: Any) -> list[float]:
        cpu, memory = rows[:, 0], rows[:, 1]
        return [cpu.mean(), cpu.max(), memory.mean(), memory.max(), abs(cpu - memory).mean()]

    def _upstream(self, at: int, begin: int, now: int) -> list[float]:
        part = self.part
        calls = {
            up: part.calls[e, begin:now].sum()
            for e, (up, down) in enumerate(part.edges.tolist())
            if down == at
        }
        total = sum(calls.values())
        if total == 0:
            return [0.0] * 6
        values = np.zeros(6)
        for up, count in calls.items():
            into = sum(
                part.calls[e, begin:now] for e, x in enumerate(part.edges.tolist()) if x[1] == up
            )
            out = sum(
                part.calls[e, begin:now] for e, x in enumerate(part.edges.tolist()) if x[0] == up
            )
            through = float(np.maximum(into, out).sum())
            values += count / total * np.array([*self._look(self.share[up, begin:now]), through])
        return [*values[:5], math.log1p(values[5]) / 10]

    def _reward(self, at: int, own: list[float], node_g: float, node_d: float) -> float:
        s = self.settings
        if self.over[at]:
            return -s.penalty
        container = max(s.gamma_use * sum(own[:4]) / (s.gamma_g * max(own[4], 0.01)), 1e-3)
        cost = container if s.reward == "printed" else 1 / container
        node = s.gamma_node_g * node_g + s.gamma_node_d * node_d
        return s.alpha0 * math.log(s.inertia_weight * self.kept[at] + 1) / (cost + node + s.beta0)


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
