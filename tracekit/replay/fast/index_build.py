"""Building the index of node states over all nodes at once."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.jit import compiled
from tracekit.replay.fast.index import (
    CUTS,
    LEAVES,
    ROOT,
    UPDATES,
    NodeIndex,
    add_cut,
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
