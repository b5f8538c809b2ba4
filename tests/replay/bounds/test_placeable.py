"""Bounds leave out what can never be placed, and count what constraints separate."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from constraint_support import among, drawn
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import Row, changed, widened, workload

from tracekit.cluster.constraints.constraint import Constraint
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.rules import apart
from tracekit.cluster.gangs import in_order_of
from tracekit.cluster.parts import NodeEvents
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.replay.bounds.demand import demand_bound
from tracekit.replay.bounds.measures import bounds_of
from tracekit.replay.bounds.requests import apart_bounds, never_placed, placeable
from tracekit.replay.runs.run import BOUND, replay
from tracekit.replay.runs.run_folder import manifest_of

OTHERS: list[Row] = [(0, 9000, 300, 10)] * 3


def _gang(members: Sequence[Row], *, minimum: int | None = None, nodes: int = 3) -> Workload:
    load = workload([(1000, 100)] * nodes, [*OTHERS, *members], used_share=1.0)
    gang = np.array([-1] * len(OTHERS) + [0] * len(members))
    least = None if minimum is None else np.where(gang >= 0, minimum, 0)
    return changed(load, rules={"gang": gang, "gang_minimum": least})


def test_a_gang_that_cannot_fit_is_in_no_bound() -> None:
    """Six of 600 on three nodes: the bound was three nodes and 150 % of the CPU."""
    load = _gang([(0, 9000, 600, 10)] * 6)
    assert never_placed(load).tolist() == [False] * 3 + [True] * 6
    run = replay(load, [parse_policy("first_fit"), parse_policy("best_fit")], seed=0)
    rows = {row["policy"]: row for row in run.summary.to_dicts()}
    bound = rows.pop(BOUND)
    assert bound["nodes_used_mean"] == 1
    for row in rows.values():
        for measure in ("nodes_used_mean", "cpu_max_fraction", "memory_max_fraction"):
            assert bound[measure] <= row[measure]
    assert demand_bound(placeable(load)) == 1


@pytest.mark.parametrize(
    ("load", "never"),
    [
        (_gang([(0, 9000, 600, 10)] * 3), 0),  # one on each node
        (_gang([(0, 9000, 600, 10)] * 6, minimum=3), 0),
        (_gang([(0, 9000, 600, 10)] * 6, minimum=4), 6),
        # once three have left, the others are all of it, and too few for a stated minimum
        (_gang([(0, 5000, 600, 10)] * 3 + [(0, 9000, 600, 10)] * 3), 0),
        (_gang([(0, 5000, 600, 10)] * 3 + [(0, 9000, 600, 10)] * 3, minimum=6), 6),
        (_gang([(0, 5000, 600, 10)] * 3 + [(0, 9000, 600, 10)] * 3, minimum=3), 0),
        # as one departs the next arrives: two are never there together
        (_gang([(0, 5000, 100, 10), (5000, 9000, 100, 10)], minimum=2), 2),
        (_gang([(0, 5001, 100, 10), (5000, 9000, 100, 10)], minimum=2), 0),
        (_gang([(0, 5000, 100, 10), (5000, 9000, 100, 10)], minimum=1), 0),
        # one is larger than a node: nobody starts
        (_gang([(0, 9000, 100, 10)] * 2 + [(0, 9000, 1100, 10)]), 3),
        (workload([(1000, 100)], [(0, 9000, 1100, 10), (0, 9000, 100, 10)]), 1),
    ],
)
def test_who_can_never_be_placed(load: Workload, never: int) -> None:
    assert never_placed(load).sum() == never


shapes = some.lists(
    some.tuples(some.integers(100, 1200), some.sampled_from([5000, 9000])), min_size=1, max_size=6
)


@pytest.mark.slow
@settings(max_examples=40)
@given(shapes, some.one_of(some.none(), some.integers(1, 6)), some.integers(1, 3))
def test_who_is_said_to_fit_nowhere_is_placed_by_no_policy(
    members: list[tuple[int, int]], minimum: int | None, nodes: int
) -> None:
    rows: list[Row] = [(0, leaves, cpu, 1) for cpu, leaves in members]
    least = None if minimum is None else min(minimum, len(rows))
    load = _gang(rows, minimum=least, nodes=nodes)
    # all room is the gang's
    load = in_order_of(
        load, np.arange(len(OTHERS), load.containers.count), load.containers.arrival_ms
    )
    never = never_placed(load)
    run = replay(load, [parse_policy("best_fit")], seed=0)
    placed = run.placements["node"].is_not_null().to_numpy()
    assert not (never & placed).any()


def _ruled(load: Workload, part: Constraint) -> Workload:
    return changed(load, rules={"constraints": Constraints(parts=(part,))})


def _four(most: int, domain: list[int]) -> Workload:
    """Four small containers of one group on four nodes; the last two come at the second step."""
    arrives = (0, 0, 1000, 1000)
    load = workload([(10, 10)] * 4, [(at, 10**9, 1, 1) for at in arrives], steps=2)
    group = np.zeros(4, np.int64)
    rule = apart(by="node", group=group, domain=np.array(domain), most=np.array([most]))
    return _ruled(load, rule)


@pytest.mark.parametrize(
    ("most", "domain", "needed"),
    [
        (1, [0, 1, 2, 3], [2, 4]),
        (2, [0, 1, 2, 3], [1, 2]),
        (3, [0, 1, 2, 3], [1, 2]),
        (1, [0, 0, 1, 1], [2, 4]),
        (1, [0, 1, 2, -1], [0, 0]),
    ],
)
def test_a_group_needs_its_nodes(most: int, domain: list[int], needed: list[int]) -> None:
    load = _four(most, domain)
    assert list(load.use.times_ms) == [0, 1000]
    assert apart_bounds(load).tolist() == needed
    facts = [row["nodes_used"] for row in bounds_of(load).rows]
    assert facts == [max(one, 1) for one in needed]


@settings(max_examples=40, deadline=None)
@given(some.integers(0, 2**32), some.integers(1, 4), some.integers(1, 4))
def test_no_placement_that_keeps_the_rules_is_on_fewer(seed: int, nodes: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    load = workload([(10, 10)] * nodes, [(0, 9000, 0, 0)] * rows, steps=1)
    for part in (*drawn(load, rng), *among(load, rng)):
        bound = int(apart_bounds(_ruled(load, part))[0])
        for placed in itertools.product(range(nodes), repeat=rows):
            if _kept(part, placed, nodes):
                assert len(set(placed)) >= bound, part.name


def _kept(part: Constraint, placed: tuple[int, ...], nodes: int) -> bool:
    """Whether each found its node open when it came."""
    keeper = part.keeper(nodes)
    for index, node in enumerate(placed):
        if not keeper.open(index)[node]:
            return False
        keeper.add(index, node)
    return True


STEPS = 4


def load_of(seed: int) -> Workload:
    """Some containers are daemons, some stay where they were observed; two resources and GPUs."""
    rng = np.random.default_rng(seed)
    nodes, containers = int(rng.integers(1, 5)), int(rng.integers(1, 8))
    rows = [
        (int(at), int(at + length), 5, 5)
        for at, length in zip(
            rng.integers(0, 3000, containers), rng.integers(1, 4000, containers), strict=True
        )
    ]
    background = rng.uniform(0, 9, (2, STEPS, nodes)).astype(np.float32)
    load = workload([(100, 100)] * nodes, rows, steps=STEPS, background=background)
    load = widened(load, np.full(nodes, 100), rng.integers(0, 2, containers), "gpu")
    lost, preempts = rng.random(2) < 0.5
    losses = NodeEvents(node=np.array([0]), time_ms=rng.integers(1, 4000, 1)) if lost else None
    return changed(
        load,
        nodes={"losses": losses},
        use={
            "values": load.use.values * rng.uniform(0, 1, load.use.values.shape).astype(np.float32),
            "settled_ms": int(rng.integers(0, 3)) * 1000,
        },
        rules={
            "daemon": rng.random(containers) < 0.3,
            "pinned": np.where(rng.random(containers) < 0.4, 0, -1),
            "priority": rng.integers(0, 3, containers) if preempts else None,
            "preemption": preempts,
        },
    )


@given(some.integers(0, 2**32), some.booleans())
def test_it_is_the_use_of_what_moves_over_all_use(seed: int, rebalanced: bool) -> None:
    load = load_of(seed)
    moved, whole = np.zeros(3), np.zeros(3)
    for step, now in enumerate(load.use.times_ms.tolist()):
        if now < load.use.settled_ms:
            continue
        whole[:2] += load.use.background[:, step].sum(axis=1)
        for c in range(load.containers.count):
            if not load.containers.arrival_ms[c] <= now < load.containers.departure_ms[c]:
                continue
            use = np.array(
                [*load.use.at(step)[:, c], load.containers.request[c, 2]], dtype=np.float64
            )
            whole += use
            assert load.rules.daemon is not None
            assert load.rules.pinned is not None
            gone = load.nodes.losses is not None and now >= load.nodes.losses.time_ms[0]
            evictable = (
                load.rules.priority is not None
                and load.rules.priority[c] < load.rules.priority.max()
            )
            if not load.rules.daemon[c] and (
                rebalanced or gone or evictable or load.rules.pinned[c] < 0
            ):
                moved += use
    result = bounds_of(load, rebalanced=rebalanced).movable
    expected = {
        name: m / w
        for name, m, w in zip(("cpu", "memory", "gpu"), moved, whole, strict=True)
        if w > 0
    }
    if not load.containers.request[:, 2].any():
        expected.pop("gpu", None)
    assert result == pytest.approx(expected)


def test_it_stands_in_the_manifest() -> None:
    background = np.full((2, STEPS, 1), 30, dtype=np.float32)
    load = workload([(100, 100)], [(0, 9000, 20, 10)], used_share=1.0, background=background)
    made = replay(load, [parse_policy("first_fit")], seed=0)
    share = manifest_of(made)["workload"]["movable"]
    assert share == pytest.approx({"cpu": 20 / 50, "memory": 10 / 40})
