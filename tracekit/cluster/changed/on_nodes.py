"""A workload on some of its nodes, as if the others had been drained and taken away."""

import dataclasses

import numpy as np

from tracekit.base.arrays import Float32Array, FloatArray, IntArray
from tracekit.cluster.gangs import in_order_of
from tracekit.cluster.resources import UNLIMITED
from tracekit.cluster.workload import Workload


def on_nodes(load: Workload, nodes: IntArray, node_ids: tuple[str, ...] | None = None) -> Workload:
    """The workload on the nodes at these positions, in this order.

    The daemons of a node go with it. All other load stays. A container that was pinned to a node
    that goes is placed by the policy at its arrival, and its recorded node is not known. Use that
    no container explains is work that is not listed: that of nodes that go is spread over those
    that stay, to each by what its own background leaves free on average, and what is kept for it
    likewise.

    Parameters
    ----------
    nodes : int64, shape (kept,)
        Where one is given again, that is a further node like it, and needs a name in ``node_ids``.
    """
    types = load.instance_types
    place = np.full(load.nodes + 1, -1, dtype=np.int64)  # the last is that of -1
    place[nodes[::-1]] = np.arange(len(nodes))[::-1]
    stays = _without_daemons_of(load, place)
    return dataclasses.replace(
        stays,
        node_ids=node_ids or tuple(load.node_ids[at] for at in nodes.tolist()),
        capacity=load.capacity[nodes],
        background=all_background(load, nodes),
        reserved=None if load.reserved is None else _all_reserved(load.reserved, load, nodes),
        doubt=None if load.doubt is None else load.doubt.on(nodes),
        stays=None if load.stays is None else load.stays[nodes],
        cordoned=None if load.cordoned is None else load.cordoned[nodes],
        price_per_hour=None if load.price_per_hour is None else load.price_per_hour[nodes],
        instance_types=None if types is None else tuple(types[at] for at in nodes.tolist()),
        recorded_node=place[stays.recorded_node],
        pinned=None if stays.pinned is None else place[stays.pinned],
        constraints=None if stays.constraints is None else stays.constraints.on(nodes),
        losses=None if stays.losses is None else stays.losses.on(place),
        joins=None if stays.joins is None else stays.joins.on(place),
        leaves=None if stays.leaves is None else stays.leaves.on(place),
        returns=None if stays.returns is None else stays.returns.on(place),
        domains=None if stays.domains is None else stays.domains.on(nodes),
        written=None if stays.written is None else stays.written.on(nodes),
    )


def all_background(load: Workload, nodes: IntArray) -> Float32Array:
    """The background of all nodes on those that stay, shape (2, steps, kept)."""
    gone, steps = _gone(load, nodes), len(load.times_ms)
    stays = np.empty((2, steps, len(nodes)), np.float32)
    for resource, series in enumerate(load.background):
        # step by step, which stays in the cache: a fifth of the time
        for step, row in enumerate(series):
            np.take(row, nodes, out=stays[resource, step])
        left = [float(row[gone].sum(dtype=np.float64)) for row in series] if len(gone) else []
        if any(left):
            own = stays[resource].mean(axis=0, dtype=np.float64)
            part = _parts(load.capacity[nodes, resource], own)
            for step, amount in enumerate(left):
                stays[resource, step] += (amount * part).astype(np.float32)
    return stays


def _all_reserved(reserved: IntArray, load: Workload, nodes: IntArray) -> IntArray:
    """The amount reserved on the nodes that stay for the background of all, (kept, resources)."""
    stays, left = reserved[nodes], reserved[_gone(load, nodes)].sum(axis=0)
    for column in np.flatnonzero(left):
        part = _parts(load.capacity[nodes, column], stays[:, column])
        stays[:, column] += np.floor(left[column] * part).astype(np.int64)
    return stays


def _gone(load: Workload, nodes: IntArray) -> IntArray:
    gone = np.ones(load.nodes, np.bool_)
    gone[nodes] = False
    return np.flatnonzero(gone)


def _parts(capacity: IntArray, own: FloatArray | IntArray) -> FloatArray:
    """The part of each node in what is spread, of 1 in all: by what is free, else by size."""
    free = np.maximum(capacity - own, 0).astype(np.float64)
    by = free if free.any() else np.maximum(capacity, 1).astype(np.float64)
    return np.asarray(by / by.sum())


def beside_daemons(load: Workload) -> Workload:
    """The containers that belong to no node, on what the daemons of each node leave of it.

    What a daemon requests that is there all the time is reserved of its node, where that has a
    limit; what daemons use is background.
    """
    stays = _without_daemons_of(load, np.full(load.nodes + 1, -1, dtype=np.int64))
    if stays is load:
        return load
    at, node = _daemons(load)
    room = room_beside_daemons(load)
    return dataclasses.replace(
        stays, reserved=load.capacity - room, background=_with_use(load, at, node)
    )


def room_beside_daemons(load: Workload) -> IntArray:
    """The room for requests beside daemons that are there all the time, (nodes, resources)."""
    if load.daemon is None or load.pinned is None:
        return load.allocatable
    at, node = _daemons(load)
    if not len(at):
        return load.allocatable
    always = (load.arrival_ms[at] == load.arrival_ms.min()) & (
        load.departure_ms[at] > load.times_ms[-1]
    )
    requested = np.zeros_like(load.capacity)
    np.add.at(requested, node[always], load.request[at[always]])
    limited = load.capacity < UNLIMITED
    return np.where(limited, np.maximum(load.allocatable - requested, 0), load.allocatable)


def _daemons(load: Workload) -> tuple[IntArray, IntArray]:
    """Daemons whose node is known, and that node."""
    assert load.daemon is not None  # noqa: S101 - asked for before
    assert load.pinned is not None  # noqa: S101
    at = np.flatnonzero(load.daemon & (load.pinned >= 0))
    return at, load.pinned[at]


def _with_use(load: Workload, at: IntArray, node: IntArray) -> Float32Array:
    """The background with the use of some containers on their nodes, never rounded up."""
    background = load.background.copy()
    for step in range(len(load.times_ms)):
        there = load.present(step)[at]
        use = load.use_at(step)[:, at[there]]
        for resource in range(2):
            exact = load.background[resource, step].astype(np.float64) + np.bincount(
                node[there], use[resource], load.nodes
            )
            near = exact.astype(np.float32)
            background[resource, step] = np.where(
                near > exact, np.nextafter(near, np.float32(0)), near
            )
    return background


def _without_daemons_of(load: Workload, place: IntArray) -> Workload:
    """The workload without daemons of the nodes whose new place is -1; its nodes are as before."""
    if load.daemon is None or load.pinned is None:
        return load
    goes = load.daemon & (load.pinned >= 0) & (place[load.pinned] < 0)
    if not goes.any():
        return load
    return in_order_of(load, np.flatnonzero(~goes), load.arrival_ms)


# Which nodes cannot be drained, because a budget of disruption bars the eviction of who is there.
# A drain evicts every container of the node but daemons, and waits for those whose eviction a
# budget refuses. Where the budget allows one at a time, the drain goes on once the evicted one
# runs elsewhere; where it allows none, the drain waits for ever.


def barred_by(load: Workload) -> tuple[str, ...] | None:
    """The budgets that bar each node from being drained, as it was at the last sample.

    Returns
    -------
    tuple of str, shape (nodes,), optional
        Names of budgets, with a comma between them; empty where none does. None where no container
        is under a budget, or where it is not recorded on which node one of them runs.
    """
    if load.budgets is None:
        return None
    now = load.times_ms[-1]
    present = (load.arrival_ms <= now) & (now < load.departure_ms)
    runs = present & (load.recorded_node >= 0)
    under = (load.budgets.of >= 0).any(axis=1)
    if not (runs & under).any():
        return None
    evicted = np.flatnonzero(runs if load.daemon is None else runs & ~load.daemon)
    held = evicted[load.budgets.barred(evicted, load.budgets.allowed(runs, present))]
    at = load.recorded_node[held]
    return tuple(", ".join(load.budgets.names_of(held[at == node])) for node in range(load.nodes))
