"""The compiled loop for large clusters: it searches an index of nodes.

For a run of containers of one shape, every node is scored once, and then only the node that
changed. The scores are the leaves of a segment tree of maxima: the first of the best nodes is found
from the root, and a changed score updates one path.
"""

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.jit import compiled
from tracekit.replay.fast.scanning import Choice, Nodes, Shapes, Window, add_container, choose
from tracekit.replay.fast.search import (
    CUTS,
    LEAVES,
    ROOT,
    STALE,
    UPDATES,
    NodeIndex,
    Scorer,
    Workspace,
    add_cut,
    evaluate,
    find_leaf,
    measure_leaf,
    put_node,
    rounded,
    search,
    set_keys,
    split_value,
    widest_key,
)

#: The least length of a run of one shape for which a tree is built.
WORTHWHILE = 16


@compiled
def build_tree(
    scorer: Scorer, state: IntArray, amounts: IntArray, blocked: BoolArray, work: Workspace
) -> FloatArray:
    """Return a segment tree of maxima over the scores of all nodes; -inf for no room.

    Returns
    -------
    float64, shape (2 * width,)
        Vertex 1 is the root. Vertex ``v`` is the maximum of ``2 v`` and ``2 v + 1``; the leaf of
        node ``n`` is ``width + n``.
    """
    evaluate(scorer, state, amounts, blocked, work)
    width = 1
    while width < state.shape[2]:
        width *= 2
    tree = np.full(2 * width, -np.inf)
    for node in range(state.shape[2]):
        if work.room[node]:
            tree[width + node] = work.scores[node]
    for vertex in range(width - 1, 0, -1):
        tree[vertex] = max(tree[2 * vertex], tree[2 * vertex + 1])
    return tree


@compiled
def first_maximum(tree: FloatArray) -> int:
    """Return the first node with the highest score in the tree; -1 where no node has room."""
    width = len(tree) // 2
    if tree[1] == -np.inf:
        return -1
    vertex = 1
    while vertex < width:
        vertex *= 2
        if tree[vertex] < tree[1]:
            vertex += 1
    return vertex - width


@compiled
def set_score(tree: FloatArray, node: int, score: float) -> None:
    """Write a node's score into the tree, and update the maxima above it."""
    vertex = len(tree) // 2 + node
    tree[vertex] = score
    while vertex > 1:
        vertex //= 2
        tree[vertex] = max(tree[2 * vertex], tree[2 * vertex + 1])


@compiled
def place_run(
    scorer: Scorer,
    tree: FloatArray,
    state: IntArray,
    containers: IntArray,
    amounts: IntArray,
    chosen: IntArray,
) -> None:
    """Place ``len(chosen)`` containers of one shape, i.e. with equal requests and limits.

    ``chosen`` gets the node of each, -1 for no room. The function is not divided, because calls
    with so many arrays are slow.
    """
    score, parameters, terms = scorer.score, scorer.parameters, scorer.terms
    block, term = np.zeros((4, amounts.shape[1], 1), np.int64), np.zeros((len(terms), 1))
    position, value = np.zeros(1, np.int64), np.zeros(1)
    for at in range(len(chosen)):
        node = first_maximum(tree)
        chosen[at] = node
        if node < 0:
            continue
        containers[node] += 1
        fits = True
        for resource in range(amounts.shape[1]):
            block[0, resource, 0] = state[0, resource, node]
            for kind in range(1, 4):
                state[kind, resource, node] += amounts[kind, resource]
                block[kind, resource, 0] = state[kind, resource, node]
            left = block[0, resource, 0] - block[1, resource, 0]
            fits &= amounts[1, resource] <= 0 or left >= amounts[1, resource]
        if scorer.follows:
            scorer.placed(terms, state, node, amounts, parameters)
        for row in range(len(terms)):
            term[row, 0] = terms[row, node]
        position[0], value[0] = node, -np.inf
        if fits:
            score(block, position, 1, term, amounts, parameters, value)
            if scorer.floats:
                rounded(value, 1)
        set_score(tree, node, value[0])


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
    chosen: IntArray,
) -> None:
    """Place containers one after another, and write their nodes into ``chosen``; -1 for no room.

    ``order`` has the shape of each container, as a row of ``shapes``.
    """
    at = 0
    while at < len(order):
        shape, amounts, run = order[at], shapes.asks[order[at]], 1
        if shapes.refused[shape]:
            node = -1
        elif choice.window or shapes.skipped[shape] or choice.reservoir:
            node = choose(scorer, choice, nodes, work, window, shapes, shape, rng)
        else:
            run = _run_length(order, at)
            if run >= WORTHWHILE:
                if index.counts[UPDATES] < 0:
                    index.counts[UPDATES] = min(index.counts[UPDATES] + run, -1)
                _place_by_tree(scorer, index, choice, nodes, work, amounts, chosen[at : at + run])
                node = chosen[at + run - 1]
            elif choice.indexed and _is_usable(index, choice, nodes, scorer.terms):
                run = 1
                node = search(scorer, index, choice.prune, amounts, nodes.blocked, work)
            else:
                run = 1
                node = choose(scorer, choice, nodes, work, window, shapes, shape, rng)
        if run == 1:
            chosen[at] = node
            if node >= 0:
                add_container(scorer, nodes, node, amounts)
                if choice.indexed and index.counts[UPDATES] >= 0:
                    update_node(index, node, nodes.state, scorer.terms, choice.sums)
        shapes.refused[shape] = node < 0
        at += run


@compiled
def update_terms(scorer: Scorer, nodes: Nodes, amounts: IntArray, which: IntArray) -> None:
    """Compute the kernel's terms again for nodes that containers left."""
    for node in which:
        scorer.placed(scorer.terms, nodes.state, node, amounts, scorer.parameters)


@compiled
def update_nodes(
    index: NodeIndex, choice: Choice, nodes: Nodes, terms: FloatArray, which: IntArray
) -> None:
    """Update the index for nodes whose state or terms changed."""
    if choice.indexed and index.counts[UPDATES] >= 0:
        for node in which:
            if node >= 0 and index.counts[UPDATES] >= 0:
                update_node(index, node, nodes.state, terms, choice.sums)


@compiled
def _is_usable(index: NodeIndex, choice: Choice, nodes: Nodes, terms: FloatArray) -> bool:
    """Whether the index may be searched; builds it after enough requests, see ``STALE``."""
    if index.counts[UPDATES] < 0:
        index.counts[UPDATES] -= 1
        if index.counts[UPDATES] > STALE:
            return False
        build_index(index, nodes.state, terms, choice.sums)
    return True


@compiled
def _run_length(order: IntArray, at: int) -> int:
    """The length of the run of equal shapes that starts at ``at``."""
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
    amounts: IntArray,
    chosen: IntArray,
) -> None:
    """Place a run of containers of one shape with a segment tree of scores."""
    tree = build_tree(scorer, nodes.state, amounts, nodes.blocked, work)
    place_run(scorer, tree, nodes.state, nodes.containers, amounts, chosen)
    if index.counts[UPDATES] >= 0:
        update_nodes(index, choice, nodes, scorer.terms, chosen)


# The index of node states: built for all nodes at once, then updated node by node.

#: About how many nodes are sampled for a median.
_SAMPLE = 64


@compiled
def build_index(index: NodeIndex, state: IntArray, terms: FloatArray, sums: int) -> None:
    """Build the index of all nodes, by views and row ``sums`` of the state.

    The nodes are divided in two at a median, and then each part, until a part fills at most three
    quarters of a leaf. The median is that of a sample, which is faster and nearly as even.

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

    Where few leaves are free (``short``), the cut is at the middle position.
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
    """Move the nodes below the threshold to the front, and return their number."""
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
    """Update the index after the state or the terms of a node changed.

    The leaves were cut by the states that the nodes had when the index was built. With other states
    a search scores more leaves. So after about one update for every two nodes the index is marked
    as stale, and it is built again.
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
    """Put a node into the leaf of its keys, and split the leaf if it is then full."""
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
    """Divide a full leaf in two; both parts get nodes, because positions always differ."""
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
