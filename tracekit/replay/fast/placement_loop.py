"""A stretch of decisions in one go: containers one after another, each seeing the ones before."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracekit.arrays import BoolArray, FloatArray, IntArray
from tracekit.jit import compiled
from tracekit.replay.fast.index import MOVES, OWED, Leaves, fill, move
from tracekit.replay.fast.search import Scorer, Workspace, evaluate, find_room, scan, search
from tracekit.replay.fast.segment_tree import WORTHWHILE, play, start
from tracekit.replay.fast.window import Sight, look


class Nodes(NamedTuple):
    """The cluster in compiled code.

    Parameters
    ----------
    state : int64, shape (4, resources, nodes)
    containers : int64, shape (nodes,)
    blocked : bool, shape (nodes,)
        Nodes that constraints other than room close to the containers of this stretch.
    """

    state: IntArray
    containers: IntArray
    blocked: BoolArray


class Choice(NamedTuple):
    """How a node is chosen.

    Parameters
    ----------
    indexed : bool
        Whether the leaves are searched; they index row ``sums`` of the state.
    prune : bool
        Whether those sums are of real requests.
    reservoir : bool
        Ties by reservoir sampling instead of by position.
    window : int
        How many nodes with room are looked at, 0 for all.
    """

    indexed: bool
    sums: int
    prune: bool
    reservoir: bool
    window: int


class Shapes(NamedTuple):
    """Containers that differ in no amount share a shape.

    Parameters
    ----------
    asks : int64, shape (shapes, 4, resources)
    parameters : float64, shape (shapes, numbers)
        The kernel's parameters for each shape, where there is a window.
    silent, refused : bool, shape (shapes,)
        Shapes the policy has nothing to say about; shapes no node had room for, kept up here,
        because placing more makes no room.
    """

    asks: IntArray
    parameters: FloatArray
    silent: BoolArray
    refused: BoolArray


@compiled
def place(
    scorer: Scorer,
    leaves: Leaves,
    choice: Choice,
    nodes: Nodes,
    work: Workspace,
    sight: Sight,
    shapes: Shapes,
    order: IntArray,
    rng: np.random.Generator,
    found: IntArray,
) -> None:
    """Place containers of the shapes in ``order``; their nodes to ``found``, -1 for no room."""
    at = 0
    while at < len(order):
        shape, ask, run = order[at], shapes.asks[order[at]], 1
        sampled = shapes.silent[shape] or choice.reservoir
        if shapes.refused[shape]:
            node = -1
        elif choice.window:
            node = look(
                scorer,
                shapes.parameters[shape],
                shapes.silent[shape],
                choice.reservoir,
                nodes.state,
                ask,
                nodes.blocked,
                sight,
                rng,
            )
        elif sampled:
            node = _sample(scorer, shapes.silent[shape], choice.reservoir, nodes, ask, work, rng)
        else:
            run = _run(order, at)
            if run >= WORTHWHILE:
                if leaves.counts[MOVES] < 0:
                    leaves.counts[MOVES] = min(leaves.counts[MOVES] + run, -1)
                _place_alike(scorer, leaves, choice, nodes, work, ask, found[at : at + run])
                node = found[at + run - 1]
            elif choice.indexed and _holds(leaves, choice, nodes, scorer.terms):
                run = 1
                node = search(scorer, leaves, choice.prune, ask, nodes.blocked, work)
            else:
                run = 1
                node = scan(scorer, nodes.state, ask, nodes.blocked, work)
        if run == 1:
            found[at] = node
            if node >= 0:
                add(scorer, leaves, choice, nodes, node, ask)
        shapes.refused[shape] = node < 0
        at += run


@compiled
def add(
    scorer: Scorer, leaves: Leaves, choice: Choice, nodes: Nodes, node: int, ask: IntArray
) -> None:
    """Add a container of these amounts to a node, and bring all that is kept of it up to date."""
    for kind in range(1, 4):
        for resource in range(ask.shape[1]):
            nodes.state[kind, resource, node] += ask[kind, resource]
    nodes.containers[node] += 1
    if scorer.follows:
        scorer.placed(scorer.terms, nodes.state, node, ask, scorer.parameters)
    if choice.indexed and leaves.counts[MOVES] >= 0:
        move(leaves, node, nodes.state, scorer.terms, choice.sums)


@compiled
def left(scorer: Scorer, nodes: Nodes, ask: IntArray, which: IntArray) -> None:
    """Bring the terms of nodes up to date that containers left, as after a placement."""
    for node in which:
        scorer.placed(scorer.terms, nodes.state, node, ask, scorer.parameters)


@compiled
def moved(leaves: Leaves, choice: Choice, nodes: Nodes, terms: FloatArray, which: IntArray) -> None:
    """Bring the index up to date where state or terms were changed from outside."""
    if choice.indexed and leaves.counts[MOVES] >= 0:
        for node in which:
            if node >= 0 and leaves.counts[MOVES] >= 0:
                move(leaves, node, nodes.state, terms, choice.sums)


@compiled
def _holds(leaves: Leaves, choice: Choice, nodes: Nodes, terms: FloatArray) -> bool:
    """Whether the index may be searched; makes it when it is owed."""
    if leaves.counts[MOVES] < 0:
        leaves.counts[MOVES] -= 1
        if leaves.counts[MOVES] > OWED:
            return False
        fill(leaves, nodes.state, terms, choice.sums)
    return True


@compiled
def _run(order: IntArray, at: int) -> int:
    end = at + 1
    while end < len(order) and order[end] == order[at]:
        end += 1
    return end - at


@compiled
def _place_alike(
    scorer: Scorer,
    leaves: Leaves,
    choice: Choice,
    nodes: Nodes,
    work: Workspace,
    ask: IntArray,
    found: IntArray,
) -> None:
    matches = start(scorer, nodes.state, ask, nodes.blocked, work)
    play(scorer, matches, nodes.state, nodes.containers, ask, found)
    if leaves.counts[MOVES] >= 0:
        moved(leaves, choice, nodes, scorer.terms, found)


@compiled
def _sample(
    scorer: Scorer,
    silent: bool,
    reservoir: bool,
    nodes: Nodes,
    ask: IntArray,
    work: Workspace,
    rng: np.random.Generator,
) -> int:
    """The choice where all nodes are equal, or where one of the equals is drawn."""
    room, scores = work.room, work.scores
    if silent:
        find_room(nodes.state, ask, nodes.blocked, room)
        scores[:] = 0.0
    else:
        evaluate(scorer, nodes.state, ask, nodes.blocked, work)
    best, highest = -1, -np.inf
    for node in range(len(room)):
        if room[node] and (scores[node] > highest or best < 0):
            best, highest = node, scores[node]
    if reservoir:
        equals = 0
        for node in range(len(room)):
            if room[node] and scores[node] == highest:
                equals += 1
                if equals == 1 or rng.integers(0, equals) == 0:
                    best = node
    return best
