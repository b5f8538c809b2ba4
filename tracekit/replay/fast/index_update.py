"""Keeping the index of node states up to date, node by node."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.jit import compiled
from tracekit.replay.fast.index import (
    LEAVES,
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
