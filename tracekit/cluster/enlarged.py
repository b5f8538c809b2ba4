"""More or fewer containers than a workload has, and more nodes of the same kinds."""

import dataclasses
from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np

from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact, remark
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.gangs import in_order_of
from tracekit.cluster.on_nodes import on_nodes
from tracekit.cluster.workload import Workload

#: What the first resources are called.
_NAMES = {"cpu_milli": "CPU", "memory_bytes": "memory"}


def scale_of(value: float) -> Fraction:
    """Return the value's decimal digits as an exact fraction: 1.3 gives 13/10.

    Raise TracekitError if it is not above 0.
    """
    if not 0 < value < float("inf"):
        raise TracekitError(
            f"--scale {value:g} is no number above 0", hint="for example --scale 1.3"
        )
    return Fraction(str(value))


def multiplied(load: Workload, scale: Fraction, rng: np.random.Generator) -> Workload:
    """Return the workload with ``scale`` times as many containers, of the sizes that it has.

    Load grows by replicas and not by larger containers, as it does for services that scale out.
    Containers are put in order of size, then use, then at random. Of the first n in this order
    about n * scale replicas are made, for every n; a random offset decides the rounding. So
    requests and use grow by nearly ``scale``, whatever the order in which containers are listed,
    and the count of nodes depends little on the draw.

    A replica equals its original in requests, use over time, times, gang, rules and recorded node,
    and is pinned nowhere. Daemons belong to nodes and are not multiplied; the background stays. A
    fact of the workload states the growth of requests and of use.
    """
    if scale == 1:
        return load
    use = _use(load)
    copies = _copies(load, use, scale, rng)
    order = np.repeat(np.arange(load.containers.count), copies)
    replica = np.arange(len(order)) - np.repeat(np.cumsum(copies) - copies, copies)
    gang = np.full(len(order), -1) if load.rules.gang is None else load.rules.gang[order]
    # replicas follow all that arrive at their time, but in gangs, which stay in one piece
    late = np.where(gang < 0, replica, 0)
    after = np.lexsort((np.arange(len(order)), late, load.containers.arrival_ms[order]))
    order, replica = order[after], replica[after]
    made = in_order_of(load, order, load.containers.arrival_ms, _names(load, order, replica))
    pinned = None if made.rules.pinned is None else np.where(replica > 0, -1, made.rules.pinned)
    return dataclasses.replace(
        made,
        rules=dataclasses.replace(made.rules, pinned=pinned),
        provenance=made.provenance.plus(remarks=tuple(_grown(load, made, use, order))),
    )


def _copies(load: Workload, use: FloatArray, scale: Fraction, rng: np.random.Generator) -> IntArray:
    """How many times each container is in the new workload, shape (containers,)."""
    copies = np.ones(load.containers.count, dtype=np.int64)
    free = np.flatnonzero(~load.daemons)
    room = np.maximum(load.nodes.capacity.sum(axis=0, dtype=np.float64), 1.0)
    size = (load.containers.request[free] / room).max(axis=1)
    busy = (use[:, free] / room[:2, None]).max(axis=0)
    drawn = rng.permutation(len(free))
    counted = free[drawn[np.lexsort((busy[drawn], size[drawn]))]]
    # a beginning up to which the number of all stays floor(n * scale)
    rest = len(free) * scale.numerator % scale.denominator
    begin = int(rng.integers(scale.denominator - rest))
    steps = range(len(counted) + 1)
    whole = [(at * scale.numerator + begin) // scale.denominator for at in steps]
    copies[counted] = np.diff(np.array(whole, dtype=np.int64))
    return copies


def _grown(load: Workload, made: Workload, use: FloatArray, order: IntArray) -> Iterator[Fact]:
    """The new number of containers, and the factors by which requests and use grew."""
    yield remark("multiplied", made.containers.count, "containers", before=load.containers.count)
    before, after = (one.containers.request.sum(axis=0, dtype=np.float64) for one in (load, made))
    used, uses = use.sum(axis=1), use[:, order].sum(axis=1)
    for at, name in enumerate(load.resources):
        if before[at]:
            further = at >= len(used) or not used[at]
            yield remark(
                "multiplied_resource",
                float(after[at] / before[at]),
                resource=_NAMES.get(name, name),
                use_times=None if further else float(uses[at] / used[at]),
            )


def _use(load: Workload) -> FloatArray:
    """The use of CPU and memory of each container, summed over the steps, (2, containers)."""
    total = np.zeros((2, load.containers.count))
    for step in range(len(load.use.times_ms)):
        np.add(total, load.use.at(step), out=total, where=load.present(step)[None])
    return total


def mark_for(names: Iterable[str]) -> str:
    """Return the shortest row of ``+`` that no name contains.

    It goes between the name of an original and the number of a copy, as in ``web+1``.
    """
    mark, taken = "+", set(names)
    while any(mark in name for name in taken):
        mark += "+"
    return mark


def _names(load: Workload, order: IntArray, replica: IntArray) -> tuple[str, ...]:
    """Names of replicas, with a number that no container's own name has."""
    mark = mark_for(load.containers.ids)
    return tuple(
        load.containers.ids[at] if not number else f"{load.containers.ids[at]}{mark}{number}"
        for at, number in zip(order.tolist(), replica.tolist(), strict=True)
    )


#: Steps of this part of the whole spread any number of picks evenly: the golden ratio's.
_STEP = (5**0.5 - 1) / 2


def like_nodes(load: Workload, count: int) -> IntArray:
    """Return the nodes to copy if ``count`` nodes are added to the cluster, shape (count,).

    They are spread evenly over the sizes of the cluster's nodes, so that the cluster keeps its mix.
    Nodes that may not be removed, are lost, or are closed to all containers are never copied, and
    cordoned nodes only if no others are left. The result is empty if no node can be copied.
    """
    those = _can_be_had(load)
    if not len(those):
        return those
    return spread_over(those[np.argsort(sizes_of(load)[those], kind="stable")], count)


def sizes_of(load: Workload) -> FloatArray:
    """Return the size of each node, shape (nodes,).

    It is the node's share of the largest capacity of any node, averaged over resources.
    """
    share = load.nodes.capacity / np.maximum(load.nodes.capacity.max(axis=0), 1)
    return np.asarray(share.mean(axis=1))


def spread_over(those: IntArray, count: int) -> IntArray:
    """Return ``count`` nodes out of ``those``, spread evenly over their order; nodes may repeat."""
    at = np.floor((np.arange(1, count + 1) * _STEP % 1.0) * len(those)).astype(np.int64)
    return np.asarray(those[at])


def kinds_of(load: Workload) -> list[IntArray]:
    """Return the nodes that may be copied, grouped by resources and price, largest group first."""
    price = load.nodes.price_per_hour
    each = None if price is None else np.nan_to_num(price, nan=-1.0)
    return sorted(kinds_among(load, _can_be_had(load), each), key=len, reverse=True)


def kinds_among(load: Workload, nodes: IntArray, price: FloatArray | None) -> list[IntArray]:
    """Return these nodes grouped by their resources, and by price if prices are given.

    Each group keeps the order of the nodes.
    """
    what = load.nodes.capacity[nodes].astype(np.float64)
    if price is not None:
        what = np.column_stack([what, price[nodes]])
    kind = np.unique(what, axis=0, return_inverse=True)[1].reshape(-1)
    return [nodes[kind == number] for number in range(int(kind.max(initial=-1)) + 1)]


def _can_be_had(load: Workload) -> IntArray:
    """The nodes that further ones may be like, in order."""
    open_ = open_to_some(load)
    if load.nodes.never_removed is not None:
        open_ &= ~load.nodes.never_removed
    if load.nodes.cordoned is not None and not load.nodes.cordoned[open_].all():
        open_ &= ~load.nodes.cordoned
    if load.nodes.losses is not None:
        open_[load.nodes.losses.node] = False
    return np.flatnonzero(open_)


def open_to_some(load: Workload) -> BoolArray:
    """Return the nodes that are open to some container, daemons aside, shape (nodes,).

    Only selectors and taints close nodes here.
    """
    parts = () if load.rules.constraints is None else load.rules.constraints.parts
    rules = [part for part in parts if isinstance(part, Allowed)]
    if not rules or not load.containers.count:
        return np.ones(load.nodes.count, np.bool_)
    classes = np.stack([one.of for one in rules], axis=1)
    classes = classes[~load.daemons]
    is_open = np.zeros(load.nodes.count, np.bool_)
    for row in np.unique(classes, axis=0).tolist():
        masks = [one.mask[at] for one, at in zip(rules, row, strict=True) if at >= 0]
        is_open |= np.all(masks, axis=0) if masks else True
    return is_open


def with_more(load: Workload, like: IntArray) -> Workload:
    """Return the workload with copies of the nodes in ``like``, behind its own nodes.

    A copy has the resources, domains and daemons of its original, and is there from the beginning.
    Nothing was recorded on it, and it has no use outside of containers (background).

    Parameters
    ----------
    like : int64, shape (more,)
        Positions of the originals; a node may be copied several times.
    """
    if not len(like):
        return load
    every = np.concatenate([np.arange(load.nodes.count), like])
    names = (*load.nodes.ids, *numbered(load.nodes.ids, like))
    more = on_nodes(load, every, names)
    return _with_daemons(load, _empty_at_first(more, load.nodes.count), like)


def _empty_at_first(more: Workload, own_nodes: int) -> Workload:
    """The workload in which no container is recorded on a further node."""

    def without(use: Float32Array) -> Float32Array:
        empty = use.copy()
        empty[:, :, own_nodes:] = 0
        return empty

    doubt, reserved = more.provenance.doubt, more.nodes.reserved
    if doubt is not None and doubt.node_use is not None:
        doubt = dataclasses.replace(doubt, node_use=without(doubt.node_use))
    if reserved is not None:
        reserved = reserved.copy()
        reserved[own_nodes:] = 0
    open_ = (
        None
        if more.nodes.cordoned is None
        else np.where(np.arange(more.nodes.count) < own_nodes, more.nodes.cordoned, False)
    )
    return dataclasses.replace(
        more,
        use=dataclasses.replace(more.use, background=without(more.use.background)),
        provenance=dataclasses.replace(more.provenance, doubt=doubt),
        nodes=dataclasses.replace(more.nodes, reserved=reserved, cordoned=open_),
    )


def _with_daemons(load: Workload, more: Workload, like: IntArray) -> Workload:
    """The workload with a copy of each daemon for every copy of its node."""
    if load.rules.daemon is None or load.rules.pinned is None:
        return more
    on = np.where(load.rules.daemon, load.rules.pinned, -1)
    pairs = [(int(at), load.nodes.count + place) for place, node in enumerate(like.tolist())
             for at in np.flatnonzero(on == node)]  # fmt: skip
    if not pairs:
        return more
    copied, node = np.array(pairs, dtype=np.int64).T
    whole = np.concatenate([np.arange(load.containers.count), copied])
    pinned = np.concatenate([load.rules.pinned, node])
    recorded = np.concatenate([more.containers.recorded_node, np.full(len(copied), -1)])
    names = (*load.containers.ids, *numbered(load.containers.ids, copied))
    # beside its original: who is placed finds the daemons there that came before
    after = np.argsort(whole, kind="stable")
    made = in_order_of(
        more, whole[after], load.containers.arrival_ms, tuple(names[at] for at in after)
    )
    return dataclasses.replace(
        made,
        rules=dataclasses.replace(made.rules, pinned=pinned[after]),
        containers=dataclasses.replace(made.containers, recorded_node=recorded[after]),
    )


def numbered(names: tuple[str, ...], copied: IntArray) -> tuple[str, ...]:
    """Return a new name for each position in ``copied``: ``web+1`` and ``web+2`` for ``web``."""
    mark = mark_for(names)
    seen: dict[int, int] = {}
    numbered_names = []
    for at in copied.tolist():
        seen[at] = seen.get(at, 0) + 1
        numbered_names.append(f"{names[at]}{mark}{seen[at]}")
    return tuple(numbered_names)
