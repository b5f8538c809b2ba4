"""Fitness of whole batches for many proposed placements, in one compiled pass.

The equations are those of ``placement/_parts/fitness.py``. The fitness of a batch is the sum over
its containers, each placed after the containers before it.
"""

import functools
import math
from types import FunctionType
from typing import Any, NamedTuple, cast

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.jit import (
    B2,
    F1,
    F2,
    F3,
    I1,
    I2,
    Direct,
    Pointer,
    compiled,
    types,
    with_functions,
)
from tracekit.policy.placement._parts.fitness import (
    excess,
    is_enough,
    load_with,
    suits_left,
    suits_load,
    within,
)
from tracekit.policy.placement._parts.formula import NUMBERS
from tracekit.policy.search.problem import CompiledCost

#: The amount by which a container without room reduces the fitness of its batch.
NO_ROOM = 10.0

#: Marks a fitness that was not computed yet.
UNKNOWN = math.inf

#: Modes of critical loads, and positions in ``rules``.
SOFT, HARD, PENALTY = 0.0, 1.0, 2.0
MODE, EXCESS, OF_SCORE, OF_IMBALANCE = range(4)
#: Positions in the first axis of ``ground`` and of ``loads``.
TOTAL, USED, PEAK = range(3)
WEIGHT, CRITICAL = range(2)


def _suits(
    node: int,
    request: FloatArray,
    extra: FloatArray,
    free: FloatArray,
    ground: FloatArray,
    mu: FloatArray,
    loads: FloatArray,
    rules: FloatArray,
) -> float:
    """Fitness of one container on one node; NaN without room."""
    score = 0.0
    for column in range(len(request)):
        total = ground[TOTAL, node, column]
        left = total - (ground[USED, node, column] + extra[column])
        load = load_with(request[column], ground[PEAK, node, column] + extra[column], total)
        above = excess(load, loads[CRITICAL, column])
        if not is_enough(request[column], min(left, free[node, column] - extra[column])):
            return math.nan
        if rules[MODE] == HARD and above > 0.0:
            return math.nan
        score += suits_left(request[column], left, mu[column])
        score += suits_load(load, loads[CRITICAL, column], loads[WEIGHT, column])
        if rules[MODE] == PENALTY:
            score -= rules[EXCESS] * above
    return score


def _uneven(node: int, extra: FloatArray, ground: FloatArray) -> float:
    """Imbalance of one node's resources, as in ``tracekit.analysis.metrics.load``."""
    count = ground.shape[2]
    mean, squares = 0.0, 0.0
    for column in range(count):
        total = ground[0, node, column]
        part = (ground[1, node, column] + extra[column]) / total if total > 0.0 else 0.0
        mean += part / count
    for column in range(count):
        total = ground[0, node, column]
        part = (ground[1, node, column] + extra[column]) / total if total > 0.0 else 0.0
        squares += (part - mean) ** 2
    return math.sqrt(squares)


def _taken_before(
    nodes: IntArray,
    row: int,
    request: FloatArray,
    placed: BoolArray,
    upto: int,
    node: int,
    extra: FloatArray,
) -> bool:
    """Whether the first ``upto`` containers use a node; writes their amounts there to ``extra``."""
    # number by number: a slice costs as much as scoring a node
    taken = False
    for column in range(len(extra)):
        extra[column] = 0.0
    for other in range(upto):
        if nodes[row, other] == node and placed[row, other]:
            taken = True
            for column in range(len(extra)):
                extra[column] += request[other, column]
    return taken


def _more_uneven(
    nodes: IntArray,
    row: int,
    request: FloatArray,
    placed: BoolArray,
    ground: FloatArray,
    extra: FloatArray,
) -> float:
    """By how much a proposal raises the sum of imbalance over all nodes."""
    grown, batch = 0.0, nodes.shape[1]
    for at in range(batch):
        node, again = nodes[row, at], False
        for other in range(at):
            again = again or nodes[row, other] == node
        if not again:
            _taken_before(nodes, row, request, placed, batch, node, extra)
            grown += _uneven(node, extra, ground)
            extra[:] = 0.0
            grown -= _uneven(node, extra, ground)
    return grown


class Case(NamedTuple):
    """A batch of containers and the nodes, as arrays for ``judge``; ``BatchFitness`` makes it.

    Parameters
    ----------
    request : float64, shape (batch, resources)
    kinds : int64, shape (batch, nodes)
        The row of ``mu`` for a container on a node.
    open_nodes : bool, shape (batch, nodes), or (0, nodes) if all nodes are open
    free : float64, shape (nodes, resources)
        The amounts of each node that are not requested.
    ground : float64, shape (3, nodes, resources)
        Capacities, present use and peak use.
    mu : float64, shape (kinds, resources)
        Weights of the free amounts.
    loads : float64, shape (2, resources)
        Weights of loads, and critical loads.
    rules : float64, shape (4,)
        Mode of critical loads, cost of a load above them, weights of fitness and of imbalance.
    alone : float64, shape (batch, nodes)
        Fitness of each container on a node without other containers of the batch; NaN without room,
        ``UNKNOWN`` until it is computed.
    """

    request: FloatArray
    kinds: IntArray
    open_nodes: BoolArray
    free: FloatArray
    ground: FloatArray
    mu: FloatArray
    loads: FloatArray
    rules: FloatArray
    alone: FloatArray


def _judge(nodes: IntArray, case: Case, fitness: FloatArray, placed: BoolArray) -> None:
    """See ``judge``."""
    # read once, as each read costs as much as scoring a node
    request, alone, rules, kinds, open_nodes, ground, mu = (
        case.request, case.alone, case.rules, case.kinds, case.open_nodes, case.ground, case.mu
    )  # fmt: skip
    extra = np.zeros(request.shape[1])
    even = _sum_uneven(ground, extra) if rules[OF_IMBALANCE] > 0.0 else 0.0
    for row in range(len(fitness)):
        total = 0.0
        for at in range(nodes.shape[1]):
            node = nodes[row, at]
            taken = _taken_before(nodes, row, request, placed, at, node, extra)
            score = UNKNOWN if taken else alone[at, node]
            if score == UNKNOWN:
                score = math.nan
                if open_nodes.shape[0] == 0 or open_nodes[at, node]:
                    weights = mu[kinds[at, node]]
                    score = _suits(
                        node, request[at], extra, case.free, ground, weights, case.loads, rules
                    )
                if not taken:
                    alone[at, node] = score
            placed[row, at] = not math.isnan(score)
            total += rules[OF_SCORE] * score if placed[row, at] else -NO_ROOM
        if rules[OF_IMBALANCE] > 0.0:
            grown = _more_uneven(nodes, row, request, placed, ground, extra)
            total -= rules[OF_IMBALANCE] * (even + grown) / ground.shape[1]
        fitness[row] = total


def _sum_uneven(ground: FloatArray, nothing: FloatArray) -> float:
    """The sum of imbalance over all nodes before the batch."""
    even = 0.0
    for node in range(ground.shape[1]):
        even += _uneven(node, nothing, ground)
    return even


class Given(NamedTuple):
    """The data that a compiled cost gets beside the proposed positions of a search.

    Parameters
    ----------
    order : int64, shape (nodes,)
        The nodes in the order of the search. A proposal of x means the node ``order[floor(x)]``.
    case : Case
        The nodes and the containers of the batch, as arrays.
    """

    order: IntArray
    case: Case


def _cost(proposed: FloatArray, count: int, given: Given, costs: FloatArray) -> int:
    """See ``Flock.cost``."""
    order, batch = given.order, proposed.shape[1]
    nodes, placed = np.empty((count, batch), np.int64), np.empty((count, batch), np.bool_)
    for row in range(count):
        for at in range(batch):
            nodes[row, at] = order[int(within(proposed[row, at], len(order)))]
    _judge(nodes, given.case, costs[:count], placed)
    for row in range(count):
        costs[row] = -costs[row]
        if math.isnan(costs[row]):
            return 1
    return 0


_COMPILED: Any = compiled(with_functions(cast("FunctionType", _judge), {}, NUMBERS))
_JUDGE = Direct(_COMPILED)


def judge(nodes: IntArray, case: Case) -> tuple[FloatArray, BoolArray]:
    """Return the fitness of every proposal, and which containers have room in it.

    Parameters
    ----------
    nodes : int64, shape (proposals, batch)
        The node of each container in each proposal.

    Returns
    -------
    float64, shape (proposals,); bool, shape (proposals, batch)
    """
    fitness = np.empty(len(nodes))
    placed = np.zeros(nodes.shape, dtype=np.bool_)
    _JUDGE(np.ascontiguousarray(nodes), case, fitness, placed)
    return fitness, placed


@functools.cache
def _function() -> Pointer:
    case = types.NamedTuple((F2, I2, B2, F2, F3, F2, F2, F1, F2), Case)
    given = types.NamedTuple((I1, case), Given)
    cost = with_functions(cast("FunctionType", _cost), {"_judge": _COMPILED}, {})
    return Pointer(cost, types.int64(F2, types.int64, given, F1))


def compiled_cost(order: IntArray, case: Case) -> CompiledCost:
    """Return the cost of a search's positions, minus the fitness of their nodes, for compiled code.

    Parameters
    ----------
    order : int64, shape (nodes,)
        ``order[i]`` is the node that a component x of a position means if i <= x < i + 1.
    """
    return CompiledCost(_function(), Given(order, case))
