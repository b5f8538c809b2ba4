"""A workload on some of its nodes, and containers that a replay leaves on their nodes."""

import dataclasses
import operator

import numpy as np

from tracekit.base.arrays import Float32Array, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.gangs import in_order_of
from tracekit.cluster.resources import UNLIMITED, amount_text
from tracekit.cluster.workload import Workload


def on_nodes(load: Workload, nodes: IntArray, node_ids: tuple[str, ...] | None = None) -> Workload:
    """Return the workload on the nodes at these positions, in this order.

    The daemons of a removed node go with the node; all other load stays. A container that was
    pinned to a removed node is placed by the policy at its arrival, and its recorded node is
    unknown. Background is use by work that is not listed. The background of removed nodes is spread
    over the nodes that stay, in proportion to what each node's own background leaves free on
    average. Reserved amounts are spread likewise.

    Parameters
    ----------
    nodes : int64, shape (kept,)
        A position that occurs again stands for a copy of the node.
    node_ids : tuple of str, optional
        New names of the nodes, needed if there are copies.
    """
    types = load.nodes.instance_types
    place = np.full(load.nodes.count + 1, -1, dtype=np.int64)  # the last is that of -1
    place[nodes[::-1]] = np.arange(len(nodes))[::-1]
    staying = _without_daemons_of(load, place)
    return dataclasses.replace(
        staying,
        nodes=dataclasses.replace(
            staying.nodes,
            ids=node_ids or tuple(load.nodes.ids[at] for at in nodes.tolist()),
            capacity=load.nodes.capacity[nodes],
            reserved=None
            if load.nodes.reserved is None
            else _all_reserved(load.nodes.reserved, load, nodes),
            never_removed=None
            if load.nodes.never_removed is None
            else load.nodes.never_removed[nodes],
            cordoned=None if load.nodes.cordoned is None else load.nodes.cordoned[nodes],
            price_per_hour=None
            if load.nodes.price_per_hour is None
            else load.nodes.price_per_hour[nodes],
            instance_types=None if types is None else tuple(types[at] for at in nodes.tolist()),
            losses=None if staying.nodes.losses is None else staying.nodes.losses.on(place),
            joins=None if staying.nodes.joins is None else staying.nodes.joins.on(place),
            leaves=None if staying.nodes.leaves is None else staying.nodes.leaves.on(place),
            returns=None if staying.nodes.returns is None else staying.nodes.returns.on(place),
            domains=None if staying.nodes.domains is None else staying.nodes.domains.on(nodes),
        ),
        use=dataclasses.replace(staying.use, background=all_background(load, nodes)),
        provenance=dataclasses.replace(
            staying.provenance,
            doubt=None if load.provenance.doubt is None else load.provenance.doubt.on(nodes),
        ),
        containers=dataclasses.replace(
            staying.containers, recorded_node=place[staying.containers.recorded_node]
        ),
        rules=dataclasses.replace(
            staying.rules,
            pinned=None if staying.rules.pinned is None else place[staying.rules.pinned],
            constraints=None
            if staying.rules.constraints is None
            else staying.rules.constraints.on(nodes),
            written=None if staying.rules.written is None else staying.rules.written.on(nodes),
        ),
    )


def all_background(load: Workload, nodes: IntArray) -> Float32Array:
    """Return the use outside of containers of all nodes, on the nodes that stay, (2, steps, kept).

    ``nodes``, shape (kept,), are the positions of the nodes that stay. The use of other nodes is
    spread over them.
    """
    gone, steps = _gone(load, nodes), len(load.use.times_ms)
    on_staying = np.empty((2, steps, len(nodes)), np.float32)
    for resource, series in enumerate(load.use.background):
        # step by step, which stays in the cache: a fifth of the time
        for step, row in enumerate(series):
            np.take(row, nodes, out=on_staying[resource, step])
        left = [float(row[gone].sum(dtype=np.float64)) for row in series] if len(gone) else []
        if any(left):
            own = on_staying[resource].mean(axis=0, dtype=np.float64)
            part = _parts(load.nodes.capacity[nodes, resource], own)
            for step, amount in enumerate(left):
                on_staying[resource, step] += (amount * part).astype(np.float32)
    return on_staying


def _all_reserved(reserved: IntArray, load: Workload, nodes: IntArray) -> IntArray:
    """The reserved amounts of the nodes that stay, for the background of all, (kept, resources)."""
    on_staying, left = reserved[nodes], reserved[_gone(load, nodes)].sum(axis=0)
    for column in np.flatnonzero(left):
        part = _parts(load.nodes.capacity[nodes, column], on_staying[:, column])
        on_staying[:, column] += np.floor(left[column] * part).astype(np.int64)
    return on_staying


def _gone(load: Workload, nodes: IntArray) -> IntArray:
    gone = np.ones(load.nodes.count, np.bool_)
    gone[nodes] = False
    return np.flatnonzero(gone)


def _parts(capacity: IntArray, own: FloatArray | IntArray) -> FloatArray:
    """The share of each node in what is spread, summing to 1: by what is free, else by size."""
    free = np.maximum(capacity - own, 0).astype(np.float64)
    by = free if free.any() else np.maximum(capacity, 1).astype(np.float64)
    return np.asarray(by / by.sum())


def beside_daemons(load: Workload) -> Workload:
    """Return the workload with reserved room and background use in place of daemons.

    The request of a daemon that is always there is reserved on its node, for each resource that the
    node limits. The use of daemons becomes background, which is use outside of containers.
    """
    without_daemons = _without_daemons_of(load, np.full(load.nodes.count + 1, -1, dtype=np.int64))
    if without_daemons is load:
        return load
    at, node = _daemons(load)
    room = room_beside_daemons(load)
    return dataclasses.replace(
        without_daemons,
        nodes=dataclasses.replace(without_daemons.nodes, reserved=load.nodes.capacity - room),
        use=dataclasses.replace(without_daemons.use, background=_with_use(load, at, node)),
    )


def room_beside_daemons(load: Workload) -> IntArray:
    """Return allocatable less the requests of daemons that always run, shape (nodes, resources)."""
    if load.rules.daemon is None or load.rules.pinned is None:
        return load.nodes.allocatable
    at, node = _daemons(load)
    if not len(at):
        return load.nodes.allocatable
    always = (load.containers.arrival_ms[at] == load.containers.arrival_ms.min()) & (
        load.containers.departure_ms[at] > load.use.times_ms[-1]
    )
    requested = np.zeros_like(load.nodes.capacity)
    np.add.at(requested, node[always], load.containers.request[at[always]])
    limited = load.nodes.capacity < UNLIMITED
    return np.where(
        limited, np.maximum(load.nodes.allocatable - requested, 0), load.nodes.allocatable
    )


def _daemons(load: Workload) -> tuple[IntArray, IntArray]:
    """Daemons whose node is known, and the node of each."""
    assert load.rules.daemon is not None  # noqa: S101 - asked for before
    assert load.rules.pinned is not None  # noqa: S101
    at = np.flatnonzero(load.rules.daemon & (load.rules.pinned >= 0))
    return at, load.rules.pinned[at]


def _with_use(load: Workload, at: IntArray, node: IntArray) -> Float32Array:
    """The background with the use of these containers on their nodes added, never rounded up."""
    background = load.use.background.copy()
    for step in range(len(load.use.times_ms)):
        running = load.present(step)[at]
        use = load.use.at(step)[:, at[running]]
        for resource in range(2):
            exact = load.use.background[resource, step].astype(np.float64) + np.bincount(
                node[running], use[resource], load.nodes.count
            )
            rounded = exact.astype(np.float32)
            background[resource, step] = np.where(
                rounded > exact, np.nextafter(rounded, np.float32(0)), rounded
            )
    return background


def _without_daemons_of(load: Workload, place: IntArray) -> Workload:
    """The workload without the daemons of nodes whose new place is -1; nodes stay as before."""
    if load.rules.daemon is None or load.rules.pinned is None:
        return load
    leaving = load.rules.daemon & (load.rules.pinned >= 0) & (place[load.rules.pinned] < 0)
    if not leaving.any():
        return load
    return in_order_of(load, np.flatnonzero(~leaving), load.containers.arrival_ms)


# Which nodes cannot be drained, because a budget of disruption bars the eviction of who is there.
# A drain evicts every container of the node but daemons, and waits for those whose eviction a
# budget refuses. Where the budget allows one at a time, the drain goes on once the evicted one
# runs elsewhere; where it allows none, the drain waits for ever.


def barred_by(load: Workload) -> tuple[str, ...] | None:
    """Return the budgets that forbid to drain each node, in its state at the last sample.

    Returns
    -------
    tuple of str, shape (nodes,), optional
        Names of budgets with commas between them; empty if none bars the node. None if no running
        container whose node is recorded is under a budget.
    """
    if load.rules.budgets is None:
        return None
    now = load.use.times_ms[-1]
    present = (load.containers.arrival_ms <= now) & (now < load.containers.departure_ms)
    runs = present & (load.containers.recorded_node >= 0)
    under = (load.rules.budgets.of >= 0).any(axis=1)
    if not (runs & under).any():
        return None
    evicted = np.flatnonzero(runs & ~load.daemons)
    held = evicted[load.rules.budgets.barred(evicted, load.rules.budgets.allowed(runs, present))]
    at = load.containers.recorded_node[held]
    return tuple(
        ", ".join(load.rules.budgets.names_of(held[at == node])) for node in range(load.nodes.count)
    )


def requests_respected(load: Workload) -> bool:
    """Return whether policies that respect requests keep every node within its capacity.

    A node can get more requests than its capacity if too many containers are pinned to it, or if
    pinned containers arrive after those that policies place.
    """
    if load.rules.pinned is None:
        return True
    pinned = load.rules.pinned >= 0
    return not (np.diff(pinned.astype(np.int8)) > 0).any() and not pinned_over_capacity(load)


def pinned_over_capacity(load: Workload) -> int:
    """Return how many pinned containers lack room beside the containers pinned before them.

    Containers that a policy or a rebalancer put on the same node are not considered.
    """
    if load.rules.pinned is None:
        return 0
    return over_capacity(
        load.rules.pinned,
        load.nodes.allocatable,
        load.containers.request,
        load.containers.arrival_ms,
        load.containers.departure_ms,
    )


def recorded_over_capacity(load: Workload) -> int:
    """Return how many containers' requests did not fit on their nodes in production."""
    return over_capacity(
        load.containers.recorded_node,
        load.nodes.allocatable,
        load.containers.request,
        load.containers.arrival_ms,
        load.containers.departure_ms,
    )


def over_capacity(
    pinned: IntArray,
    capacity: IntArray,
    request: IntArray,
    arrival_ms: IntArray,
    departure_ms: IntArray,
) -> int:
    """Return the count of ``pinned_over_capacity``, from the arrays of a workload.

    Parameters
    ----------
    pinned, arrival_ms, departure_ms : int64, shape (containers,)
        In order of arrival; ``pinned`` is -1 for a container that a policy places.
    capacity : int64, shape (nodes, resources)
    request : int64, shape (containers, resources)
    """
    those = np.flatnonzero(pinned >= 0)
    leaving = those[np.argsort(departure_ms[those], kind="stable")].tolist()
    node, requested = pinned.tolist(), request.tolist()
    arrives, leaves = arrival_ms.tolist(), departure_ms.tolist()
    free, gone, over = capacity.tolist(), 0, 0
    for index in those.tolist():
        while gone < len(leaving) and leaves[leaving[gone]] <= arrives[index]:
            left = leaving[gone]
            free[node[left]] = list(map(operator.add, free[node[left]], requested[left]))
            gone += 1
        room = list(map(operator.sub, free[node[index]], requested[index]))
        over += any(left < 0 < wanted for left, wanted in zip(room, requested[index], strict=True))
        free[node[index]] = room
    return over


def check_feasible(workload: Workload) -> None:
    """Raise TracekitError when no container fits on any node, even an empty one.

    If only some containers fit on no node, this is no error: they wait to the end, and are counted.
    """
    large = workload.too_large()
    if len(large) == workload.containers.count:
        raise TracekitError(
            f"no container of workload '{workload.name}' fits on any node: {too_large(workload)}",
            hint="check the units: millicores and bytes",
        )


def too_large(workload: Workload) -> str | None:
    """Return a text on the first container that fits on no node, or None if each fits on some.

    It says how much the container requests, and how much the largest node has.
    """
    large = workload.too_large()
    if not len(large):
        return None
    requested = workload.containers.request[large[0]]
    room = workload.nodes.allocatable.max(axis=0)
    column = int(np.argmax(requested / np.maximum(room, 1)))
    name = workload.resources[column]
    left = "" if workload.nodes.reserved is None else " left for requests"
    return (
        f"'{workload.containers.ids[large[0]]}' requests {amount_text(requested[column], name)},"
        f" the largest node has {amount_text(room[column], name)}{left}"
    )
