"""The compiled loop that searches an index: what a large cluster needs.

Each container sees those that were placed before it.
"""

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.jit import compiled
from tracekit.replay.fast.index import STALE, UPDATES, NodeIndex
from tracekit.replay.fast.index_build import build_index, update_node
from tracekit.replay.fast.scanning import Choice, Nodes, Shapes, add_container, choose
from tracekit.replay.fast.search import Scorer, Workspace, search
from tracekit.replay.fast.segment_tree import WORTHWHILE, build_tree, place_run
from tracekit.replay.fast.window import Window


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
