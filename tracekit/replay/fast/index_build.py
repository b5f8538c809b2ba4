"""The index of node states: built over all nodes at once, then kept up to date node by node."""

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.jit import compiled
from tracekit.replay.fast.index import (
    CUTS,
    LEAVES,
    ROOT,
    STALE,
    UPDATES,
    NodeIndex,
    add_cut,
    find_leaf,
    measure_leaf,
    put_node,
    set_keys,
    split_value,
    widest_key,
)

#: About how many nodes tell where to cut.
_SAMPLE = 64


@compiled
def build_index(index: NodeIndex, state: IntArray, terms: FloatArray, sums: int) -> None:
    """Build the index of all nodes, by views and row ``sums`` of the state.

    All nodes are cut in two, then each part, until a part fills at most three quarters of a leaf.
    A sample of the nodes gives the median, which is quicker than all and nearly as even.

    Parameters
    ----------
    state : int64, shape (4, resources, nodes)
    """
    nodes, slots, room = state.shape[2], index.members.shape[1], len(index.size)
    index.counts[LEAVES], index.counts[CUTS], index.counts[ROOT] = 1, 0, -1
    index.counts[UPDATES] = 0
    index.parent[0, 0] = -1
    order = np.empty(nodes, np.int64)
    for node in range(nodes):
        order[node] = node
        set_keys(index, node, state, terms, sums)
    waiting = np.empty((room, 3), np.int64)
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = 0, nodes, 0
    parts = 1
    while parts > 0:
        parts -= 1
        start, end, leaf = waiting[parts]
        if 4 * (end - start) <= 3 * slots:
            _fill_leaf(index, leaf, order[start:end], state, terms, sums)
            continue
        short = 2 * index.counts[LEAVES] > room
        key, threshold = _choose_cut(index.keys, order[start:end], short)
        new = add_cut(index, leaf, key, threshold)
        border = start + _partition(index.keys, order[start:end], key, threshold)
        waiting[parts, 0], waiting[parts, 1], waiting[parts, 2] = start, border, leaf
        waiting[parts + 1, 0], waiting[parts + 1, 1], waiting[parts + 1, 2] = border, end, new
        parts += 2


@compiled
def _fill_leaf(
    index: NodeIndex, leaf: int, nodes: IntArray, state: IntArray, terms: FloatArray, sums: int
) -> None:
    """Put these nodes into an empty leaf."""
    for slot in range(len(nodes)):
        put_node(index, leaf, slot, nodes[slot], state, terms, nodes[slot])
    index.size[leaf] = len(nodes)
    measure_leaf(index, leaf, sums)


@compiled
def _choose_cut(keys: FloatArray, nodes: IntArray, short: bool) -> tuple[int, float]:
    """The key and the threshold of a cut that leaves nodes on both sides.

    Where leaves run short the cut is by position, in halves.
    """
    position = keys.shape[1] - 1
    some = nodes[:: max(len(nodes) // _SAMPLE, 1)]
    key = position if short else widest_key(keys, some)
    if key == position:
        if not short:
            key = widest_key(keys, nodes)
        some = nodes
    values = np.empty(len(some))
    for at in range(len(some)):
        values[at] = keys[some[at], key]
    return key, split_value(np.sort(values))


@compiled
def _partition(keys: FloatArray, nodes: IntArray, key: int, threshold: float) -> int:
    """Bring the nodes below the threshold to the front; how many they are."""
    low, high = 0, len(nodes) - 1
    while low <= high:
        if keys[nodes[low], key] < threshold:
            low += 1
        else:
            nodes[low], nodes[high] = nodes[high], nodes[low]
            high -= 1
    return low


@compiled
def update_node(index: NodeIndex, node: int, state: IntArray, terms: FloatArray, sums: int) -> None:
    """Bring the index up to date after the state or the terms of a node changed.

    Cuts fit the states for which they were made, and less so the more nodes change. So the index
    goes stale after a number of updates that is a share of the nodes, and is then built again; the
    cost of building, spread over those updates, stays small.
    """
    updates = index.counts[UPDATES] + 1
    if updates > 64 + state.shape[2] // 2 or index.counts[LEAVES] == len(index.size):
        index.counts[UPDATES] = STALE
        return
    index.counts[UPDATES] = updates
    set_keys(index, node, state, terms, sums)
    old, slot = index.location[node, 0], index.location[node, 1]
    if find_leaf(index, node) == old:
        put_node(index, old, slot, node, state, terms, node)
        measure_leaf(index, old, sums)
        return
    last = index.size[old] - 1
    index.size[old] = last
    if slot != last:
        other = index.members[old, last]
        put_node(index, old, slot, other, index.states[old], index.terms[old], last)
    measure_leaf(index, old, sums)
    _insert(index, node, state, terms, sums)


@compiled
def _insert(index: NodeIndex, node: int, state: IntArray, terms: FloatArray, sums: int) -> None:
    """Put a node into the leaf of its keys, and split the leaf when that fills it."""
    leaf = find_leaf(index, node)
    slot = index.size[leaf]
    put_node(index, leaf, slot, node, state, terms, node)
    index.size[leaf] = slot + 1
    index.first[leaf] = min(index.first[leaf], node)
    boxes = index.boxes
    for resource in range(state.shape[1]):
        total, size = state[sums, resource, node], state[0, resource, node]
        boxes[0, resource, leaf] = min(boxes[0, resource, leaf], total)
        boxes[1, resource, leaf] = max(boxes[1, resource, leaf], total)
        boxes[2, resource, leaf] = min(boxes[2, resource, leaf], size)
        boxes[3, resource, leaf] = max(boxes[3, resource, leaf], size)
    ranges = index.ranges
    for view in range(ranges.shape[1]):
        ranges[0, view, leaf] = min(ranges[0, view, leaf], terms[view, node])
        ranges[1, view, leaf] = max(ranges[1, view, leaf], terms[view, node])
    if slot + 1 == index.members.shape[1]:
        _split(index, leaf, sums)


@compiled
def _split(index: NodeIndex, leaf: int, sums: int) -> None:
    """Cut a full leaf in two; both parts get nodes, since positions always differ."""
    members, states, terms = index.members[leaf], index.states[leaf], index.terms[leaf]
    key = widest_key(index.keys, members)
    values = np.empty(len(members))
    for slot in range(len(members)):
        values[slot] = index.keys[members[slot], key]
    threshold = split_value(np.sort(values))
    new = add_cut(index, leaf, key, threshold)
    low, high = 0, 0
    for slot in range(len(members)):
        if values[slot] >= threshold:
            put_node(index, new, high, members[slot], states, terms, slot)
            high += 1
        else:
            if low != slot:
                put_node(index, leaf, low, members[slot], states, terms, slot)
            low += 1
    index.size[leaf], index.size[new] = low, high
    measure_leaf(index, leaf, sums)
    measure_leaf(index, new, sums)
