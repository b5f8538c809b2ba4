"""The compiled loop for small clusters: it scores every node with room, and compiles soon."""

from typing import NamedTuple

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.jit import compiled
from tracekit.replay.fast.search import Scorer, Workspace, as_compared, evaluate, find_room, scan


class Nodes(NamedTuple):
    """The state of all nodes, as arrays for compiled code.

    Parameters
    ----------
    state : int64, shape (4, resources, nodes)
        Rows as in ``kernels``: allocatable, requests, requests with defaults, limits.
    containers : int64, shape (nodes,)
        The number of containers.
    blocked : bool, shape (nodes,)
        Nodes that constraints close to the containers of this call.
    """

    state: IntArray
    containers: IntArray
    blocked: BoolArray


class Choice(NamedTuple):
    """How compiled code chooses a node in one replay.

    Parameters
    ----------
    indexed : bool
        Whether the index is searched.
    sums : int
        The row of ``Nodes.state`` that the index holds.
    prune : bool
        Whether that row has the real requests, so that the index shows which nodes have room.
    reservoir : bool
        Whether ties are broken by reservoir sampling; else by position.
    window : int
        The number of nodes with room that are scored; 0 for all.
    """

    indexed: bool
    sums: int
    prune: bool
    reservoir: bool
    window: int


class Shapes(NamedTuple):
    """The shapes of containers, see ``ShapeTable``.

    Parameters
    ----------
    asks : int64, shape (shapes, 4, resources)
    parameters : float64, shape (shapes, numbers)
        The kernel's parameters for each shape; empty without a window.
    skipped, refused : bool, shape (shapes,)
        Shapes that the policy does not score, and shapes for which no node had room. A refused
        shape stays refused within a call, because placements make no room.
    """

    asks: IntArray
    parameters: FloatArray
    skipped: BoolArray
    refused: BoolArray


class Window(NamedTuple):
    """Buffers for the first nodes with room from a position on; a decision scores only these.

    Parameters
    ----------
    wanted : int
        The largest number of nodes to score.
    block : int64, shape (4, resources, most)
        The state of these nodes.
    positions : int64, shape (most,)
        Their positions in the cluster.
    scores : float64, shape (most,)
    next_start : int64, shape (1,)
        The position at which the next search starts: that of the next node with room.
    """

    wanted: int
    block: IntArray
    positions: IntArray
    scores: FloatArray
    next_start: IntArray


def empty_window(wanted: int, state: IntArray) -> Window:
    """Return a window of at most ``wanted`` nodes, for a state of shape (4, resources, nodes)."""
    kinds, resources, nodes = state.shape
    most = min(wanted, nodes)
    return Window(
        wanted=wanted,
        block=np.zeros((kinds, resources, most), np.int64),
        positions=np.zeros(most, np.int64),
        scores=np.zeros(most),
        next_start=np.zeros(1, np.int64),
    )


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
    chosen: IntArray,
) -> None:
    """Place containers one after another, and write their nodes into ``chosen``; -1 for no room.

    ``order`` has the shape of each container, as a row of ``shapes``. No index is used.
    """
    for at in range(len(order)):
        shape = order[at]
        node = -1
        if not shapes.refused[shape]:
            node = choose(scorer, choice, nodes, work, window, shapes, shape, rng)
        chosen[at] = node
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
    """Return the best node for a container of a shape, without an index; -1 where none has room."""
    amounts, skipped = shapes.asks[shape], shapes.skipped[shape]
    if choice.window:
        return search_window(
            scorer,
            shapes.parameters[shape],
            skipped,
            choice.reservoir,
            nodes.state,
            amounts,
            nodes.blocked,
            window,
            rng,
        )
    if skipped or choice.reservoir:
        return _choose_tied(scorer, skipped, choice.reservoir, nodes, amounts, work, rng)
    return scan(scorer, nodes.state, amounts, nodes.blocked, work)


@compiled
def add_container(scorer: Scorer, nodes: Nodes, node: int, amounts: IntArray) -> None:
    """Add a container with the amounts ``amounts`` to a node's sums and terms."""
    for kind in range(1, 4):
        for resource in range(amounts.shape[1]):
            nodes.state[kind, resource, node] += amounts[kind, resource]
    nodes.containers[node] += 1
    if scorer.follows:
        scorer.placed(scorer.terms, nodes.state, node, amounts, scorer.parameters)


@compiled
def _choose_tied(
    scorer: Scorer,
    skipped: bool,
    reservoir: bool,
    nodes: Nodes,
    amounts: IntArray,
    work: Workspace,
    rng: np.random.Generator,
) -> int:
    """The chosen node where the policy is skipped, or where one of equal nodes is drawn."""
    room, scores = work.room, work.scores
    if skipped:
        find_room(nodes.state, amounts, nodes.blocked, room)
        scores[:] = 0.0
    else:
        evaluate(scorer, nodes.state, amounts, nodes.blocked, work)
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


# Scoring a window: some of the nodes with room, or all of them, copied side by side.


@compiled
def search_window(
    scorer: Scorer,
    parameters: FloatArray,
    skipped: bool,
    reservoir: bool,
    state: IntArray,
    amounts: IntArray,
    blocked: BoolArray,
    window: Window,
    rng: np.random.Generator,
) -> int:
    """Fill the window with nodes with room, and return the best of them; -1 where there is none.

    Ties go to the first node in the window, or are drawn with ``reservoir``.
    """
    positions, scores = window.positions, window.scores
    count = _find_nodes(state, amounts, blocked, window)
    if count <= 1 or skipped:
        scores[:count] = 0.0
    elif count == len(blocked) and positions[0] == 0:
        scorer.score(state, positions, count, scorer.terms, amounts, parameters, scores)
    else:
        terms = np.empty((len(scorer.terms), count))
        for row in range(len(terms)):
            for at in range(count):
                terms[row, at] = scorer.terms[row, positions[at]]
        _copy_state(state, positions, count, window.block)
        scorer.score(window.block, positions, count, terms, amounts, parameters, scores)
    best = first_of_highest(scores, count, scorer.floats)
    if reservoir and count > 1:
        best = _draw_tied(scores, count, best, scorer.floats, rng)
    return int(positions[best]) if count else -1


@compiled
def first_of_highest(scores: FloatArray, count: int, floats: bool) -> int:
    """Return where the first highest of ``count`` scores is; floats are compared after rounding."""
    best = 0
    for at in range(1, count):
        if scores[at] > scores[best]:
            best = at
    if floats and count:
        top = as_compared(scores[best], floats)
        for at in range(best):
            if scores[at] >= top - 1e-9 and as_compared(scores[at], floats) == top:
                return at
    return best


@compiled
def _draw_tied(
    scores: FloatArray, count: int, best: int, floats: bool, rng: np.random.Generator
) -> int:
    """One of the nodes with the best score, drawn by reservoir sampling."""
    top, equals = as_compared(scores[best], floats), 0
    for at in range(count):
        if as_compared(scores[at], floats) == top:
            equals += 1
            if equals == 1 or rng.integers(0, equals) == 0:
                best = at
    return best


@compiled
def _find_nodes(state: IntArray, amounts: IntArray, blocked: BoolArray, window: Window) -> int:
    """Collect nodes with room from ``next_start`` on, and return their number.

    ``next_start`` is then the node after the last one examined.
    """
    nodes, resources = state.shape[2], state.shape[1]
    size, taken, positions = state[0], state[1], window.positions
    start, count, examined = window.next_start[0], 0, 0
    while examined < nodes:
        node = start + examined
        if node >= nodes:
            node -= nodes
        fits = not blocked[node]
        for resource in range(resources):
            left = size[resource, node] - taken[resource, node]
            fits &= (amounts[1, resource] <= 0) | (left >= amounts[1, resource])
        if fits:
            if count == window.wanted:
                break
            positions[count] = node
            count += 1
        examined += 1
    window.next_start[0] = (start + examined) % nodes
    return count


@compiled
def _copy_state(state: IntArray, positions: IntArray, count: int, block: IntArray) -> None:
    for kind in range(state.shape[0]):
        for resource in range(state.shape[1]):
            source, target = state[kind, resource], block[kind, resource]
            for at in range(count):
                target[at] = source[positions[at]]
