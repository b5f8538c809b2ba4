"""The compiled loop of placements: each container sees those that were placed before it."""

from typing import NamedTuple

import numpy as np

from tracekit.arrays import BoolArray, FloatArray, IntArray
from tracekit.jit import compiled
from tracekit.replay.fast.index import STALE, UPDATES, NodeIndex
from tracekit.replay.fast.index_build import build_index, update_node
from tracekit.replay.fast.search import Scorer, Workspace, evaluate, find_room, scan, search
from tracekit.replay.fast.segment_tree import WORTHWHILE, build_tree, place_run
from tracekit.replay.fast.window import Window, search_window


class Nodes(NamedTuple):
    """The cluster in compiled code.

    Parameters
    ----------
    state : int64, shape (4, resources, nodes)
    containers : int64, shape (nodes,)
    blocked : bool, shape (nodes,)
        Nodes that constraints other than room close to the containers of this call.
    """

    state: IntArray
    containers: IntArray
    blocked: BoolArray


class Choice(NamedTuple):
    """How a node is chosen.

    Parameters
    ----------
    indexed : bool
        Whether the index is searched; it holds row ``sums`` of the state.
    prune : bool
        Whether those sums are of real requests.
    reservoir : bool
        Ties by reservoir sampling instead of by position.
    window : int
        How many nodes with room are scored, 0 for all.
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
    skipped, refused : bool, shape (shapes,)
        Shapes that the policy does not score; shapes for which no node had room. A refused shape
        stays refused within a call, because placing more makes no room.
    """

    asks: IntArray
    parameters: FloatArray
    skipped: BoolArray
    refused: BoolArray


@compiled
def place_all(
    scorer: Scorer,
    index: NodeIndex,
    choice: Choice,
    nodes: Nodes,
    work: Workspace,
    window: Window,
    shapes: Shapes,
    order: IntArray,
    rng: np.random.Generator,
    found: IntArray,
) -> None:
    """Place containers of the shapes in ``order``; ``found`` gets their nodes, -1 for no room."""
    at = 0
    while at < len(order):
        shape, ask, run = order[at], shapes.asks[order[at]], 1
        sampled = shapes.skipped[shape] or choice.reservoir
        if shapes.refused[shape]:
            node = -1
        elif choice.window:
            node = search_window(
                scorer,
                shapes.parameters[shape],
                shapes.skipped[shape],
                choice.reservoir,
                nodes.state,
                ask,
                nodes.blocked,
                window,
                rng,
            )
        elif sampled:
            node = _choose_tied(
                scorer, shapes.skipped[shape], choice.reservoir, nodes, ask, work, rng
            )
        else:
            run = _run_length(order, at)
            if run >= WORTHWHILE:
                if index.counts[UPDATES] < 0:
                    index.counts[UPDATES] = min(index.counts[UPDATES] + run, -1)
                _place_by_tree(scorer, index, choice, nodes, work, ask, found[at : at + run])
                node = found[at + run - 1]
            elif choice.indexed and _is_usable(index, choice, nodes, scorer.terms):
                run = 1
                node = search(scorer, index, choice.prune, ask, nodes.blocked, work)
            else:
                run = 1
                node = scan(scorer, nodes.state, ask, nodes.blocked, work)
        if run == 1:
            found[at] = node
            if node >= 0:
                add_container(scorer, index, choice, nodes, node, ask)
        shapes.refused[shape] = node < 0
        at += run


@compiled
def add_container(
    scorer: Scorer, index: NodeIndex, choice: Choice, nodes: Nodes, node: int, ask: IntArray
) -> None:
    """Add a container of these amounts to a node's sums, its terms and the index."""
    for kind in range(1, 4):
        for resource in range(ask.shape[1]):
            nodes.state[kind, resource, node] += ask[kind, resource]
    nodes.containers[node] += 1
    if scorer.follows:
        scorer.placed(scorer.terms, nodes.state, node, ask, scorer.parameters)
    if choice.indexed and index.counts[UPDATES] >= 0:
        update_node(index, node, nodes.state, scorer.terms, choice.sums)


@compiled
def update_terms(scorer: Scorer, nodes: Nodes, ask: IntArray, which: IntArray) -> None:
    """Bring the terms of these nodes up to date after containers left them."""
    for node in which:
        scorer.placed(scorer.terms, nodes.state, node, ask, scorer.parameters)


@compiled
def update_nodes(
    index: NodeIndex, choice: Choice, nodes: Nodes, terms: FloatArray, which: IntArray
) -> None:
    """Bring the index up to date for nodes whose state or terms changed."""
    if choice.indexed and index.counts[UPDATES] >= 0:
        for node in which:
            if node >= 0 and index.counts[UPDATES] >= 0:
                update_node(index, node, nodes.state, terms, choice.sums)


@compiled
def _is_usable(index: NodeIndex, choice: Choice, nodes: Nodes, terms: FloatArray) -> bool:
    """Whether the index may be searched; builds it when it has been wanted often enough."""
    if index.counts[UPDATES] < 0:
        index.counts[UPDATES] -= 1
        if index.counts[UPDATES] > STALE:
            return False
        build_index(index, nodes.state, terms, choice.sums)
    return True


@compiled
def _run_length(order: IntArray, at: int) -> int:
    """How many containers in a row have the shape of the one at ``at``."""
    end = at + 1
    while end < len(order) and order[end] == order[at]:
        end += 1
    return end - at


@compiled
def _place_by_tree(
    scorer: Scorer,
    index: NodeIndex,
    choice: Choice,
    nodes: Nodes,
    work: Workspace,
    ask: IntArray,
    found: IntArray,
) -> None:
    """Place a run of containers of one shape with a segment tree of scores."""
    tree = build_tree(scorer, nodes.state, ask, nodes.blocked, work)
    place_run(scorer, tree, nodes.state, nodes.containers, ask, found)
    if index.counts[UPDATES] >= 0:
        update_nodes(index, choice, nodes, scorer.terms, found)


@compiled
def _choose_tied(
    scorer: Scorer,
    skipped: bool,
    reservoir: bool,
    nodes: Nodes,
    ask: IntArray,
    work: Workspace,
    rng: np.random.Generator,
) -> int:
    """The choice where no node is scored, or where one of equal nodes is drawn."""
    room, scores = work.room, work.scores
    if skipped:
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
