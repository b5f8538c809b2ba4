"""The best placement there is, by integer programming: for small cases, to judge bounds by.

Every container present at one sampling step gets one node, within requests. The solver is HiGHS
through scipy; its time grows steeply, so that a few dozen containers on a few nodes are the limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.cluster.workload import Workload


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
    request, capacity = _present(workload, step), workload.capacity
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
    return _solved(request, workload.capacity.astype(np.float64), program)


def _present(workload: Workload, step: int) -> IntArray:
    return np.asarray(workload.request[workload.present(step)])


def _fractions(workload: Workload, step: int, resource: int) -> tuple[FloatArray, FloatArray]:
    """Use of each present container over each node's capacity, and the node's background."""
    capacity = workload.capacity[:, resource].astype(np.float64)
    use = workload.use_at(step)[resource, workload.present(step)].astype(np.float64)
    return use[:, None] / capacity, workload.background[resource, step] / capacity


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
