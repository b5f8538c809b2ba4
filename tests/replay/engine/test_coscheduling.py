"""Gangs that hold nodes, beside the plugin Coscheduling worked out pod by pod."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from replay_support import Row, changed, workload

from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import parse_entrant
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import MakePlacer, PlainPlacer
from tracekit.replay.engine.steps import Outcome
from tracekit.replay.fast.choose import rows_placer
from tracekit.replay.runs.run import replay
from tracekit.replay.runs.waiting import HELD, waiting

END_MS = 90_000


def run(load: Workload, placer: MakePlacer = PlainPlacer) -> Outcome:
    placement = parse_entrant("first_fit").placement
    return Engine(load, placement, np.random.default_rng(0), placer=placer).run()


def gangs(
    places: int, pods: Sequence[tuple[int, int, int]], minimum: int = 10, **more: Any
) -> Workload:
    """One node of so many places; pods arrive, depart, and are of a gang (-1 for none)."""
    rows: list[Row] = [(arrival, departure, 1, 1) for arrival, departure, _ in pods]
    load = workload([(places, places)], rows, steps=END_MS // 1000)
    rules = dataclasses.replace(
        load.rules,
        gang=np.array([gang for _, _, gang in pods]),
        gang_minimum=np.full(len(pods), minimum),
        **more,
    )
    return dataclasses.replace(load, rules=rules)


def ten(*arrivals_ms: int) -> list[tuple[int, int, int]]:
    return [(at, END_MS, 0) for at in arrivals_ms]


def test_who_leaves_while_its_gang_holds_nodes_has_not_begun() -> None:
    """Nine hold nodes, one of them leaves, a tenth place comes: nine began where ten must."""
    pods = [(0, 3000, -1), (0, 2000, 0), *ten(*[0] * 9)]
    outcome = run(gangs(10, pods, gang_wait_ms=7000))
    assert outcome.node[1:].tolist() == [-1] * 10
    assert outcome.steps["pending"].to_list()[-1] == 9


@pytest.mark.parametrize("placer", [PlainPlacer, rows_placer])
@pytest.mark.parametrize(("minimum", "expected"), [(0, 2000), (11, -1)])
def test_who_waits_and_leaves_lets_those_that_hold_nodes_begin(
    minimum: int, expected: int, placer: MakePlacer
) -> None:
    """Ten hold nodes for the eleventh, which leaves at 2 s: all that are left have nodes."""
    pods = [*ten(*[0] * 10), (0, 2000, 0)]
    outcome = run(gangs(10, pods, minimum, gang_wait_ms=60_000), placer)
    assert outcome.time_ms.tolist() == [*[expected] * 10, -1]


def test_who_waits_because_a_gang_held_its_node_is_told_so() -> None:
    load = gangs(9, [*ten(*[0] * 10), (1000, END_MS, -1)], gang_wait_ms=2 * END_MS)
    load = changed(load, containers={"services": ("web",) * load.containers.count})
    placements = replay(load, [parse_entrant("first_fit")], seed=0).placements
    kinds = waiting(load, placements, "first_fit")["kinds"]
    assert [(kind["containers"], kind["in_the_way"]) for kind in kinds] == [
        (10, {"gang": 1}),
        (1, {HELD: 1}),
    ]


@pytest.mark.parametrize(("minimum", "first"), [(10, 0), (9, 9)])
def test_who_waits_for_members_to_come_waits_for_no_node(minimum: int, first: int) -> None:
    """Eight places: nine pods wait for the tenth where it is needed, else for a node."""
    outcome = run(gangs(8, [*ten(*[0] * 9), (5000, END_MS, 0)], minimum))
    assert outcome.steps["pending"].to_list() == [first] * 5 + [10] * (END_MS // 1000 - 5)


def test_without_a_minimum_a_gang_waits_for_the_members_that_are_left() -> None:
    """The tenth leaves at 2 s: nine wait for the eleventh until 5 s, then ten for a node."""
    outcome = run(gangs(8, [*ten(*[0] * 9), (0, 2000, 0), (5000, END_MS, 0)], 0))
    steps = outcome.steps["pending"].to_list()
    assert (steps[3:5], set(steps[5:])) == ([0, 0], {10})


@dataclass
class Plugin:
    """The plugin pod by pod, on one node: PreFilter, Filter, Permit, PostFilter, Unreserve."""

    load: Workload
    free: int
    running: set[int] = field(default_factory=set)
    held: set[int] = field(default_factory=set)
    queue: list[int] = field(default_factory=list)
    time_ms: dict[int, int] = field(default_factory=dict)
    deadline: dict[int, int] = field(default_factory=dict)
    backed_off: dict[int, int] = field(default_factory=dict)

    def gang(self, pod: int) -> int:
        assert self.load.rules.gang is not None
        return int(self.load.rules.gang[pod])

    def of(self, gang: int, pods: set[int]) -> list[int]:
        return sorted(pod for pod in pods if self.gang(pod) == gang)

    def reject(self, gang: int) -> list[int]:
        pods = self.of(gang, self.held)
        self.held -= set(pods)
        self.free += len(pods)
        self.deadline.pop(gang, None)
        return pods

    def bind(self, pods: Sequence[int], now: int) -> None:
        self.running |= set(pods)
        self.held -= set(pods)
        self.time_ms.update(dict.fromkeys(pods, now))

    def attempt(self, pods: Sequence[int], now: int) -> None:
        """One pod without a gang, or those of a gang that are in the queue."""
        gang, least = self.gang(pods[0]), self.load.rules.gang_minimum
        assert least is not None
        minimum = int(least[0]) if gang >= 0 else 1
        exist = int(
            ((self.load.rules.gang == gang) & (self.load.containers.arrival_ms <= now)).sum()
        )
        if exist < minimum or now < self.backed_off.get(gang, 0):
            return
        for pod in pods:
            assigned = len(self.of(gang, self.held | self.running)) if gang >= 0 else 0
            if self.free:
                self.free -= 1
                self.held.add(pod)
                if gang < 0:
                    self.bind([pod], now)
                elif assigned + 1 >= minimum:
                    self.bind(self.of(gang, self.held), now)
                    self.deadline.pop(gang, None)
                else:
                    self.deadline.setdefault(gang, now + self.load.rules.gang_wait_ms)
            elif gang >= 0 and assigned < minimum:
                if self.load.rules.gang_wait_ms and (minimum - assigned) / minimum <= 0.1:
                    continue
                self.queue += [one for one in self.reject(gang) if one not in pods]
                if self.load.rules.gang_backoff_ms:
                    self.backed_off[gang] = now + self.load.rules.gang_backoff_ms
                return

    def attempt_all(self, now: int) -> None:
        done: set[int] = set()
        for pod in list(self.queue):
            gang = self.gang(pod)
            if gang < 0:
                self.attempt([pod], now)
            elif gang not in done:
                done.add(gang)
                self.attempt([one for one in self.queue if self.gang(one) == gang], now)
        self.queue = [one for one in self.queue if one not in self.running | self.held]

    def next_ms(self, now: int) -> int:
        fixed = [
            *self.load.containers.arrival_ms.tolist(),
            *self.load.containers.departure_ms.tolist(),
        ]
        clocks = [*self.deadline.values(), *self.backed_off.values()]
        return min((at for at in [*fixed, *clocks] if at > now), default=END_MS)

    def walk(self) -> dict[int, int]:
        load, now = self.load, -1
        while (now := self.next_ms(now)) < END_MS:
            gone = [pod for pod in self.running if load.containers.departure_ms[pod] == now]
            self.running -= set(gone)
            self.free += len(gone)
            self.queue = [pod for pod in self.queue if load.containers.departure_ms[pod] != now]
            over = [gang for gang, when in self.deadline.items() if when == now]
            let_go = [pod for gang in sorted(over) for pod in self.reject(gang)]
            again = [gang for gang, when in self.backed_off.items() if when == now]
            if gone or let_go or again:
                self.attempt_all(now)
            if let_go:
                self.queue += let_go
                self.attempt_all(now)
            came = np.flatnonzero(load.containers.arrival_ms == now).tolist()
            while came:
                gang, new = self.gang(came[0]), [came.pop(0)]
                while gang >= 0 and came and self.gang(came[0]) == gang:
                    new.append(came.pop(0))
                before = [pod for pod in self.queue if gang >= 0 and self.gang(pod) == gang]
                self.attempt([*before, *new], now)
                self.queue = [one for one in self.queue if one not in self.running | self.held]
                self.queue += [one for one in new if one not in self.running | self.held]
        return self.time_ms


def begins(load: Workload, time_ms: dict[int, int]) -> list[tuple[int, int, int]]:
    """When single pods begin, and members of each gang, whichever they are."""
    assert load.rules.gang is not None
    rows = [
        (gang, pod * (gang < 0), time_ms.get(pod, -1)) for pod, gang in enumerate(load.rules.gang)
    ]
    return sorted(rows)


@pytest.mark.parametrize("seed", range(30))
def test_every_pod_begins_when_the_plugin_lets_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pods: list[tuple[int, int, int]] = []
    for gang, size in ((0, 12), (1, 11)):
        first = int(rng.integers(0, 20_000))
        pods += [
            (first + int(rng.choice([0, 0, 0, int(rng.integers(1, 9000))])), END_MS + 1, gang)
            for _ in range(size)
        ]
    for at in rng.integers(0, 60_000, 16).tolist():
        pods.append((at, at + int(rng.integers(2000, 40_000)), -1))
    load = gangs(
        int(rng.integers(20, 25)),
        sorted(pods),
        gang_wait_ms=int(rng.choice([3000, 10_000])),
        gang_backoff_ms=int(rng.choice([0, 4000])),
    )
    plain = run(load)
    expected = Plugin(load, int(load.nodes.capacity[0, 0])).walk()
    assert begins(load, dict(enumerate(plain.time_ms.tolist()))) == begins(load, expected)
    assert run(load, rows_placer).time_ms.tolist() == plain.time_ms.tolist()


def test_none_holds_a_node_before_as_many_exist_as_are_needed() -> None:
    """PreFilter: the single pod that comes meanwhile finds a place."""
    pods = sorted([*ten(*[0] * 9, 5000), (1000, 4000, -1)])
    load = gangs(10, pods, gang_wait_ms=60_000, gang_backoff_ms=30_000)
    outcome = run(load)
    single = [gang for _, _, gang in pods].index(-1)
    assert outcome.time_ms[single] == 1000
    # and no back-off has begun, as none was tried
    assert set(np.delete(outcome.time_ms, single)) == {5000}
    # and no policy is told to leave them waiting, as none can place them
    assert outcome.steps["pending"].to_list()[:6] == [0] * 6
