"""Preemption, against a slow reading of kube-scheduler's rules; and by hand."""

from __future__ import annotations

import dataclasses
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as some
from replay_support import Row, changed, workload

from tracekit.base.errors import TracekitError
from tracekit.cluster.budgets import Budgets
from tracekit.cluster.circumstances import with_assumptions
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.rules import apart
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.replay.engine import placer as placer_module
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import MakePlacer, PlainPlacer, Preemption
from tracekit.replay.engine.state import ReplayState
from tracekit.replay.engine.steps import Outcome
from tracekit.replay.fast.choose import rows_placer

SIZE = 6
#: Request, priority, and the node where it runs.
running = some.lists(
    some.tuples(some.integers(0, 4), some.integers(0, 3), some.integers(0, 2)), max_size=9
)


def urgent(rows: list[Row], priority: list[int], nodes: int = 3) -> Workload:
    load = workload([(SIZE, SIZE)] * nodes, rows)
    return changed(load, rules={"priority": np.array(priority), "preemption": True})


#: Who is under which of two budgets, and how many of each must run.
members = some.lists(some.sampled_from([(), (0,), (1,), (0, 1)]), min_size=9, max_size=9)
least = some.tuples(some.integers(0, 4), some.integers(0, 4))


def budgeted(under: list[tuple[int, ...]], least: tuple[int, int]) -> Budgets:
    of = np.array([[*one, -1, -1][:2] for one in under], dtype=np.int64).reshape(-1, 2)
    return Budgets(
        names=("a", "b"),
        of=of,
        available=np.array([True, True]),
        amount=np.array(least),
        percent=np.array([False, False]),
    )


def violating(
    here: list[tuple[int, int, int, int]], under: list[tuple[int, ...]], least: tuple[int, int]
) -> set[int]:
    """As filterPodsWithPDBViolation: whose budget has nothing left when its turn comes."""
    left = [sum(b in one for one in under) - least[b] for b in (0, 1)]
    left = [max(one, 0) for one in left]
    names = set()
    for row in here:
        for b in under[row[0]]:
            left[b] -= 1
        if any(left[b] < 0 for b in under[row[0]]):
            names.add(row[0])
    return names


def slowly(
    present: list[tuple[int, int, int, int]],
    size: int,
    priority: int,
    under: list[tuple[int, ...]],
    least: tuple[int, int],
    wanted: int,
) -> tuple[int, list[int], int] | None:
    """Rows are number, request, priority, node; numbers are times of start too.

    The search ends with as many nodes as are wanted, one of them against no budget.
    """
    results: list[tuple[tuple[int, int, int, int, int, int], list[int]]] = []
    for node in range(3):
        if len(results) >= wanted and any(cost[0] == 0 for cost, _ in results):
            break
        here = [row for row in present if row[3] == node]
        stays = [row for row in here if row[2] >= priority]
        gone: list[tuple[int, int, int, int]] = []
        lower = sorted((row for row in here if row[2] < priority), key=lambda r: (-r[2], r[0]))
        against = violating(lower, under, least)
        for row in [
            *(row for row in lower if row[0] in against),
            *(row for row in lower if row[0] not in against),
        ]:
            (stays if sum(r[1] for r in [*stays, row]) + size <= SIZE else gone).append(row)
        if not gone or sum(row[1] for row in stays) + size > SIZE:
            continue
        highest = max(row[2] for row in gone)
        since = min(row[0] for row in gone if row[2] == highest)
        total = sum(row[2] + 2**31 for row in gone)
        broken = sum(row[0] in against for row in gone)
        cost = (broken, highest, total, len(gone), -since, node)
        results.append((cost, [row[0] for row in gone]))
    if not results:
        return None
    cost, chosen = min(results)
    return cost[-1], sorted(chosen), cost[0]


@given(running, some.integers(1, SIZE), some.integers(0, 4), members, least, some.integers(1, 3))
@example([(4, 0, 0), (4, 0, 1)], 4, 1, [(0,), ()], (1, 0), 1)
@example([(6, 0, 0), (6, 2, 1), (6, 0, 2)], 6, 4, [(0,), (), ()], (1, 0), 2)
def test_who_goes_is_who_kube_scheduler_would_evict(
    result: list[tuple[int, int, int]],
    size: int,
    priority: int,
    under: list[tuple[int, ...]],
    least: tuple[int, int],
    wanted: int,
) -> None:
    under = under[: len(result)]
    rows: list[Row] = [(at, 9000, cpu, 0) for at, (cpu, _, _) in enumerate(result)]
    load = urgent([*rows, (100, 9000, size, 0)], [row[1] for row in result] + [priority])
    load = changed(load, rules={"budgets": budgeted([*under, ()], least)})
    state = ReplayState(load, parse_policy("first_fit"))
    for at, (_, _, node) in enumerate(result):
        state.start(at, node, at)
    assert load.rules.priority is not None
    before = state.cluster.requested.copy()
    with mock.patch.object(placer_module, "_LEAST", wanted):
        got = Preemption(state, load.rules.priority).victims(len(result), 100)
    existing = [(at, cpu, rank, node) for at, (cpu, rank, node) in enumerate(result)]
    expected = slowly(existing, size, priority, under, least, wanted)
    assert (None if got is None else (got[0], got[1].tolist(), got[2])) == expected
    assert np.array_equal(before, state.cluster.requested)


def run(load: Workload, policy: str = "first_fit") -> Outcome:
    outcomes = []
    placers: tuple[MakePlacer, ...] = (PlainPlacer, rows_placer)
    for placer in placers:
        rng = np.random.default_rng(1)
        outcomes.append(Engine(load, parse_policy(policy), rng, placer=placer).run())
    first, second = outcomes
    assert first.node.tolist() == second.node.tolist()
    assert first.taken_off.preempted.tolist() == second.taken_off.preempted.tolist()
    return first


@given(
    some.lists(some.tuples(some.integers(0, 39), some.integers(1, 40), some.integers(1, 5),
                           some.integers(0, 3)), min_size=1, max_size=12),
    some.sampled_from(["first_fit", "least_allocated", "random"]),
)  # fmt: skip
def test_at_the_end_nobody_waits_who_could_evict(
    result: list[tuple[int, int, int, int]], policy: str
) -> None:
    result = sorted(result)
    rows: list[Row] = [(at * 100, (at + life) * 100, cpu, 0) for at, life, cpu, _ in result]
    load = urgent(rows, [row[3] for row in result])
    engine = Engine(load, parse_policy(policy), np.random.default_rng(1), placer=rows_placer)
    outcome = engine.run()
    assert load.rules.priority is not None
    waits = ~engine.state.running & (load.containers.departure_ms >= 4000)
    again = Preemption(engine.state, load.rules.priority)
    assert not any(again.victims(at, 4000) for at in np.flatnonzero(waits).tolist())
    assert outcome.node.tolist() == run(load, policy).node.tolist()


def test_groups_hold_when_somebody_is_evicted() -> None:
    """c2 may not join c0, and n1 is full of higher priority: so it takes the place of c0."""
    load = urgent([(0, 9000, 1, 0), (1, 9000, 6, 0), (1500, 9000, 1, 0)], [0, 9, 5], nodes=2)
    rule = apart(by="node", group=np.array([0, -1, 0]), domain=np.arange(2), most=np.array([1]))
    load = changed(load, rules={"constraints": Constraints(parts=(rule,))})
    outcome = run(load)
    assert outcome.taken_off.preempted.tolist() == [0]
    assert outcome.node[2] == 0
    assert outcome.taken_off.unplaced_after_eviction.tolist() == [0]
    # who waits at the end has no node, as who never got one
    assert (outcome.node[0], outcome.time_ms[0]) == (-1, -1)


def test_the_evicted_that_leaves_while_it_waits_found_no_other_node() -> None:
    load = urgent([(0, 3000, SIZE, 0), (1200, 9000, SIZE, 0)], [0, 9], nodes=1)
    outcome = run(load)
    assert outcome.taken_off.preempted.tolist() == [0]
    assert outcome.taken_off.unplaced_after_eviction.tolist() == [0]
    assert outcome.node.tolist() == [-1, 0]


def test_it_needs_priorities() -> None:
    rng = np.random.default_rng(0)
    load = workload([(9, 9)], [(0, 9, 1, 1)])
    with pytest.raises(TracekitError):
        with_assumptions(load, {"preemption": "lower"}, rng)
    with pytest.raises(TracekitError):
        with_assumptions(load, {"preemption": "yes"}, rng)
    several = urgent([(0, 9, 1, 1)] * 2, [0, 1])
    assert with_assumptions(
        changed(several, rules={"preemption": None}),
        {"preemption": "lower"},
        rng,
    ).rules.preemption


def test_another_node_is_taken_where_a_budget_allows_no_eviction() -> None:
    # both nodes are full; n0 would lose the lower priority, but against its budget
    rows: list[Row] = [(0, 9000, 6, 0), (1, 9000, 6, 0), (1500, 9000, 6, 0)]
    load = urgent(rows, [1, 2, 9], nodes=2)
    load = changed(load, rules={"evicts_nobody": np.array([False, True, False])})
    assert run(load).taken_off.preempted.tolist() == [0]
    held = changed(load, rules={"budgets": budgeted([(0,), (), ()], (1, 0))})
    assert run(held).taken_off.preempted.tolist() == [1]
    # where both are, the eviction goes against one, as kube-scheduler's does, and is counted
    both = changed(load, rules={"budgets": budgeted([(0,), (1,), ()], (1, 1))})
    outcome = run(both)
    assert (outcome.taken_off.preempted.tolist(), outcome.taken_off.against_budget) == ([0], 1)


def test_a_member_of_a_gang_is_never_evicted() -> None:
    load = urgent([(0, 9000, 6, 0), (1, 9000, 6, 0), (1500, 9000, 6, 0)], [1, 2, 9], nodes=2)
    for gang, victims in (([-1, -1, -1], [0]), ([0, -1, -1], [1]), ([0, 1, -1], [])):
        outcome = run(changed(load, rules={"gang": np.array(gang)}))
        assert outcome.taken_off.preempted.tolist() == victims


def test_a_container_counts_for_its_budget_from_the_moment_of_its_arrival() -> None:
    load = workload([(SIZE, SIZE)], [(0, 9000, 1, 1), (2000, 9000, 1, 1)])
    one_may_miss = dataclasses.replace(
        budgeted([(0,), (0,)], (1, 1)), available=np.array([False, False])
    )
    load = changed(load, rules={"budgets": one_may_miss})
    engine = Engine(load, parse_policy("first_fit"), np.random.default_rng(0))
    engine._arrive(np.array([0]))
    assert [int(engine.state.allowed(now)[0]) for now in (1999, 2000)] == [1, 0]
