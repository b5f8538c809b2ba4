"""Fitness of whole batches on the nodes that many candidates propose, in one compiled pass.

The equations stand in ``placement/_parts/fitness.py``; a batch adds them up container by container,
each on what those before it have left.
"""

import math
from types import FunctionType
from typing import Any, NamedTuple, cast

import numpy as np

from tracekit.arrays import BoolArray, FloatArray, IntArray
from tracekit.jit import Direct, compiled, with_functions
from tracekit.replay.optimize.problem import Move
from tracekit.replay.placement._parts.batch import within
from tracekit.replay.placement._parts.fitness import (
    excess,
    is_enough,
    load_with,
    suits_left,
    suits_load,
)
from tracekit.replay.placement._parts.formula import NUMBERS

#: What a container that finds no room takes off a batch's fitness.
NO_ROOM = 10.0

#: What critical loads mean, and what a batch is judged by: places in ``rules``.
SOFT, HARD, PENALTY = 0.0, 1.0, 2.0
TCRIT, MODE, EXCESS, OF_SCORE, OF_IMBALANCE = range(5)


def _suits_numbers(
    node: int,
    asked: FloatArray,
    extra: FloatArray,
    free: FloatArray,
    ground: FloatArray,
    mu: FloatArray,
    nu: FloatArray,
    rules: FloatArray,
) -> float:
    """Fitness of one container on one node, NaN where there is no room."""
    score = 0.0
    for column in range(len(asked)):
        total, used = ground[0, node, column], ground[1, node, column] + extra[column]
        left = total - used
        load = load_with(asked[column], used, total)
        above = excess(load, rules[TCRIT])
        if not is_enough(asked[column], min(left, free[node, column] - extra[column])):
            return math.nan
        if rules[MODE] == HARD and above > 0.0:
            return math.nan
        score += suits_left(asked[column], left, mu[column])
        score += suits_load(load, rules[TCRIT], nu[column])
        if rules[MODE] == PENALTY:
            score -= rules[EXCESS] * above
    return score


_suits: Any = compiled(with_functions(cast("FunctionType", _suits_numbers), {}, NUMBERS))


_within: Any = compiled(within)


@compiled
def _uneven(node: int, extra: FloatArray, ground: FloatArray) -> float:
    """As ``tracekit.metrics.imbalance``, of one node whose use is added up here."""
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


@compiled
def _taken_before(
    row: IntArray,
    request: FloatArray,
    placed: BoolArray,
    upto: int,
    node: int,
    extra: FloatArray,
) -> None:
    """The amounts that the first containers of the batch take of a node."""
    # column by column: an assignment to a slice costs as much as scoring a node
    for column in range(len(extra)):
        extra[column] = 0.0
    for other in range(upto):
        if placed[other] and row[other] == node:
            for column in range(len(extra)):
                extra[column] += request[other, column]


@compiled
def _more_uneven(
    row: IntArray,
    request: FloatArray,
    placed: BoolArray,
    ground: FloatArray,
    extra: FloatArray,
) -> float:
    """By how much the sum of unevenness over all nodes grows with the batch."""
    grown = 0.0
    for at in range(len(row)):
        again = False
        for other in range(at):
            again = again or row[other] == row[at]
        if not again:
            _taken_before(row, request, placed, len(row), row[at], extra)
            grown += _uneven(row[at], extra, ground)
            extra[:] = 0.0
            grown -= _uneven(row[at], extra, ground)
    return grown


@compiled
def _judge(
    nodes: IntArray,
    request: FloatArray,
    kinds: IntArray,
    open_nodes: BoolArray,
    free: FloatArray,
    ground: FloatArray,
    mu: FloatArray,
    nu: FloatArray,
    rules: FloatArray,
    fitness: FloatArray,
    placed: BoolArray,
) -> None:
    candidates, batch = nodes.shape
    count = ground.shape[1]
    extra = np.zeros(request.shape[1])
    even = 0.0
    if rules[OF_IMBALANCE] > 0.0:
        for node in range(count):
            even += _uneven(node, extra, ground)
    for row in range(candidates):
        total, chosen, found = 0.0, nodes[row], placed[row]
        for at in range(batch):
            node = chosen[at]
            _taken_before(chosen, request, found, at, node, extra)
            score = math.nan
            if open_nodes.shape[0] == 0 or open_nodes[at, node]:
                score = _suits(
                    node, request[at], extra, free, ground, mu[kinds[at, node]], nu, rules
                )
            found[at] = not math.isnan(score)
            total += rules[OF_SCORE] * score if found[at] else -NO_ROOM
        if rules[OF_IMBALANCE] > 0.0:
            grown = _more_uneven(chosen, request, found, ground, extra)
            total -= rules[OF_IMBALANCE] * (even + grown) / count
        fitness[row] = total


@compiled
def _move(
    proposed: FloatArray,
    rows: IntArray,
    positions: FloatArray,
    costs: FloatArray,
    box: FloatArray,
    order: IntArray,
    request: FloatArray,
    kinds: IntArray,
    open_nodes: BoolArray,
    free: FloatArray,
    ground: FloatArray,
    mu: FloatArray,
    nu: FloatArray,
    rules: FloatArray,
) -> int:
    """See ``mover``; the first of the lowest costs, or -1 where one is no number."""
    count, batch = proposed.shape
    inside = np.empty((count, batch))
    nodes = np.empty((count, batch), np.int64)
    for row in range(count):
        for at in range(batch):
            value = proposed[row, at]
            # written so that what is no number goes to the lower bound
            value = max(box[0, at], value)
            value = min(box[1, at], value)
            inside[row, at] = value
            nodes[row, at] = order[int(_within(value, len(order)))]
    fitness, placed = np.empty(count), np.zeros((count, batch), np.bool_)
    _judge(nodes, request, kinds, open_nodes, free, ground, mu, nu, rules, fitness, placed)
    for row in range(count):
        if math.isnan(fitness[row]):
            return -1
    for row in range(count):
        own = rows[row]
        if -fitness[row] < costs[own]:
            costs[own] = -fitness[row]
            for at in range(batch):
                positions[own, at] = inside[row, at]
    least = 0
    for own in range(1, len(costs)):
        if costs[own] < costs[least]:
            least = own
    return least


_JUDGE, _MOVE = Direct(_judge), Direct(_move)


class Case(NamedTuple):
    """A batch and what it is judged on.

    Parameters
    ----------
    request : float64, shape (batch, resources)
    kinds : int64, shape (batch, nodes)
        Which row of ``mu`` holds for a container on a node.
    open_nodes : bool, shape (batch, nodes) or (0, nodes) when all are open
    free : float64, shape (nodes, resources)
        What requests leave of each node.
    ground : float64, shape (2, nodes, resources)
        Capacities, and what is used of them.
    mu, nu : float64, shapes (kinds, resources) and (resources,)
    rules : float64, shape (5,)
        By ``TCRIT, MODE, EXCESS, OF_SCORE, OF_IMBALANCE``.
    """

    request: FloatArray
    kinds: IntArray
    open_nodes: BoolArray
    free: FloatArray
    ground: FloatArray
    mu: FloatArray
    nu: FloatArray
    rules: FloatArray


def judge(nodes: IntArray, case: Case) -> tuple[FloatArray, BoolArray]:
    """Fitness of every candidate, and which containers of its batch it finds room for.

    Parameters
    ----------
    nodes : int64, shape (candidates, batch)
        Where each candidate puts each container.
    """
    fitness = np.empty(len(nodes))
    placed = np.zeros(nodes.shape, dtype=np.bool_)
    _JUDGE(np.ascontiguousarray(nodes), *case, fitness, placed)
    return fitness, placed


def mover(box: FloatArray, order: IntArray, case: Case) -> Move:
    """The function that moves candidates to cheaper proposed positions, brought into the box.

    Parameters
    ----------
    box : float64, shape (2, batch)
        The lower and the upper bounds.
    order : int64, shape (nodes,)
        The node of each whole number.
    """
    given = (box, order, *case)

    def move(proposed: FloatArray, rows: IntArray, positions: FloatArray, costs: FloatArray) -> int:
        found: int = _MOVE(np.ascontiguousarray(proposed), rows, positions, costs, *given)
        return found

    return move
