"""The compiled loop that scores every node with room: what a small cluster needs, soon compiled.

Each container sees those that were placed before it.
"""

from typing import NamedTuple

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.jit import compiled
from tracekit.replay.fast.search import Scorer, Workspace, evaluate, find_room, scan
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
def place_scanning(
    scorer: Scorer,
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
    for at in range(len(order)):
        shape = order[at]
        node = -1
        if not shapes.refused[shape]:
            node = choose(scorer, choice, nodes, work, window, shapes, shape, rng)
        found[at] = node
        shapes.refused[shape] = node < 0
        if node >= 0:
            add_container(scorer, nodes, node, shapes.asks[shape])


@compiled
def choose(
    scorer: Scorer,
    choice: Choice,
    nodes: Nodes,
    work: Workspace,
    window: Window,
    shapes: Shapes,
    shape: int,
    rng: np.random.Generator,
) -> int:
    """The node for a container of a shape, every one with room scored; -1 where none has."""
    ask, skipped = shapes.asks[shape], shapes.skipped[shape]
    if choice.window:
        return search_window(
            scorer,
            shapes.parameters[shape],
            skipped,
            choice.reservoir,
            nodes.state,
            ask,
            nodes.blocked,
            window,
            rng,
        )
    if skipped or choice.reservoir:
        return _choose_tied(scorer, skipped, choice.reservoir, nodes, ask, work, rng)
    return scan(scorer, nodes.state, ask, nodes.blocked, work)


@compiled
def add_container(scorer: Scorer, nodes: Nodes, node: int, ask: IntArray) -> None:
    """Add a container of these amounts to a node's sums and its terms."""
    for kind in range(1, 4):
        for resource in range(ask.shape[1]):
            nodes.state[kind, resource, node] += ask[kind, resource]
    nodes.containers[node] += 1
    if scorer.follows:
        scorer.placed(scorer.terms, nodes.state, node, ask, scorer.parameters)


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
