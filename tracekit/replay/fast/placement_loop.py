"""The compiled loop that searches an index: what a large cluster needs.

Each container sees those that were placed before it.

Containers of one shape in a row: score every node once, then only the node that changed.

The scores are the leaves of a segment tree of maxima. The first of the best nodes is found from
the root, and a changed score updates one path.
"""

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.jit import compiled
from tracekit.replay.fast.index import STALE, UPDATES, NodeIndex
from tracekit.replay.fast.index_build import build_index, update_node
from tracekit.replay.fast.scanning import Choice, Nodes, Shapes, add_container, choose
from tracekit.replay.fast.search import Scorer, Workspace, evaluate, rounded, search
from tracekit.replay.fast.window import Window

#: From this many containers of one shape in a row on, building the tree pays.
WORTHWHILE = 16


@compiled
def build_tree(
    scorer: Scorer, state: IntArray, ask: IntArray, blocked: BoolArray, work: Workspace
) -> FloatArray:
    """The tree over all nodes; the score of a node without room is minus infinity.

    Returns
    -------
    float64, shape (2 * width,)
        Vertex ``v`` has children ``2 v`` and ``2 v + 1``; the leaf of node ``n`` is ``width + n``.
    """
    evaluate(scorer, state, ask, blocked, work)
    width = 1
    while width < state.shape[2]:
        width *= 2
    tree = np.full(2 * width, -np.inf)
    for node in range(state.shape[2]):
        if work.room[node]:
            tree[width + node] = work.scores[node]
    for vertex in range(width - 1, 0, -1):
        tree[vertex] = max(tree[2 * vertex], tree[2 * vertex + 1])
    return tree


@compiled
def first_maximum(tree: FloatArray) -> int:
    """The first of the best nodes, -1 when none has room."""
    width = len(tree) // 2
    if tree[1] == -np.inf:
        return -1
    vertex = 1
    while vertex < width:
        vertex *= 2
        if tree[vertex] < tree[1]:
            vertex += 1
    return vertex - width


@compiled
def set_score(tree: FloatArray, node: int, score: float) -> None:
    """Write a node's score, and update the maxima above it."""
    vertex = len(tree) // 2 + node
    tree[vertex] = score
    while vertex > 1:
        vertex //= 2
        tree[vertex] = max(tree[2 * vertex], tree[2 * vertex + 1])


@compiled
def place_run(
    scorer: Scorer,
    tree: FloatArray,
    state: IntArray,
    containers: IntArray,
    ask: IntArray,
    found: IntArray,
) -> None:
    """Place containers of one shape until all are placed or none has room.

    The body is one piece, as that of ``search``. ``found`` gets their nodes, -1 for no room.
    """
    score, parameters, terms = scorer.score, scorer.parameters, scorer.terms
    block, term = np.zeros((4, ask.shape[1], 1), np.int64), np.zeros((len(terms), 1))
    position, value = np.zeros(1, np.int64), np.zeros(1)
    for at in range(len(found)):
        node = first_maximum(tree)
        found[at] = node
        if node < 0:
            continue
        containers[node] += 1
        fits = True
        for resource in range(ask.shape[1]):
            block[0, resource, 0] = state[0, resource, node]
            for kind in range(1, 4):
                state[kind, resource, node] += ask[kind, resource]
                block[kind, resource, 0] = state[kind, resource, node]
            left = block[0, resource, 0] - block[1, resource, 0]
            fits &= ask[1, resource] <= 0 or left >= ask[1, resource]
        if scorer.follows:
            scorer.placed(terms, state, node, ask, parameters)
        for row in range(len(terms)):
            term[row, 0] = terms[row, node]
        position[0], value[0] = node, -np.inf
        if fits:
            score(block, position, 1, term, ask, parameters, value)
            if scorer.floats:
                rounded(value, 1)
        set_score(tree, node, value[0])


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
        if shapes.refused[shape]:
            node = -1
        elif choice.window or shapes.skipped[shape] or choice.reservoir:
            node = choose(scorer, choice, nodes, work, window, shapes, shape, rng)
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
                node = choose(scorer, choice, nodes, work, window, shapes, shape, rng)
        if run == 1:
            found[at] = node
            if node >= 0:
                add_container(scorer, nodes, node, ask)
                if choice.indexed and index.counts[UPDATES] >= 0:
                    update_node(index, node, nodes.state, scorer.terms, choice.sums)
        shapes.refused[shape] = node < 0
        at += run


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
