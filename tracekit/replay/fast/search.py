"""The index of nodes, and the search for the best node in it or among all nodes.

The index is a k-d tree: nodes with similar states share a leaf. The number of slots of a leaf grows
with the square root of the cluster's size. Each leaf has the bounding box of its nodes' states and
their lowest position. A tree of cuts leads from the keys of a node to its leaf; a cut compares one
key with a threshold. A full leaf is divided at the median of the key that varies most, or by
position where all other keys are equal.

The keys of a node are its sums as fractions of the capacity, then the kernel's views of it (without
views its sizes as fractions of the largest), then its position.
"""

from typing import Any, NamedTuple

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.jit import compiled
from tracekit.policy.view.snapshot import DECIMALS

_SCALE = 10.0**DECIMALS

#: Positions in ``NodeIndex.counts``.
LEAVES, CUTS, ROOT, UPDATES = 0, 1, 2, 3

#: A negative count of updates means that the index is not valid. Each search that would have used
#: it decreases the count, each container placed in a run of its shape increases it, and a search
#: that finds this value builds the index. A stale index has this value, so the next search builds.
STALE = -64


class NodeIndex(NamedTuple):
    """A k-d tree that groups nodes by their state, as arrays; ``empty_index`` makes it.

    A child in the tree is the leaf ``-child - 1`` if it is below 0, else a row of ``cuts``.

    Parameters
    ----------
    states : int64, shape (leaves, 4, resources, slots)
    terms : float64, shape (leaves, terms, slots)
        State and terms of the node in each slot.
    members : int64, shape (leaves, slots)
        The node in each slot.
    size, first : int64, shape (leaves,)
        Number of nodes in the leaf, and the lowest position among them.
    boxes : int64, shape (4, resources, leaves)
        Least and most sum, least and most allocatable.
    ranges : float64, shape (2, views, leaves)
        Least and most of each view; views are the first of the terms.
    location : int64, shape (nodes, 2)
        The leaf of each node, and its slot.
    parent : int64, shape (leaves, 2)
        The cut above a leaf, and the column of ``cuts`` that leads to it.
    cuts : int64, shape (cuts, 3)
        The key that is compared, the child below the threshold, the child at or above it.
    thresholds : float64, shape (cuts,)
    keys : float64, shape (nodes, resources + (views or resources) + 1)
        Sums over sizes, then views (or relative sizes), then the position of the node.
    counts : int64, shape (4,)
        The numbers of leaves and of cuts, the root (a child), the updates since the last build.
    """

    states: IntArray
    terms: FloatArray
    members: IntArray
    size: IntArray
    first: IntArray
    boxes: IntArray
    ranges: FloatArray
    location: IntArray
    parent: IntArray
    cuts: IntArray
    thresholds: FloatArray
    keys: FloatArray
    counts: IntArray


def empty_index(allocatable: IntArray, terms: int = 0, views: int = 0) -> NodeIndex:
    """Return an index without nodes, for nodes of these sizes, shape (resources, nodes).

    Parameters
    ----------
    terms, views : int
        The number of terms that the kernel's score reads, and of views among them.
    """
    resources, nodes = allocatable.shape
    slots = max(32, int(0.6 * nodes**0.5))
    room = 64 + 6 * (nodes // slots + 1)
    keys = np.zeros((nodes, resources + (views or resources) + 1))
    if not views:
        keys[:, resources:-1] = allocatable.T / np.maximum(allocatable.max(axis=1), 1)
    keys[:, -1] = np.arange(nodes)
    return NodeIndex(
        states=np.zeros((room, 4, resources, slots), np.int64),
        terms=np.zeros((room, terms, slots)),
        members=np.zeros((room, slots), np.int64),
        size=np.zeros(room, np.int64),
        first=np.zeros(room, np.int64),
        boxes=np.zeros((4, resources, room), np.int64),
        ranges=np.zeros((2, views, room)),
        location=np.zeros((nodes, 2), np.int64),
        parent=np.zeros((room, 2), np.int64),
        cuts=np.zeros((room, 3), np.int64),
        thresholds=np.zeros(room),
        keys=keys,
        counts=np.zeros(4, np.int64),
    )


@compiled
def find_leaf(index: NodeIndex, node: int) -> int:
    """Return the leaf that a node's keys lead to."""
    keys, cuts, thresholds = index.keys, index.cuts, index.thresholds
    child = index.counts[ROOT]
    while child >= 0:
        child = cuts[child, 2 if keys[node, cuts[child, 0]] >= thresholds[child] else 1]
    return int(-child - 1)


@compiled
def set_keys(index: NodeIndex, node: int, state: IntArray, terms: FloatArray, sums: int) -> None:
    """Write a node's keys from its state and terms; its position stays."""
    keys, resources = index.keys, state.shape[1]
    for resource in range(resources):
        keys[node, resource] = state[sums, resource, node] / max(state[0, resource, node], 1)
    for view in range(index.ranges.shape[1]):
        keys[node, resources + view] = terms[view, node]


@compiled
def put_node(
    index: NodeIndex, leaf: int, slot: int, node: int, source: IntArray, terms: FloatArray, at: int
) -> None:
    """Put a node into a slot; its state and terms come from column ``at`` of the sources."""
    index.members[leaf, slot] = node
    index.location[node, 0], index.location[node, 1] = leaf, slot
    states = index.states
    for kind in range(4):
        for resource in range(source.shape[1]):
            states[leaf, kind, resource, slot] = source[kind, resource, at]
    for term in range(index.terms.shape[1]):
        index.terms[leaf, term, slot] = terms[term, at]


@compiled
def measure_leaf(index: NodeIndex, leaf: int, sums: int) -> None:
    """Recompute a leaf's box, ranges and lowest position from its nodes."""
    states, size = index.states[leaf], index.size[leaf]
    for resource in range(states.shape[1]):
        for kind, at in ((sums, 0), (0, 2)):
            low, high = 2**62, -(2**62)
            for slot in range(size):
                low = min(low, states[kind, resource, slot])
                high = max(high, states[kind, resource, slot])
            index.boxes[at, resource, leaf] = low
            index.boxes[at + 1, resource, leaf] = high
    terms = index.terms[leaf]
    for view in range(index.ranges.shape[1]):
        least, most = np.inf, -np.inf
        for slot in range(size):
            least = min(least, terms[view, slot])
            most = max(most, terms[view, slot])
        index.ranges[0, view, leaf], index.ranges[1, view, leaf] = least, most
    first = len(index.location)
    for slot in range(size):
        first = min(first, index.members[leaf, slot])
    index.first[leaf] = first


@compiled
def add_cut(index: NodeIndex, leaf: int, key: int, threshold: float) -> int:
    """Put a cut above a leaf, and return the new leaf for the nodes at or above the threshold."""
    cut, new = index.counts[CUTS], index.counts[LEAVES]
    index.thresholds[cut] = threshold
    index.cuts[cut, 0], index.cuts[cut, 1], index.cuts[cut, 2] = key, -leaf - 1, -new - 1
    above, side = index.parent[leaf, 0], index.parent[leaf, 1]
    if above < 0:
        index.counts[ROOT] = cut
    else:
        index.cuts[above, side] = cut
    index.parent[leaf, 0], index.parent[leaf, 1] = cut, 1
    index.parent[new, 0], index.parent[new, 1] = cut, 2
    index.counts[CUTS] += 1
    index.counts[LEAVES] += 1
    return int(new)


@compiled
def widest_key(keys: FloatArray, members: IntArray) -> int:
    """Return the key with the widest range over these nodes; position where no other key varies."""
    position = keys.shape[1] - 1
    best, width = position, 0.0
    for key in range(position):
        low = high = keys[members[0], key]
        for slot in range(len(members)):
            low = min(low, keys[members[slot], key])
            high = max(high, keys[members[slot], key])
        if high - low > width:
            best, width = key, high - low
    return best


@compiled
def split_value(ordered: FloatArray) -> float:
    """Return the median of sorted values, or the first value above the lowest if it is larger."""
    at = len(ordered) // 2
    while ordered[at] == ordered[0]:
        at += 1
    return float(ordered[at])


class Scorer(NamedTuple):
    """A ``Kernel`` with the terms of all nodes, in the form that compiled code takes.

    The fields are those of ``Kernel``, except two. ``terms`` has numbers of each node that the
    score reads, shape (terms, nodes). ``follows`` says whether the kernel has a function
    ``placed``.
    """

    score: Any
    bound: Any
    placed: Any
    follows: bool
    parameters: FloatArray
    terms: FloatArray
    floats: bool


class Workspace(NamedTuple):
    """Scratch arrays for scoring, shape (nodes,), or (leaves,) for ``bounds``.

    ``every`` holds the positions of all nodes.
    """

    every: IntArray
    room: BoolArray
    scores: FloatArray
    bounds: FloatArray


def workspace(nodes: int, index: NodeIndex) -> Workspace:
    """Return scratch arrays for a number of nodes, and for the leaves of an index."""
    count, slots = index.members.shape
    return Workspace(
        every=np.arange(nodes),
        room=np.zeros(nodes, np.bool_),
        scores=np.zeros(max(nodes, slots)),
        bounds=np.zeros(count),
    )


@compiled
def rounded(scores: FloatArray, count: int) -> None:
    """Round the first ``count`` scores in place, as the plain engine does to compare them."""
    for at in range(count):
        scores[at] = np.rint(scores[at] * _SCALE) / _SCALE


@compiled
def as_compared(score: float, floats: bool) -> float:
    """Return a score rounded, as it is compared, if scores are floats; else the score itself."""
    return np.rint(score * _SCALE) / _SCALE if floats else score


@compiled
def find_room(state: IntArray, amounts: IntArray, blocked: BoolArray, room: BoolArray) -> None:
    """Write into ``room`` whether each node has room for the container and is not blocked."""
    for node in range(len(room)):
        room[node] = not blocked[node]
    for resource in range(state.shape[1]):
        wanted = amounts[1, resource]
        if wanted > 0:
            size, taken = state[0, resource], state[1, resource]
            for node in range(len(room)):
                room[node] &= size[node] - taken[node] >= wanted


@compiled
def evaluate(
    scorer: Scorer, state: IntArray, amounts: IntArray, blocked: BoolArray, work: Workspace
) -> None:
    """Write the score of every node into ``work.scores``, and its room into ``work.room``."""
    nodes, scores = state.shape[2], work.scores
    find_room(state, amounts, blocked, work.room)
    scorer.score(state, work.every, nodes, scorer.terms, amounts, scorer.parameters, scores)
    if scorer.floats:
        rounded(scores, nodes)


@compiled
def scan(
    scorer: Scorer, state: IntArray, amounts: IntArray, blocked: BoolArray, work: Workspace
) -> int:
    """Return the first node with the highest score, by scoring all; -1 where none has room."""
    evaluate(scorer, state, amounts, blocked, work)
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
    amounts: IntArray,
    blocked: BoolArray,
    work: Workspace,
) -> int:
    """Return the first node with the highest score; -1 where none has room.

    Only leaves that may contain the node are scored. ``prune`` means that the boxes have real
    requests, so that leaves without room are left out. The function is not divided, because a call
    with so many arrays costs as much as scoring a leaf.
    """
    score, terms, parameters = scorer.score, index.terms, scorer.parameters
    states, size, first, members = index.states, index.size, index.first, index.members
    scores, bounds, count = work.scores, work.bounds, index.counts[LEAVES]
    scorer.bound(index.boxes, index.ranges, count, first, amounts, parameters, bounds)
    _exclude_leaves(
        bounds, count, index.boxes, size, prune, amounts, 1.0 / _SCALE if scorer.floats else 0.0
    )
    leaf, at = _highest_bound(bounds, count, first), -1
    nobody = len(blocked)
    best, highest = nobody, -np.inf
    while at < count:
        bound = bounds[leaf]
        if bound > highest or (bound == highest and first[leaf] < best):
            state, positions = states[leaf], members[leaf]
            score(state, positions, size[leaf], terms[leaf], amounts, parameters, scores)
            if scorer.floats:
                rounded(scores, size[leaf])
            for slot in range(size[leaf]):
                node, value = positions[slot], scores[slot]
                if (value > highest or (value == highest and node < best)) and not blocked[node]:
                    fits = True
                    for resource in range(amounts.shape[1]):
                        left = state[0, resource, slot] - state[1, resource, slot]
                        fits &= amounts[1, resource] <= 0 or left >= amounts[1, resource]
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
    amounts: IntArray,
    more: float,
) -> None:
    """Exclude leaves without nodes or room, and raise the other bounds by the rounding ``more``."""
    for leaf in range(count):
        bounds[leaf] = bounds[leaf] + more if size[leaf] > 0 else -np.inf
    if prune:
        for resource in range(amounts.shape[1]):
            wanted = amounts[1, resource]
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
