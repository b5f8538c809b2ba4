"""Lower bounds for placements that respect requests: use of further resources, and prices."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.gangs import enough_of, in_order_of, most_together
from tracekit.cluster.resources import UNLIMITED
from tracekit.cluster.workload import Workload
from tracekit.replay.bounds import fit_counts, volume_bounds
from tracekit.replay.measures.room import measured_columns, measured_names
from tracekit.replay.measures.sampled import USED, further_use
from tracekit.replay.measures.use import rank_of


def requested_at(workload: Workload, *, but_daemons: bool = False) -> IntArray:
    """Return the sum of requests of all present containers at every step, (steps, resources).

    With ``but_daemons``, containers of daemon sets are left out.
    """
    counted = np.ones(workload.containers.count, dtype=np.bool_)
    if but_daemons and workload.rules.daemon is not None:
        counted = ~workload.rules.daemon
    return summed_at(workload, np.flatnonzero(counted))


def summed_at(workload: Workload, some: IntArray) -> IntArray:
    """Return the summed requests of some containers at every step, int64, shape (steps, resources).

    ``some`` has the positions of the containers. Each counts from its arrival to its departure.
    """
    times, request = workload.use.times_ms, workload.containers.request[some]
    changes = np.zeros((len(times) + 1, len(workload.resources)), dtype=np.int64)
    np.add.at(changes, np.searchsorted(times, workload.containers.arrival_ms[some]), request)
    np.subtract.at(changes, np.searchsorted(times, workload.containers.departure_ms[some]), request)
    return np.asarray(changes[:-1].cumsum(axis=0))


def further_bounds(workload: Workload) -> dict[str, FloatArray]:
    """Return lower bounds on measures of resources beyond CPU and memory, shape (steps,) each.

    The keys are columns such as ``network_max_fraction``. The bound of the maximum is the mean use
    over the nodes that have the resource. A resource that some node has without limit has no bound.
    """
    bounds: dict[str, FloatArray] = {}
    requested = None
    for column, name in zip(measured_columns(workload), measured_names(workload), strict=True):
        capacity = workload.nodes.capacity[:, column]
        if column in USED or (capacity >= UNLIMITED).any():
            continue
        used: FloatArray | IntArray
        if column in workload.use.further_resources:
            used = _used_at(workload, column)
        else:
            requested = requested_at(workload) if requested is None else requested
            used = requested[:, column]
        mean = used / float(capacity.sum(dtype=np.float64))
        nodes_with = int((capacity > 0).sum())
        bounds[f"{name}_max_fraction"] = mean
        bounds[f"{name}_p99_fraction"] = (
            mean if rank_of(nodes_with) == nodes_with - 1 else np.zeros(len(mean))
        )
        bounds[f"{name}_spread_fraction"] = np.zeros(len(mean))
        bounds[f"{name}_overload_fraction"] = mean - 1.0
    return bounds


def _used_at(workload: Workload, column: int) -> FloatArray:
    """Recorded use of a further resource on the nodes that have it, shape (steps,).

    A container without a request for the resource counts only where every node has the resource.
    """
    certain = workload.containers.request[:, column] > 0
    if (workload.nodes.capacity[:, column] > 0).all():
        certain[:] = True
    used = np.zeros(len(workload.use.times_ms))
    for step in range(len(used)):
        requesting = np.flatnonzero(workload.present(step) & certain)
        used[step] = further_use(workload, column, range(step, step + 1), requesting).sum()
    return used


def least_cost(demand: IntArray, rooms: IntArray, price: FloatArray) -> FloatArray:
    """Return a lower bound on the price of nodes with room for the requests, shape (steps,).

    The result is the larger of two bounds. The first buys parts of nodes, in order of their price
    for each unit of a resource. The second is the price of the cheapest nodes, as many as the
    volume bound needs.

    Parameters
    ----------
    demand : int64, shape (steps, resources)
        Summed requests.
    rooms : int64, shape (nodes, resources)
        The amount of each node that requests may take.
    price : float64, shape (nodes,)
    """
    least = np.zeros(len(demand))
    for column in range(demand.shape[1]):
        room = rooms[:, column].astype(np.float64)
        if (room >= UNLIMITED).any() or not room.any():
            continue
        nodes_with = np.flatnonzero(room)
        order = nodes_with[np.argsort(price[nodes_with] / room[nodes_with], kind="stable")]
        filled = np.concatenate([[0.0], np.cumsum(room[order])])
        paid = np.concatenate([[0.0], np.cumsum(price[order])])
        least = np.maximum(least, np.interp(demand[:, column], filled, paid))
    whole = np.concatenate([[0.0], np.cumsum(np.sort(price))])
    return np.asarray(np.maximum(least, whole[volume_bounds(demand, rooms)]))


# Containers that no policy can place within requests: no bound may count them.


def placeable(load: Workload) -> Workload:
    """Return the workload without the containers that can never be placed.

    Return the same object where there are no such containers, or where no container can be placed.
    """
    never = never_placed(load)
    if not never.any() or never.all():
        return load
    return in_order_of(load, np.flatnonzero(~never), load.containers.arrival_ms)


def never_placed(load: Workload) -> BoolArray:
    """Return which containers no policy can place within requests, bool, shape (containers,).

    These are containers larger than every node, and gangs that can never start. Such a gang needs
    more members than are ever present at a time, or than fit on empty nodes with the least request
    of any member. Without a minimum it needs all members that have not departed
    (``replay.engine.queueing.Gangs.needed``). Pinned containers are never among them.
    """
    never = np.zeros(load.containers.count, dtype=np.bool_)
    never[load.too_large()] = True
    if load.rules.pinned is not None:
        never &= load.rules.pinned < 0
    if load.rules.gang is None:
        return never
    for gang in np.unique(load.rules.gang[load.rules.gang >= 0]).tolist():
        members = load.rules.gang == gang
        if load.rules.pinned is None or not (load.rules.pinned[members] >= 0).any():
            never[members] |= _never_starts(load, members, never)
    return never


def _never_starts(load: Workload, members: BoolArray, never: BoolArray) -> bool:
    """Whether a gang needs more members than are ever present together or fit on empty nodes."""
    able = members & ~never
    if not able.any():
        return True
    least = load.containers.request[able].min(axis=0)[None]
    room = float(fit_counts(least, load.nodes.allocatable).astype(np.float64).sum())
    together = most_together(load.containers.arrival_ms[able], load.containers.departure_ms[able])
    enough = enough_of(load, np.flatnonzero(members))
    if load.rules.gang_minimum is None or not load.rules.gang_minimum[members][0]:
        # without a minimum the members that are left are enough
        departure = load.containers.departure_ms[members]
        return min(enough, int((departure == departure.max()).sum())) > min(room, float(able.sum()))
    return enough > min(room, together)


def apart_bounds(load: Workload) -> IntArray:
    """Return a lower bound on nodes from rules that keep containers apart, int64, shape (steps,).

    If no node may take more than ``most`` containers of a group, n of them need n / most nodes. The
    group that needs most nodes counts. Daemons do not count, because they ignore the rules. If any
    other container is pinned, the bound is 0, because its placement may break the rules.
    """
    bounds = np.zeros(len(load.use.times_ms), dtype=np.int64)
    counted = (
        np.ones(load.containers.count, np.bool_)
        if load.rules.daemon is None
        else ~load.rules.daemon
    )
    has_pinned = load.rules.pinned is not None and bool((counted & (load.rules.pinned >= 0)).any())
    if load.rules.constraints is None or has_pinned:
        return bounds
    for part in load.rules.constraints.parts:
        for members, most in part.apart():
            those = members[counted[members]]
            if len(those) > most * int(bounds.min(initial=len(those))):
                np.maximum(bounds, -(-_present_counts(load, those) // most), out=bounds)
    return np.minimum(bounds, load.nodes.count)


def _present_counts(load: Workload, some: IntArray) -> IntArray:
    """The number of some containers that are present at each step, shape (steps,)."""
    come = np.searchsorted(
        np.sort(load.containers.arrival_ms[some]), load.use.times_ms, side="right"
    )
    return come - np.searchsorted(
        np.sort(load.containers.departure_ms[some]), load.use.times_ms, side="right"
    )


# Lower bounds on nodes in use, and on their price, pool by pool.
#
# A pool is a set of nodes that some containers cannot leave: selectors and taints close all other
# nodes, or only these nodes have what the containers request. Pools without a common node need
# their own nodes, so the sum of their bounds is a bound. Containers that may run in several pools
# do not count.

#: Kinds of containers times nodes; larger clusters have no bound by pools.
_MOST_OPEN = 20_000_000


def pool_bounds(load: Workload, room: IntArray) -> IntArray:
    """Return a lower bound on nodes in use at every step, summed over pools, shape (steps,).

    A pool is a set of nodes that some containers cannot leave, because of selectors, taints or
    resources. Without pools the bound is 0.

    Parameters
    ----------
    room : int64, shape (nodes, resources)
        The part of each node that requests may take.
    """
    bounds = _added(load, room, lambda demand, pool: volume_bounds(demand, room[pool]))
    return bounds.astype(np.int64)


def pool_costs(load: Workload, room: IntArray, price: FloatArray) -> FloatArray:
    """Return a lower bound on the price of nodes in use at every step, shape (steps,).

    Pools and ``room`` are as in ``pool_bounds``.

    Parameters
    ----------
    price : float64, shape (nodes,)
    """
    return _added(load, room, lambda demand, pool: least_cost(demand, room[pool], price[pool]))


#: Gives the bound of a pool at every step, from the sums of its requests and its nodes.
_Least = Callable[[IntArray, BoolArray], IntArray | FloatArray]


def _added(load: Workload, room: IntArray, least: _Least) -> FloatArray:
    """The sum of the bounds of all pools, for the choice of pools with the largest sum."""
    nothing = np.zeros(len(load.use.times_ms))
    counted = np.ones(load.containers.count, dtype=np.bool_)
    # daemons and pinned containers run on their node even where it is closed to them
    for put in (load.rules.daemon, None if load.rules.pinned is None else load.rules.pinned >= 0):
        counted &= True if put is None else ~put
    at = np.flatnonzero(counted)
    if load.rules.constraints is None or not len(at):
        return nothing
    opened_by_kind = _open_to(load, load.rules.constraints, room, at)
    if opened_by_kind is None:
        return nothing
    opened, kind = opened_by_kind
    # a container whose recorded node is closed to it may stay there, so it is in no pool
    ran = load.containers.recorded_node[at]
    pooled = (ran < 0) | opened[kind, ran]
    at, kind = at[pooled], kind[pooled]
    choices = {tuple(map(bytes, pools)): pools for pools in (_joined(opened), _smallest(opened))}
    bounds = [nothing]
    for pools in choices.values():
        # containers in the order of their pools, those without a pool first
        of = _pool_of(opened, pools)[kind]
        order = np.argsort(of, kind="stable")
        ends = np.searchsorted(of[order], np.arange(len(pools) + 1))
        parts = zip(pools, itertools.pairwise(ends.tolist()), strict=True)
        alone = [
            least(summed_at(load, at[order[first:last]]), pool) for pool, (first, last) in parts
        ]
        bounds.append(np.sum([nothing, *alone], axis=0))
    return np.asarray(np.max(bounds, axis=0))


def _open_to(
    load: Workload, constraints: Constraints, room: IntArray, at: IntArray
) -> tuple[BoolArray, IntArray] | None:
    """The nodes open to each kind of container, (kinds, nodes), and the kind of each container.

    ``at`` has the positions of the containers. None where all nodes are open to all containers, or
    there are too many kinds.
    """
    parts = tuple(part for part in constraints.parts if part.fixed)
    fixed = Constraints(parts=parts).fixed if parts else np.zeros(load.containers.count, np.int64)
    rows = np.column_stack([fixed, load.containers.request > 0])[at]
    _, first, kind = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    if len(first) * load.nodes.count > _MOST_OPEN:
        return None
    opened = np.ones((len(first), load.nodes.count), dtype=np.bool_)
    keeper = Constraints(parts=parts).keeper(load.nodes.count)
    for row, one in enumerate(at[first].tolist()):
        wanted = load.containers.request[one] > 0
        opened[row] = (room[:, wanted] > 0).all(axis=1)
        mask = keeper.open(one)
        opened[row] &= True if mask is None else mask
    return None if opened.all() else (opened, kind.reshape(-1))


def _joined(opened: BoolArray) -> list[BoolArray]:
    """Disjoint sets of nodes: sets that have a common node are joined."""
    pools: list[BoolArray] = []
    for mask in np.unique(opened, axis=0):
        overlapping = [pool for pool in pools if (pool & mask).any()]
        pools = [pool for pool in pools if not (pool & mask).any()]
        pools.append(np.any([mask, *overlapping], axis=0))
    return pools


def _smallest(opened: BoolArray) -> list[BoolArray]:
    """Disjoint sets of nodes, chosen in order of size from the smallest on."""
    pools: list[BoolArray] = []
    masks = np.unique(opened, axis=0)
    for mask in masks[np.argsort(masks.sum(axis=1), kind="stable")]:
        if mask.any() and not any((pool & mask).any() for pool in pools):
            pools.append(mask)
    return pools


def _pool_of(opened: BoolArray, pools: Sequence[BoolArray]) -> IntArray:
    """The pool with all nodes that are open to each kind of container, (kinds,); -1 for none.

    ``pools`` are disjoint.
    """
    pool = np.full(opened.shape[1], -1, dtype=np.int64)
    for number, mask in enumerate(pools):
        pool[mask] = number
    first = pool[opened.argmax(axis=1)]
    one = opened.any(axis=1) & ~(opened & (pool != first[:, None])).any(axis=1)
    return np.where(one, first, -1)
