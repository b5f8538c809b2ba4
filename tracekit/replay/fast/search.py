"""The best node for a container: by searching the index, or by scoring every node with room."""

from typing import Any, NamedTuple

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.jit import compiled
from tracekit.policy.view.choice import DECIMALS
from tracekit.replay.fast.index import LEAVES, NodeIndex

_SCALE = 10.0**DECIMALS


class Scorer(NamedTuple):
    """A kernel as compiled code takes it; ``terms`` has shape (terms, nodes)."""

    score: Any
    bound: Any
    placed: Any
    follows: bool
    parameters: FloatArray
    terms: FloatArray
    floats: bool


class Workspace(NamedTuple):
    """Arrays to work in; shape (nodes,), and (leaves,) for ``bounds``.

    ``every`` holds the positions of all nodes.
    """

    every: IntArray
    room: BoolArray
    scores: FloatArray
    bounds: FloatArray


def workspace(nodes: int, index: NodeIndex) -> Workspace:
    """Arrays to work in, for so many nodes and the leaves of an index."""
    count, slots = index.members.shape
    return Workspace(
        every=np.arange(nodes),
        room=np.zeros(nodes, np.bool_),
        scores=np.zeros(max(nodes, slots)),
        bounds=np.zeros(count),
    )


@compiled
def rounded(scores: FloatArray, count: int) -> None:
    """Round scores as the plain engine does before it compares them."""
    for at in range(count):
        scores[at] = np.rint(scores[at] * _SCALE) / _SCALE


@compiled
def as_compared(score: float, floats: bool) -> float:
    """A score as it is compared."""
    return np.rint(score * _SCALE) / _SCALE if floats else score


@compiled
def find_room(state: IntArray, ask: IntArray, blocked: BoolArray, room: BoolArray) -> None:
    """Whether each node has what the container requests left, and is not blocked."""
    for node in range(len(room)):
        room[node] = not blocked[node]
    for resource in range(state.shape[1]):
        wanted = ask[1, resource]
        if wanted > 0:
            size, taken = state[0, resource], state[1, resource]
            for node in range(len(room)):
                room[node] &= size[node] - taken[node] >= wanted


@compiled
def evaluate(
    scorer: Scorer, state: IntArray, ask: IntArray, blocked: BoolArray, work: Workspace
) -> None:
    """Score every node into ``work.scores``, and find those with room."""
    nodes, scores = state.shape[2], work.scores
    find_room(state, ask, blocked, work.room)
    scorer.score(state, work.every, nodes, scorer.terms, ask, scorer.parameters, scores)
    if scorer.floats:
        rounded(scores, nodes)


@compiled
def scan(
    scorer: Scorer, state: IntArray, ask: IntArray, blocked: BoolArray, work: Workspace
) -> int:
    """The first of the best nodes, -1 when none has room. Scores every node."""
    evaluate(scorer, state, ask, blocked, work)
    room, scores = work.room, work.scores
    best, highest = -1, -np.inf
    for node in range(len(room)):
        value = scores[node] if room[node] else -np.inf
        if value > highest:
            best, highest = node, value
    return best


@compiled
def search(
    scorer: Scorer,
    index: NodeIndex,
    prune: bool,
    ask: IntArray,
    blocked: BoolArray,
    work: Workspace,
) -> int:
    """The first of the best nodes, -1 when none has room. Scores only leaves that could hold it.

    ``prune`` says that the boxes are of real requests, so that a leaf without room may be left out.
    The body is one piece, because a call with this many arrays costs as much as scoring a leaf.
    """
    score, terms, parameters = scorer.score, index.terms, scorer.parameters
    states, size, first, members = index.states, index.size, index.first, index.members
    scores, bounds, count = work.scores, work.bounds, index.counts[LEAVES]
    scorer.bound(index.boxes, index.ranges, count, first, ask, parameters, bounds)
    _exclude_leaves(
        bounds, count, index.boxes, size, prune, ask, 1.0 / _SCALE if scorer.floats else 0.0
    )
    leaf, at = _highest_bound(bounds, count, first), -1
    nobody = len(blocked)
    best, highest = nobody, -np.inf
    while at < count:
        bound = bounds[leaf]
        if bound > highest or (bound == highest and first[leaf] < best):
            state, positions = states[leaf], members[leaf]
            score(state, positions, size[leaf], terms[leaf], ask, parameters, scores)
            if scorer.floats:
                rounded(scores, size[leaf])
            for slot in range(size[leaf]):
                node, value = positions[slot], scores[slot]
                if (value > highest or (value == highest and node < best)) and not blocked[node]:
                    fits = True
                    for resource in range(ask.shape[1]):
                        left = state[0, resource, slot] - state[1, resource, slot]
                        fits &= ask[1, resource] <= 0 or left >= ask[1, resource]
                    if fits:
                        best, highest = node, value
            bounds[leaf] = -np.inf
        at += 1
        leaf = at
    return int(best) if best < nobody else -1


@compiled
def _exclude_leaves(
    bounds: FloatArray,
    count: int,
    boxes: IntArray,
    size: IntArray,
    prune: bool,
    ask: IntArray,
    more: float,
) -> None:
    """Exclude leaves without nodes or room; raise the other bounds by what rounding may add."""
    for leaf in range(count):
        bounds[leaf] = bounds[leaf] + more if size[leaf] > 0 else -np.inf
    if prune:
        for resource in range(ask.shape[1]):
            wanted = ask[1, resource]
            if wanted > 0:
                for leaf in range(count):
                    room = boxes[3, resource, leaf] - boxes[0, resource, leaf]
                    bounds[leaf] = bounds[leaf] if room >= wanted else -np.inf


@compiled
def _highest_bound(bounds: FloatArray, count: int, first: IntArray) -> int:
    """The leaf of the highest bound; among equals the one with the lowest position."""
    best = 0
    for leaf in range(1, count):
        if bounds[leaf] > bounds[best] or (
            bounds[leaf] == bounds[best] and first[leaf] < first[best]
        ):
            best = leaf
    return best
