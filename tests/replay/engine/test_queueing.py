"""Pinned containers, priorities and gangs, against a slow reading of the rules; and by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cluster_support import workload as stored_workload
from constraint_support import broken, constrained
from hypothesis import example, given
from hypothesis import strategies as some
from kubernetes_support import CREATED_MS, listed, node, pod, written
from replay_support import Row, changed, workload

from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.rules import apart
from tracekit.cluster.on_nodes import pinned_over_capacity, requests_respected
from tracekit.cluster.workload import Workload
from tracekit.intake.ingest import ingest
from tracekit.policy.entrant import parse_entrant
from tracekit.policy.parse import parse_policy
from tracekit.policy.rebalance import RebalancePolicy
from tracekit.policy.rebalance.node_utilization import HighNodeUtilization, LoadSpread
from tracekit.policy.view.snapshot import Snapshot
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.explain import explain
from tracekit.replay.engine.placer import MakePlacer, PlainPlacer
from tracekit.replay.engine.steps import Outcome
from tracekit.replay.fast.choose import rows_placer
from tracekit.replay.runs.run import replay
from tracekit.replay.runs.run_folder import manifest_of
from tracekit.store.folder import open_store

rows = some.lists(
    some.tuples(some.integers(0, 7), some.integers(1, 8), some.integers(0, 9),
                some.integers(0, 9)),
    min_size=1, max_size=14,
)  # fmt: skip

PINNED_FIRST = np.array([1, -1, -1, -1])


def made(result: list[tuple[int, int, int, int]]) -> Workload:
    given_rows: list[Row] = [
        (at * 100, (at + life) * 100, cpu, memory) for at, life, cpu, memory in result
    ]
    return workload([(15, 15), (10, 20), (15, 15)], given_rows, steps=2)


def run(load: Workload, policy: str = "first_fit") -> Outcome:
    engine = Engine(load, parse_policy(policy), np.random.default_rng(1), placer=rows_placer)
    return engine.run()


#: Two gangs of one priority wait, and members of the one stand between those of the other.
BETWEEN = [
    (0, 1, 0, 0), (0, 2, 7, 0), (0, 2, 9, 0), (0, 2, 9, 0), (0, 3, 7, 0), (0, 1, 0, 0),
    (0, 3, 0, 0), (0, 1, 0, 0), (0, 1, 0, 0), (1, 2, 0, 0), (2, 1, 0, 0), (1, 1, 0, 0),
]  # fmt: skip


@given(rows, some.integers(0, 2**32))
@example(BETWEEN, 82367)
def test_the_engine_queues_as_a_slow_reading_of_the_rules(
    result: list[tuple[int, int, int, int]], seed: int
) -> None:
    """First fit in plain Python: who is pinned, who goes first, who goes with whom."""
    load = changed(
        constrained(made(result), np.random.default_rng(seed)), rules={"constraints": None}
    )
    outcome = run(load)
    placed = Slow(load).run()
    pairs = zip(outcome.node.tolist(), outcome.time_ms.tolist(), strict=True)
    assert list(pairs) == [placed.get(i, (-1, -1)) for i in range(load.containers.count)]


@given(
    some.lists(
        some.tuples(some.integers(0, 2), some.integers(0, 5), some.integers(1, 5),
                    some.integers(3, 9), some.integers(0, 1)),
        min_size=2, max_size=9,
    ),
    some.integers(6, 18),
    some.none() | some.lists(some.sampled_from([0, 0, 1, 2, 3]), min_size=3, max_size=3),
)  # fmt: skip
@example([(0, 0, 1, 6, 0), (0, 0, 5, 6, 0), (0, 0, 5, 6, 1)], 6, None)
@example([(0, 0, 1, 9, 0), (1, 0, 5, 9, 0), (2, 0, 5, 9, 1)], 9, [1, 1, 1])
@pytest.mark.parametrize("placer", [PlainPlacer, rows_placer])
def test_who_waits_where_there_is_little_room_comes_as_a_slow_reading_says(
    placer: MakePlacer,
    result: list[tuple[int, int, int, int, int]],
    room: int,
    stated: list[int] | None,
) -> None:
    """By priority, gang by gang; several members of gangs leave before there is more room."""
    result.sort(key=lambda row: row[1])
    given_rows: list[Row] = [
        (100 * at, 100 * (at + life), cpu, 1) for _, at, life, cpu, _ in result
    ]
    gang = np.array([of for of, *_ in result])
    gangs = {} if stated is None else {"gang": gang, "gang_minimum": np.array(stated)[gang]}
    load = changed(
        workload([(room, 90)], given_rows, steps=2),
        rules={"priority": np.array([priority for *_, priority in result]), **gangs},
    )
    outcome = Engine(load, parse_policy("first_fit"), np.random.default_rng(1), placer=placer).run()
    placed = Slow(load).run()
    pairs = zip(outcome.node.tolist(), outcome.time_ms.tolist(), strict=True)
    assert list(pairs) == [placed.get(i, (-1, -1)) for i in range(load.containers.count)]


class Slow:
    """First fit event by event, with nothing kept but who is where."""

    def __init__(self, load: Workload) -> None:
        nothing = [-1] * load.containers.count
        self.load, self.everyone = load, range(load.containers.count)
        self.gang = nothing if load.rules.gang is None else [int(of) for of in load.rules.gang]
        self.pinned = (
            nothing if load.rules.pinned is None else [int(at) for at in load.rules.pinned]
        )
        self.rank = (
            nothing if load.rules.priority is None else [int(of) for of in load.rules.priority]
        )
        self.where: dict[int, int] = {}
        self.placed: dict[int, tuple[int, int]] = {}
        self.waiting: list[int] = []

    def run(self) -> dict[int, tuple[int, int]]:
        arrival, departure = self.load.containers.arrival_ms, self.load.containers.departure_ms
        for now in sorted({*arrival.tolist(), *departure.tolist()}):
            gone = [i for i in self.everyone if departure[i] == now]
            fewer = [i for i in gone if i in self.waiting and self.minimum(i) == 0]
            freed = [i for i in gone if self.where.pop(i, None) is not None] + fewer
            self.waiting = [i for i in self.waiting if i not in gone]
            new = [i for i in self.everyone if arrival[i] == now]
            daemon = self.load.rules.daemon
            if np.ptp(self.rank):
                new.sort(key=lambda i: (daemon is None or not daemon[i], self.urgency(i)))
            if freed:
                if self.load.rules.gang is None:  # one queue: who waits, and who arrives
                    self.waiting += sorted(new) if self.waiting else []
                    new = [] if self.waiting else new
                self.retry(now)
            self.arrive(new, now)
        return self.placed

    def retry(self, now: int) -> None:
        self.waiting.sort(key=self.urgency)
        # a gang is tried in one piece, where its first member stands: others may stand between
        together: dict[tuple[int, int], list[int]] = {}
        for index in self.waiting:
            gang = self.gang[index]
            together.setdefault((gang, -1 if gang >= 0 else index), []).append(index)
        for group in together.values():
            self.attempt(group, now)
        self.waiting = [i for i in self.waiting if i not in self.where]

    def urgency(self, index: int) -> int:
        """Lowest first: minus the highest priority of the gang."""
        return -max(self.rank[j] for j in self.members(index))

    def arrive(self, new: list[int], now: int) -> None:
        for group in self.pieces(new):
            at_once = (
                len({int(self.load.containers.arrival_ms[i]) for i in self.members(group[0])}) == 1
            )
            earlier = [i for i in self.waiting if self.gang[i] == self.gang[group[0]] >= 0]
            self.attempt(group if at_once else [*earlier, *group], now)
            self.waiting = [i for i in [*self.waiting, *group] if i not in self.where]

    def pieces(self, indices: list[int]) -> list[list[int]]:
        """Neighbours of one gang; whoever is in none is alone."""
        results: list[list[int]] = []
        for index in indices:
            if results and self.gang[index] == self.gang[results[-1][0]] >= 0:
                results[-1].append(index)
            else:
                results.append([index])
        return results

    def members(self, index: int) -> list[int]:
        if self.gang[index] < 0:
            return [index]
        return [i for i in self.everyone if self.gang[i] == self.gang[index]]

    def together(self, index: int) -> int:
        """How many of its gang are there as it arrives."""
        at, load = self.load.containers.arrival_ms[index], self.load
        return sum(
            load.containers.arrival_ms[i] <= at < load.containers.departure_ms[i]
            for i in self.members(index)
        )

    def minimum(self, index: int) -> int | None:
        """What the gang states, 0 for nothing; None for who is in no gang."""
        if self.gang[index] < 0:
            return None
        return (
            0 if self.load.rules.gang_minimum is None else int(self.load.rules.gang_minimum[index])
        )

    def attempt(self, group: list[int], now: int) -> None:
        for index in group:
            self.place(index, now)
        if self.gang[group[0]] < 0:
            return
        members = self.members(group[0])
        left = sum(i in self.placed or self.load.containers.departure_ms[i] > now for i in members)
        needed = self.minimum(group[0]) or min(left, max(self.together(i) for i in members))
        if sum(i in self.placed for i in members) < needed:
            for index in group:
                if self.pinned[index] < 0 and index in self.where:
                    del self.where[index], self.placed[index]

    def place(self, index: int, now: int) -> None:
        pin, wanted = self.pinned[index], self.load.containers.request[index]
        for to in [pin] if pin >= 0 else range(self.load.nodes.count):
            used = [self.load.containers.request[i] for i, n in self.where.items() if n == to]
            left = self.load.nodes.capacity[to] - sum(used)
            if pin >= 0 or ((wanted <= left) | (wanted == 0)).all():
                self.where[index], self.placed[index] = to, (to, now)
                return


@given(rows, some.integers(0, 2**32), some.sampled_from(["first_fit", "worst_fit", "tssa"]))
def test_nothing_that_is_placed_breaks_a_constraint(
    result: list[tuple[int, int, int, int]], seed: int, policy: str
) -> None:
    load = changed(constrained(made(result), np.random.default_rng(seed)), rules={"pinned": None})
    outcome = run(load, policy)
    for now in sorted(set(outcome.time_ms.tolist()) - {-1}):
        present = (
            (outcome.node >= 0) & (outcome.time_ms <= now) & (now < load.containers.departure_ms)
        )
        for part in load.rules.constraints.parts if load.rules.constraints else ():
            assert not broken(part, outcome.node, np.flatnonzero(present).tolist())


def test_a_pinned_container_goes_to_its_node_even_when_that_is_full() -> None:
    load = workload([(10, 10)] * 2, [(0, 2000, 8, 1), (1, 9000, 8, 1), (2, 9000, 3, 1),
                                     (3, 9000, 8, 1)])  # fmt: skip
    load = changed(load, rules={"pinned": np.array([0, 0, -1, -1])})
    outcome = run(load)
    assert outcome.node.tolist() == [0, 0, 1, -1]
    assert len(outcome.latencies_s) == 3  # c2, and c3 twice
    assert pinned_over_capacity(load) == 1
    with pytest.raises(TracekitError):
        explain(load, parse_entrant("first_fit"), "c1")
    free, first = (changed(load, rules={"pinned": pins}) for pins in (None, PINNED_FIRST))
    assert pinned_over_capacity(free) == 0
    assert [requests_respected(one) for one in (load, free, first)] == [False, True, True]
    # no bound is of a placement that asks for more than a node has
    rows = [replay(one, [parse_entrant("first_fit")], seed=0).summary for one in (load, free)]
    names = [one.filter(policy="bound")["nodes_used_mean"].item() is not None for one in rows]
    assert names == [False, True]
    assert not requests_respected(changed(load, rules={"pinned": PINNED_FIRST[::-1]}))


class Evictor(RebalancePolicy):
    """Wants everybody off all nodes, always."""

    reads = frozenset({"requests", "placed"})
    source = "test"

    def evict(self, snapshot: Snapshot) -> IntArray:
        return np.arange(len(snapshot.placed.node))


def test_a_daemon_stays_and_who_is_only_pinned_moves() -> None:
    load = workload([(10, 10)] * 2, [(0, 9000, 4, 1), (0, 9000, 4, 1)])
    load = changed(load, rules={"pinned": np.array([1, 1]), "daemon": np.array([True, False])})
    engine = Engine(load, parse_policy("first_fit"), np.random.default_rng(0),
                    rebalance=Evictor(interval_ms=1000))  # fmt: skip
    assert engine.run().node.tolist() == [1, 0]


def test_a_rebalancer_sees_when_a_pod_was_created_until_the_pod_is_moved(tmp_path: Path) -> None:
    seen: list[list[int]] = []

    class Watching(Evictor):
        def evict(self, snapshot: Snapshot) -> IntArray:
            assert snapshot.placed.created_ms is not None
            seen.append((snapshot.placed.created_ms - CREATED_MS).tolist())
            return np.array([0] if len(seen) == 1 else [], dtype=np.int64)

    later = {"creationTimestamp": "2026-01-01T01:00:00Z"}
    pods = [pod("a", nodeName="n1"), pod("b", meta=later, nodeName="n1")]
    ingest(written(tmp_path / "list.json", listed(node("n1"), *pods)), tmp_path / "store")
    load = stored_workload(open_store(tmp_path / "store"), "start=observed")
    rebalance = Watching(interval_ms=60_000)
    Engine(load, parse_policy("first_fit"), np.random.default_rng(0), rebalance=rebalance).run()
    hour_ms, begun_ms = 3_600_000, int(load.use.times_ms[0]) - CREATED_MS
    assert seen[:2] == [[0, hour_ms], [begun_ms + 60_000 + load.use.step_ms, hour_ms]]


def test_a_rebalancer_knows_daemons_and_takes_the_lowest_priority_first() -> None:
    """n0 is the only one underused; of its three containers the daemon stays."""
    rows_: list[Row] = [(0, 9000, 2, 1), (0, 9000, 2, 1), (0, 9000, 2, 1), (0, 9000, 60, 1)]
    load = workload([(100, 10)] * 2, rows_)
    load = changed(
        load,
        rules={
            "pinned": np.array([0, 0, 0, 1]),
            "daemon": np.array([True, False, False, False]),
            "priority": np.array([0, 5, 1, 0]),
        },
    )
    engine = Engine(load, parse_policy("first_fit"), np.random.default_rng(0))
    engine._arrive(np.arange(4))
    seen = engine.state._snapshot(0, HighNodeUtilization())
    policy = HighNodeUtilization(thresholds=(("cpu", 20.0),))
    assert policy.evict(seen).tolist() == [2, 1]
    unmeasured = engine.state._snapshot(0, LoadSpread()).placed.usage
    assert unmeasured is not None
    np.testing.assert_array_equal(unmeasured, np.full((4, 2), np.nan))


@given(rows, some.integers(0, 2**32))
def test_production_runs_the_same_with_and_without_gangs(
    result: list[tuple[int, int, int, int]], seed: int
) -> None:
    load = constrained(made(result), np.random.default_rng(seed))
    free = changed(load, rules={"gang": None, "gang_minimum": None})
    held, without = run(load, "observed"), run(free, "observed")
    assert held.time_ms.tolist() == without.time_ms.tolist()
    assert held.steps.equals(without.steps)


def test_the_constraint_that_closed_a_node_is_named() -> None:
    load = workload([(10, 10)] * 3, [(0, 9000, 4, 1), (1, 9000, 4, 1)])
    parts = (
        Allowed(label="taints", of=np.array([-1, 0]), mask=np.array([[True, False, True]])),
        apart(by="node", group=np.array([0, 0]), domain=np.arange(3), most=np.array([1])),
    )
    load = changed(load, rules={"constraints": Constraints(parts=parts)})
    result = explain(load, parse_entrant("first_fit"), "c1")
    assert result.chosen == "n2"
    assert {one.node: one.removed for one in result.nodes} == {
        "n0": "apart by node", "n1": "taints", "n2": ""
    }  # fmt: skip


def test_a_run_says_how_many_were_constrained_and_pinned() -> None:
    load = workload([(10, 10)] * 2, [(0, 9000, 8, 1)] * 3)
    rule = apart(by="zone", group=np.array([0, -1, 0]), domain=np.arange(2), most=np.array([1]))
    load = changed(
        load, rules={"constraints": Constraints(parts=(rule,)), "pinned": np.array([1, 1, -1])}
    )
    facts = manifest_of(replay(load, [parse_entrant("first_fit")], seed=0))["workload"]["facts"]
    assert facts == {
        "constraint_apart_by_zone": 2, "containers_pinned": 2, "containers_pinned_over_capacity": 1
    }  # fmt: skip


@pytest.mark.parametrize("pinned", [[0], [0, 2], [0, -2]])
def test_a_pin_to_no_node_and_pins_of_others(pinned: list[int]) -> None:
    load = workload([(10, 10)] * 2, [(0, 9000, 4, 1)] * 2)
    with pytest.raises(TracekitError):
        changed(load, rules={"pinned": np.array(pinned)})
