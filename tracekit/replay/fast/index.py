"""An index of node states: nodes that a score sees as alike share a leaf.

A leaf holds a number of nodes side by side that grows with the root of all, and knows the box of
their states and the lowest position among them. A tree of cuts leads from a state to its leaf; a
full leaf is cut at the median of its widest side, or by position where all states
in it are the same.

What is compared are sums in fractions of capacity, and a kernel's views of a node or, where it has
none, sizes in fractions of the largest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.jit import compiled

#: Positions in ``Leaves.counts``.
LEAVES, CUTS, ROOT, MOVES = 0, 1, 2, 3

#: In place of the number of moves: the index does not hold. It is made once containers that would
#: have used it outnumber others by this many, or at once when it held until now.
OWED = -64

#: About how many nodes tell where to cut.
_SAMPLE = 64


class Leaves(NamedTuple):
    """The index; a child below 0 is leaf ``-child - 1``, any other a cut.

    Parameters
    ----------
    states : int64, shape (leaves, 4, resources, slots)
    terms : float64, shape (leaves, terms, slots)
        State and terms of each member, beside one another.
    members : int64, shape (leaves, slots)
    size, first : int64, shape (leaves,)
        Number of members, lowest position among them.
    boxes : int64, shape (4, resources, leaves)
        Least and most sum, least and most allocatable.
    ranges : float64, shape (2, views, leaves)
        Least and most of each view; views are the first of the terms.
    home : int64, shape (nodes, 2)
        The leaf of each node, and its slot.
    parent : int64, shape (leaves, 2)
        Cut and side that lead to a leaf.
    side : int64, shape (cuts, 3)
        What is compared, child below the cut, child at or above it.
    cut : float64, shape (cuts,)
    place : float64, shape (nodes, resources + (views or resources) + 1)
        What is compared, of each node: its sums, its views or sizes, its position.
    counts : int64, shape (4,)
    """

    states: IntArray
    terms: FloatArray
    members: IntArray
    size: IntArray
    first: IntArray
    boxes: IntArray
    ranges: FloatArray
    home: IntArray
    parent: IntArray
    side: IntArray
    cut: FloatArray
    place: FloatArray
    counts: IntArray


def empty_leaves(allocatable: IntArray, terms: int = 0, views: int = 0) -> Leaves:
    """An index without nodes, for nodes of these sizes, shape (resources, nodes).

    Parameters
    ----------
    terms, views : int
        How many terms the kernel's score reads, and how many of them are views.
    """
    resources, nodes = allocatable.shape
    slots = max(32, int(0.6 * nodes**0.5))
    room = 64 + 6 * (nodes // slots + 1)
    place = np.zeros((nodes, resources + (views or resources) + 1))
    if not views:
        place[:, resources:-1] = allocatable.T / np.maximum(allocatable.max(axis=1), 1)
    place[:, -1] = np.arange(nodes)
    return Leaves(
        states=np.zeros((room, 4, resources, slots), np.int64),
        terms=np.zeros((room, terms, slots)),
        members=np.zeros((room, slots), np.int64),
        size=np.zeros(room, np.int64),
        first=np.zeros(room, np.int64),
        boxes=np.zeros((4, resources, room), np.int64),
        ranges=np.zeros((2, views, room)),
        home=np.zeros((nodes, 2), np.int64),
        parent=np.zeros((room, 2), np.int64),
        side=np.zeros((room, 3), np.int64),
        cut=np.zeros(room),
        place=place,
        counts=np.zeros(4, np.int64),
    )


@compiled
def fill(leaves: Leaves, state: IntArray, terms: FloatArray, sums: int) -> None:
    """Index every node anew, by views and row ``sums`` of the state, shape (4, resources, nodes).

    All nodes are cut in two, then each part, until a part fits a leaf with room to spare. Where to
    cut is told by some of the nodes, which is quicker than the median of all and nearly as even.
    """
    nodes, slots, room = state.shape[2], leaves.members.shape[1], len(leaves.size)
    leaves.counts[LEAVES], leaves.counts[CUTS], leaves.counts[ROOT] = 1, 0, -1
    leaves.counts[MOVES] = 0
    leaves.parent[0, 0] = -1
    order = np.empty(nodes, np.int64)
    for node in range(nodes):
        order[node] = node
        _locate(leaves, node, state, terms, sums)
    waiting = np.empty((room, 3), np.int64)
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = 0, nodes, 0
    parts = 1
    while parts > 0:
        parts -= 1
        start, end, leaf = waiting[parts]
        if 4 * (end - start) <= 3 * slots:
            _settle(leaves, leaf, order[start:end], state, terms, sums)
            continue
        crowded = 2 * leaves.counts[LEAVES] > room
        what, middle = _cut_of_many(leaves.place, order[start:end], crowded)
        new = _fork(leaves, leaf, what, middle)
        border = start + _part(leaves.place, order[start:end], what, middle)
        waiting[parts, 0], waiting[parts, 1], waiting[parts, 2] = start, border, leaf
        waiting[parts + 1, 0], waiting[parts + 1, 1], waiting[parts + 1, 2] = border, end, new
        parts += 2


@compiled
def _settle(
    leaves: Leaves, leaf: int, nodes: IntArray, state: IntArray, terms: FloatArray, sums: int
) -> None:
    """Fill a leaf with these nodes."""
    for slot in range(len(nodes)):
        _put(leaves, leaf, slot, nodes[slot], state, terms, nodes[slot])
    leaves.size[leaf] = len(nodes)
    _measure(leaves, leaf, sums)


@compiled
def _cut_of_many(place: FloatArray, nodes: IntArray, crowded: bool) -> tuple[int, float]:
    """What to compare and where to cut; both sides get nodes.

    Where leaves are running short the cut is by position, in halves.
    """
    position = place.shape[1] - 1
    some = nodes[:: max(len(nodes) // _SAMPLE, 1)]
    what = position if crowded else _widest(place, some)
    if what == position:
        if not crowded:
            what = _widest(place, nodes)
        some = nodes
    keys = np.empty(len(some))
    for at in range(len(some)):
        keys[at] = place[some[at], what]
    return what, _middle(np.sort(keys))


@compiled
def _part(place: FloatArray, nodes: IntArray, what: int, middle: float) -> int:
    """Bring the nodes below the cut to the front; how many they are."""
    low, high = 0, len(nodes) - 1
    while low <= high:
        if place[nodes[low], what] < middle:
            low += 1
        else:
            nodes[low], nodes[high] = nodes[high], nodes[low]
            high -= 1
    return low


@compiled
def move(leaves: Leaves, node: int, state: IntArray, terms: FloatArray, sums: int) -> None:
    """Bring the index up to date after the state or the terms of a node changed.

    Cuts suit the states they were made for, those by position most of all: the index is made anew
    after a number of moves that is a share of the nodes, so that a move's part of it stays small.
    """
    moves = leaves.counts[MOVES] + 1
    if moves > 64 + state.shape[2] // 2 or leaves.counts[LEAVES] == len(leaves.size):
        leaves.counts[MOVES] = OWED
        return
    leaves.counts[MOVES] = moves
    _locate(leaves, node, state, terms, sums)
    old, slot = leaves.home[node, 0], leaves.home[node, 1]
    if _route(leaves, node) == old:
        _put(leaves, old, slot, node, state, terms, node)
        _measure(leaves, old, sums)
        return
    last = leaves.size[old] - 1
    leaves.size[old] = last
    if slot != last:
        other = leaves.members[old, last]
        _put(leaves, old, slot, other, leaves.states[old], leaves.terms[old], last)
    _measure(leaves, old, sums)
    _insert(leaves, node, state, terms, sums)


@compiled
def _locate(leaves: Leaves, node: int, state: IntArray, terms: FloatArray, sums: int) -> None:
    place, resources = leaves.place, state.shape[1]
    for resource in range(resources):
        place[node, resource] = state[sums, resource, node] / max(state[0, resource, node], 1)
    for view in range(leaves.ranges.shape[1]):
        place[node, resources + view] = terms[view, node]


@compiled
def _route(leaves: Leaves, node: int) -> int:
    place, side, cut, child = leaves.place, leaves.side, leaves.cut, leaves.counts[ROOT]
    while child >= 0:
        child = side[child, 2 if place[node, side[child, 0]] >= cut[child] else 1]
    return int(-child - 1)


@compiled
def _put(
    leaves: Leaves, leaf: int, slot: int, node: int, source: IntArray, terms: FloatArray, at: int
) -> None:
    """Put a node into a slot, its state and terms from column ``at`` of where they are."""
    leaves.members[leaf, slot] = node
    leaves.home[node, 0], leaves.home[node, 1] = leaf, slot
    states = leaves.states
    for kind in range(4):
        for resource in range(source.shape[1]):
            states[leaf, kind, resource, slot] = source[kind, resource, at]
    for term in range(leaves.terms.shape[1]):
        leaves.terms[leaf, term, slot] = terms[term, at]


@compiled
def _insert(leaves: Leaves, node: int, state: IntArray, terms: FloatArray, sums: int) -> None:
    leaf = _route(leaves, node)
    slot = leaves.size[leaf]
    _put(leaves, leaf, slot, node, state, terms, node)
    leaves.size[leaf] = slot + 1
    leaves.first[leaf] = min(leaves.first[leaf], node)
    boxes = leaves.boxes
    for resource in range(state.shape[1]):
        total, size = state[sums, resource, node], state[0, resource, node]
        boxes[0, resource, leaf] = min(boxes[0, resource, leaf], total)
        boxes[1, resource, leaf] = max(boxes[1, resource, leaf], total)
        boxes[2, resource, leaf] = min(boxes[2, resource, leaf], size)
        boxes[3, resource, leaf] = max(boxes[3, resource, leaf], size)
    ranges = leaves.ranges
    for view in range(ranges.shape[1]):
        ranges[0, view, leaf] = min(ranges[0, view, leaf], terms[view, node])
        ranges[1, view, leaf] = max(ranges[1, view, leaf], terms[view, node])
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
    terms = leaves.terms[leaf]
    for view in range(leaves.ranges.shape[1]):
        least, most = np.inf, -np.inf
        for slot in range(size):
            least = min(least, terms[view, slot])
            most = max(most, terms[view, slot])
        leaves.ranges[0, view, leaf], leaves.ranges[1, view, leaf] = least, most
    first = len(leaves.home)
    for slot in range(size):
        first = min(first, leaves.members[leaf, slot])
    leaves.first[leaf] = first


@compiled
def _split(leaves: Leaves, leaf: int, sums: int) -> None:
    """Cut a full leaf in two; both parts get members, since the keys are not all the same."""
    members, states, terms = leaves.members[leaf], leaves.states[leaf], leaves.terms[leaf]
    what = _widest(leaves.place, members)
    keys = np.empty(len(members))
    for slot in range(len(members)):
        keys[slot] = leaves.place[members[slot], what]
    middle = _middle(np.sort(keys))
    new = _fork(leaves, leaf, what, middle)
    low, high = 0, 0
    for slot in range(len(members)):
        if keys[slot] >= middle:
            _put(leaves, new, high, members[slot], states, terms, slot)
            high += 1
        else:
            if low != slot:
                _put(leaves, leaf, low, members[slot], states, terms, slot)
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
