"""Bound <= optimum <= every policy, on cases small enough to be solved."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import workload
from scipy.optimize import Bounds, LinearConstraint, milp

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrants
from tracekit.replay.bounds import nodes as node_bound_module
from tracekit.replay.bounds.measures import bounds_of
from tracekit.replay.bounds.nodes import linear_bound, volume_bound
from tracekit.replay.runs.run import choose_policies, replay


@dataclass(frozen=True, kw_only=True)
class _Program:
    """Variables: x, one per container and node, then ``further`` ones, all at least 0.

    Parameters
    ----------
    cost : float64, shape (further,)
    upper : float64, shape (rows, pairs + further)
        Rows that must be at most ``limit``, shape (rows,).
    whole : bool
        Whether the further variables are whole numbers up to 1.
    """

    cost: FloatArray
    upper: FloatArray
    limit: FloatArray
    whole: bool


def fewest_nodes(workload: Workload, step: int) -> int | None:
    """The least number of nodes that hold all containers of a step; None when none can."""
    request, capacity = _present(workload, step), workload.nodes.capacity
    containers, nodes = len(request), len(capacity)
    if not containers:
        return 0
    on_opened = np.zeros((containers * nodes, containers * nodes + nodes))
    pairs = np.arange(containers * nodes)
    on_opened[pairs, pairs] = 1
    on_opened[pairs, containers * nodes + pairs % nodes] = -1
    least = _solved(
        request.astype(np.float64),
        capacity.astype(np.float64),
        _Program(cost=np.ones(nodes), upper=on_opened, limit=np.zeros(len(pairs)), whole=True),
    )
    return None if least is None else round(least)


def lowest_peak(workload: Workload, step: int, resource: int) -> float | None:
    """The lowest possible highest utilisation by a resource (0 cpu, 1 memory) at a step."""
    use, own = _fractions(workload, step, resource)
    nodes = use.shape[1]
    rows = np.zeros((nodes, use.size + 1))
    for node in range(nodes):
        rows[node, node : use.size : nodes] = use[:, node]
    rows[:, -1] = -1
    program = _Program(cost=np.ones(1), upper=rows, limit=-own, whole=False)
    return _placed(workload, step, program)


def lowest_imbalance(workload: Workload, step: int) -> float | None:
    """The lowest possible mean over nodes of Z, |cpu - memory| / root 2, at a step."""
    cpu, own_cpu = _fractions(workload, step, 0)
    memory, own_memory = _fractions(workload, step, 1)
    nodes = cpu.shape[1]
    rows = np.zeros((2 * nodes, cpu.size + nodes))
    for node in range(nodes):
        apart = (cpu - memory)[:, node]
        for sign, row in ((1, node), (-1, nodes + node)):
            rows[row, node : cpu.size : nodes] = sign * apart
            rows[row, cpu.size + node] = -1
    own = own_cpu - own_memory
    program = _Program(
        cost=np.full(nodes, 1 / (nodes * np.sqrt(2))),
        upper=rows,
        limit=np.concatenate([-own, own]),
        whole=False,
    )
    return _placed(workload, step, program)


def _placed(workload: Workload, step: int, program: _Program) -> float | None:
    request = _present(workload, step).astype(np.float64)
    return _solved(request, workload.nodes.capacity.astype(np.float64), program)


def _present(workload: Workload, step: int) -> IntArray:
    return np.asarray(workload.containers.request[workload.present(step)])


def _fractions(workload: Workload, step: int, resource: int) -> tuple[FloatArray, FloatArray]:
    """Use of each present container over each node's capacity, and the node's background."""
    capacity = workload.nodes.capacity[:, resource].astype(np.float64)
    use = workload.use.at(step)[resource, workload.present(step)].astype(np.float64)
    return use[:, None] / capacity, workload.use.background[resource, step] / capacity


def _solved(request: FloatArray, capacity: FloatArray, program: _Program) -> float | None:
    containers, nodes = len(request), len(capacity)
    pairs, further = containers * nodes, len(program.cost)
    each_once = np.zeros((containers, pairs + further))
    each_once[:, :pairs] = np.repeat(np.eye(containers), nodes, axis=1)
    room = np.zeros((nodes * request.shape[1], pairs + further))
    for node in range(nodes):
        rows = slice(node * request.shape[1], (node + 1) * request.shape[1])
        room[rows, node:pairs:nodes] = (request / np.maximum(capacity[node], 1)).T
    full = np.minimum(capacity, 1).reshape(-1)
    result = milp(
        c=np.concatenate([np.zeros(pairs), program.cost]),
        integrality=np.concatenate([np.ones(pairs), np.full(further, float(program.whole))]),
        bounds=Bounds(
            0,
            np.concatenate([np.ones(pairs), np.full(further, 1.0 if program.whole else np.inf)]),
        ),
        constraints=[
            LinearConstraint(each_once, 1, 1),
            LinearConstraint(room, -np.inf, full),
            LinearConstraint(program.upper, -np.inf, program.limit),
        ],
    )
    return float(result.fun) if result.status == 0 else None


sizes = some.tuples(some.integers(1, 60), some.integers(1, 60))


@some.composite
def workloads(draw: some.DrawFn) -> Workload:
    nodes = draw(some.lists(some.tuples(some.integers(30, 100), some.integers(30, 100)),
                            min_size=1, max_size=3))  # fmt: skip
    asked = draw(some.lists(sizes, min_size=1, max_size=5))
    used = draw(some.lists(some.integers(0, 50), min_size=2 * len(nodes), max_size=2 * len(nodes)))
    background = np.array(used, dtype=np.float32).reshape(2, 1, len(nodes))
    rows = [(0, 9000, cpu, memory) for cpu, memory in asked]
    return workload(nodes, rows, steps=1, used_share=0.5, background=background)


@settings(max_examples=25)
@given(workloads())
def test_no_bound_is_above_the_optimum(load: Workload) -> None:
    best = fewest_nodes(load, 0)
    if best is None:
        return
    bound = bounds_of(load).rows[0]
    assert bound["nodes_used"] <= best
    assert best == _tried(load)
    for resource, name in enumerate(("cpu", "memory")):
        peak = lowest_peak(load, 0, resource)
        assert peak is not None
        assert bound[f"{name}_max_fraction"] <= peak + 1e-9
    z = lowest_imbalance(load, 0)
    assert z is not None
    assert bound["imbalance"] <= z + 1e-9


@settings(max_examples=15)
@given(workloads())
def test_no_policy_is_below_the_optimum(load: Workload) -> None:
    best = fewest_nodes(load, 0)
    if best is None:
        return
    policies = choose_policies(
        Entrants.of(["first_fit", "least_allocated", "balanced_allocation"]), load
    )
    summary = replay(load, policies, seed=0).summary
    for row in summary.filter(summary["policy"] != "bound").to_dicts():
        if row["pending"]:
            continue
        assert row["nodes_used_max"] >= best
        assert row["nodes_used_max_gap"] >= 0
        assert row["cpu_max_fraction"] >= (lowest_peak(load, 0, 0) or 0.0) - 1e-6
        assert row["imbalance_mean"] >= (lowest_imbalance(load, 0) or 0.0) - 1e-6


def _tried(load: Workload) -> int:
    """The fewest nodes, by trying every placement."""
    found = []
    for nodes in itertools.product(range(load.nodes.count), repeat=load.containers.count):
        requested = np.zeros_like(load.nodes.capacity)
        np.add.at(requested, np.array(nodes), load.containers.request)
        if (requested <= load.nodes.capacity).all():
            found.append(len(set(nodes)))
    return min(found)


CASES = [
    # three halves of a node: 1.5 nodes of volume, but no two of them share one
    ([(60, 10)] * 3, [(100, 100)] * 4, 2, 3),
    # two resources, each asked for by others: the volume of both fits one node
    ([(100, 0), (0, 100)], [(100, 100)] * 2, 1, 1),
    # the volume bound takes the largest nodes, of which there is one
    ([(50, 50)] * 4, [(100, 100), (50, 50), (50, 50)], 3, 3),
    # a small node cannot take a large container, however many there are
    ([(80, 1)] * 2, [(100, 100)] * 2 + [(10, 10)] * 9, 2, 2),
    # nobody asks for anything
    ([(0, 0)] * 3, [(100, 100)] * 2, 0, 1),
]


@pytest.mark.parametrize(("asked", "nodes", "volume", "best"), CASES)
def test_node_bounds_by_hand(
    asked: list[tuple[int, int]], nodes: list[tuple[int, int]], volume: int, best: int
) -> None:
    request, capacity = np.array(asked), np.array(nodes)
    linear = linear_bound(request, capacity)
    assert volume_bound(request, capacity) == volume
    assert linear is not None
    assert max(volume, linear) <= best
    load = workload(nodes, [(0, 9000, *one) for one in asked], steps=1)
    assert fewest_nodes(load, 0) == best


@settings(max_examples=60)
@given(
    some.lists(some.tuples(some.integers(0, 60), some.integers(0, 60)), min_size=1, max_size=12),
    some.lists(some.tuples(some.integers(1, 99), some.integers(1, 99)), min_size=1, max_size=6),
)
def test_without_a_row_for_each_pair_the_bound_is_weaker_and_not_below_room(
    asked: list[tuple[int, int]], nodes: list[tuple[int, int]]
) -> None:
    """Every solution with the rows is one without them; a node's room stays a limit."""
    request, capacity = np.array(asked), np.array(nodes)
    whole = linear_bound(request, capacity)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_bound_module, "LARGEST_WHOLE", 0)
        without = linear_bound(request, capacity)
    assert whole is not None
    assert without is not None
    assert volume_bound(request, capacity) <= without <= whole


def test_the_program_loses_its_rows_where_pairs_are_many_and_ends_where_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request, capacity = np.array([(60, 1)] * 3), np.array([(100, 100)] * 9)
    monkeypatch.setattr(node_bound_module, "LARGEST_WHOLE", 0)
    assert linear_bound(request, capacity) == 2
    monkeypatch.setattr(node_bound_module, "LARGEST_PROGRAM", 0)
    assert linear_bound(request, capacity) is None


def test_without_a_solution_every_node_is_needed() -> None:
    assert linear_bound(np.array([(101, 1)]), np.array([(100, 100)] * 4)) == 4
    load = workload([(100, 100)], [(0, 9000, 90, 1), (0, 9000, 90, 1)], steps=1)
    assert fewest_nodes(load, 0) is None
    assert lowest_peak(load, 0, 0) is None
