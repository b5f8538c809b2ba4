"""An index of node states: nodes whose sums and sizes are alike share a leaf.

A leaf holds a number of nodes side by side that grows with the root of all, and knows the box of
their states and the lowest position among them. A tree of cuts leads from a state to its leaf; a
full leaf is cut at the median of its widest side, or by position where all states
in it are the same. Sides are measured in fractions of capacity, sizes in fractions of the largest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.fast.jit import compiled

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

#: Positions in ``Leaves.counts``.
LEAVES, CUTS, ROOT, MOVES = 0, 1, 2, 3

#: In place of the number of moves: the index does not hold. It is made once containers that would
#: have used it outnumber others by this many, or at once when it held until now.
OWED = -64


class Leaves(NamedTuple):
    """The index; a child below 0 is leaf ``-child - 1``, any other a cut.

    Parameters
    ----------
    states : int64, shape (leaves, 4, resources, slots)
        The state of each member, beside one another.
    members : int64, shape (leaves, slots)
    size, first : int64, shape (leaves,)
        Number of members, lowest position among them.
    boxes : int64, shape (4, resources, leaves)
        Least and most sum, least and most allocatable.
    home : int64, shape (nodes, 2)
        The leaf of each node, and its slot.
    parent : int64, shape (leaves, 2)
        Cut and side that lead to a leaf.
    side : int64, shape (cuts, 3)
        What is compared, child below the cut, child at or above it.
    cut : float64, shape (cuts,)
    place : float64, shape (nodes, 2 * resources + 1)
        What is compared, of each node: sums over capacity, sizes over the largest, position.
    counts : int64, shape (4,)
    """

    states: IntArray
    members: IntArray
    size: IntArray
    first: IntArray
    boxes: IntArray
    home: IntArray
    parent: IntArray
    side: IntArray
    cut: FloatArray
    place: FloatArray
    counts: IntArray


def empty_leaves(allocatable: IntArray) -> Leaves:
    """An index without nodes, for nodes of these sizes, shape (resources, nodes)."""
    resources, nodes = allocatable.shape
    slots = max(32, int(0.6 * nodes**0.5))
    room = 64 + 6 * (nodes // slots + 1)
    place = np.zeros((nodes, 2 * resources + 1))
    place[:, resources:-1] = allocatable.T / np.maximum(allocatable.max(axis=1), 1)
    place[:, -1] = np.arange(nodes)
    return Leaves(
        states=np.zeros((room, 4, resources, slots), np.int64),
        members=np.zeros((room, slots), np.int64),
        size=np.zeros(room, np.int64),
        first=np.zeros(room, np.int64),
        boxes=np.zeros((4, resources, room), np.int64),
        home=np.zeros((nodes, 2), np.int64),
        parent=np.zeros((room, 2), np.int64),
        side=np.zeros((room, 3), np.int64),
        cut=np.zeros(room),
        place=place,
        counts=np.zeros(4, np.int64),
    )


@compiled
def fill(leaves: Leaves, state: IntArray, sums: int) -> None:
    """Index every node anew, by row ``sums`` of the state, shape (4, resources, nodes)."""
    leaves.counts[LEAVES], leaves.counts[CUTS], leaves.counts[ROOT] = 1, 0, -1
    leaves.counts[MOVES] = 0
    leaves.parent[0, 0] = -1
    leaves.size[0] = 0
    _measure(leaves, 0, sums)
    for node in range(state.shape[2]):
        _locate(leaves.place, node, state, sums)
        _insert(leaves, node, state, sums)


@compiled
def move(leaves: Leaves, node: int, state: IntArray, sums: int) -> None:
    """Bring the index up to date after the sums of a node changed.

    Cuts suit the states they were made for, those by position most of all: the index is made anew
    after a number of moves that is a share of the nodes, so that a move's part of it stays small.
    """
    moves = leaves.counts[MOVES] + 1
    if moves > 64 + state.shape[2] // 2 or leaves.counts[LEAVES] == len(leaves.size):
        leaves.counts[MOVES] = OWED
        return
    leaves.counts[MOVES] = moves
    _locate(leaves.place, node, state, sums)
    old, slot = leaves.home[node, 0], leaves.home[node, 1]
    if _route(leaves, node) == old:
        _put(leaves, old, slot, node, state, node)
        _measure(leaves, old, sums)
        return
    last = leaves.size[old] - 1
    leaves.size[old] = last
    if slot != last:
        _put(leaves, old, slot, leaves.members[old, last], leaves.states[old], last)
    _measure(leaves, old, sums)
    _insert(leaves, node, state, sums)


@compiled
def _locate(place: FloatArray, node: int, state: IntArray, sums: int) -> None:
    for resource in range(state.shape[1]):
        place[node, resource] = state[sums, resource, node] / max(state[0, resource, node], 1)


@compiled
def _route(leaves: Leaves, node: int) -> int:
    place, side, cut, child = leaves.place, leaves.side, leaves.cut, leaves.counts[ROOT]
    while child >= 0:
        child = side[child, 2 if place[node, side[child, 0]] >= cut[child] else 1]
    return int(-child - 1)


@compiled
def _put(leaves: Leaves, leaf: int, slot: int, node: int, source: IntArray, at: int) -> None:
    """Put a node into a slot, its state from column ``at`` of the source."""
    leaves.members[leaf, slot] = node
    leaves.home[node, 0], leaves.home[node, 1] = leaf, slot
    states = leaves.states
    for kind in range(4):
        for resource in range(source.shape[1]):
            states[leaf, kind, resource, slot] = source[kind, resource, at]


@compiled
def _insert(leaves: Leaves, node: int, state: IntArray, sums: int) -> None:
    leaf = _route(leaves, node)
    slot = leaves.size[leaf]
    _put(leaves, leaf, slot, node, state, node)
    leaves.size[leaf] = slot + 1
    leaves.first[leaf] = min(leaves.first[leaf], node)
    boxes = leaves.boxes
    for resource in range(state.shape[1]):
        total, size = state[sums, resource, node], state[0, resource, node]
        boxes[0, resource, leaf] = min(boxes[0, resource, leaf], total)
        boxes[1, resource, leaf] = max(boxes[1, resource, leaf], total)
        boxes[2, resource, leaf] = min(boxes[2, resource, leaf], size)
        boxes[3, resource, leaf] = max(boxes[3, resource, leaf], size)
    if slot + 1 == leaves.members.shape[1]:
        _split(leaves, leaf, sums)


@compiled
def _measure(leaves: Leaves, leaf: int, sums: int) -> None:
    """Recompute what is known of a leaf from its members."""
    states, size = leaves.states[leaf], leaves.size[leaf]
    for resource in range(states.shape[1]):
        for kind, at in ((sums, 0), (0, 2)):
            low, high = 2**62, -(2**62)
            for slot in range(size):
                low = min(low, states[kind, resource, slot])
                high = max(high, states[kind, resource, slot])
            leaves.boxes[at, resource, leaf] = low
            leaves.boxes[at + 1, resource, leaf] = high
    first = len(leaves.home)
    for slot in range(size):
        first = min(first, leaves.members[leaf, slot])
    leaves.first[leaf] = first


@compiled
def _split(leaves: Leaves, leaf: int, sums: int) -> None:
    """Cut a full leaf in two; both parts get members, since the keys are not all the same."""
    members, states = leaves.members[leaf], leaves.states[leaf]
    what = _widest(leaves.place, members)
    keys = np.empty(len(members))
    for slot in range(len(members)):
        keys[slot] = leaves.place[members[slot], what]
    middle = _middle(np.sort(keys))
    new = _fork(leaves, leaf, what, middle)
    low, high = 0, 0
    for slot in range(len(members)):
        if keys[slot] >= middle:
            _put(leaves, new, high, members[slot], states, slot)
            high += 1
        else:
            if low != slot:
                _put(leaves, leaf, low, members[slot], states, slot)
            low += 1
    leaves.size[leaf], leaves.size[new] = low, high
    _measure(leaves, leaf, sums)
    _measure(leaves, new, sums)


@compiled
def _middle(ordered: FloatArray) -> float:
    """The median, or the least key above the lowest where half of them are the lowest."""
    at = len(ordered) // 2
    while ordered[at] == ordered[0]:
        at += 1
    return float(ordered[at])


@compiled
def _fork(leaves: Leaves, leaf: int, what: int, middle: float) -> int:
    """Put a cut where the leaf was, the leaf below it and a new one above."""
    cut, new = leaves.counts[CUTS], leaves.counts[LEAVES]
    leaves.cut[cut] = middle
    leaves.side[cut, 0], leaves.side[cut, 1], leaves.side[cut, 2] = what, -leaf - 1, -new - 1
    above, side = leaves.parent[leaf, 0], leaves.parent[leaf, 1]
    if above < 0:
        leaves.counts[ROOT] = cut
    else:
        leaves.side[above, side] = cut
    leaves.parent[leaf, 0], leaves.parent[leaf, 1] = cut, 1
    leaves.parent[new, 0], leaves.parent[new, 1] = cut, 2
    leaves.counts[CUTS] += 1
    leaves.counts[LEAVES] += 1
    return int(new)


@compiled
def _widest(place: FloatArray, members: IntArray) -> int:
    """What varies most over a full leaf; position where nothing else does."""
    position = place.shape[1] - 1
    best, width = position, 0.0
    for what in range(position):
        low = high = place[members[0], what]
        for slot in range(len(members)):
            low = min(low, place[members[slot], what])
            high = max(high, place[members[slot], what])
        if high - low > width:
            best, width = what, high - low
    return best
