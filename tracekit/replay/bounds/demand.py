"""Lower bounds on the nodes that carry a load: by use, whatever the containers request."""

import numpy as np

from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tracekit.cluster.on_nodes import room_beside_daemons
from tracekit.cluster.resources import UNLIMITED
from tracekit.cluster.series import settled_steps
from tracekit.cluster.workload import Workload
from tracekit.policy.view.usage import rank_of
from tracekit.replay.bounds import linear_bound, volume_bound, volume_bounds
from tracekit.replay.bounds.requests import least_cost, pool_costs, requested_at

#: The part of a sum that may be a rounding error, because background has single precision.
_ROUNDING = 1e-6
#: Numbers of steps for ``over_time_bound``, as multiples of the steps that a node may exceed.
_TIMES = (1, 2, 4, 8)
#: About how many numbers ``over_time_bound`` holds at once.
_AT_ONCE = 20_000_000


def load_bound(workload: Workload, most: tuple[float, float], *, requests: bool) -> int:
    """Return a lower bound on the nodes that can carry the whole load, if the others are removed.

    The load of a step is the use of all containers but daemons, and the background of all nodes,
    also of removed ones. It must stay within ``most``, the share of capacity for (cpu, memory).
    With ``requests``, the requests and the reserve for background must fit into the capacity too.
    The bound is the highest volume bound of the settled steps (after the cluster was filled).
    """
    (used, room), (requested, capacity) = volumes(workload, most)
    needed = int(volume_bounds(used, room).max(initial=0))
    if not requests:
        return needed
    return max(needed, int(volume_bounds(requested, capacity).max(initial=0)))


def bound_after_losses(workload: Workload, most: tuple[float, float], *, requests: bool) -> int:
    """Return ``load_bound`` for the time after the last loss of a node; 0 without losses.

    The load is that of the settled steps from the last loss on. Only nodes that are never lost
    carry it.
    """
    if workload.nodes.losses is None or not len(workload.nodes.losses.node):
        return 0
    since = int(workload.nodes.losses.time_ms.max())
    stay = np.ones(workload.nodes.count, np.bool_)
    stay[workload.nodes.losses.node] = False
    both = volumes(workload, most, since_ms=since)[: 2 if requests else 1]
    return max(int(volume_bounds(demand, room[stay]).max(initial=0)) for demand, room in both)


def cost_bound(workload: Workload, most: tuple[float, float], *, requests: bool) -> float | None:
    """Return a lower bound on the hourly price of nodes that carry all load; None without prices.

    The load is that of ``load_bound``, and the bound is the ``least_cost`` of the dearest step.
    With ``requests``, it is at least the sum of bounds over pools of nodes (see ``pool_costs``).
    """
    prices = workload.nodes.prices
    if prices is None:
        return None
    both = volumes(workload, most)[: 2 if requests else 1]
    costs = [least_cost(demand, room, prices).max(initial=0.0) for demand, room in both]
    if requests:
        room = room_beside_daemons(workload)
        steps = settled_steps(workload.use.times_ms, workload.use.settled_ms)
        costs.append(pool_costs(workload, room, prices)[steps].max(initial=0.0))
    return float(max(costs))


def volumes(
    workload: Workload, most: tuple[float, float], *, since_ms: int = 0
) -> tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]:
    """Return total use and total requests at settled steps, each with the room for it on nodes.

    Only steps at or after ``since_ms`` count.

    Returns
    -------
    (int64, int64), (int64, int64)
        First use and its room: cpu and memory only, room being ``most`` of the capacity. Then
        requests and their room: all resources, room being the capacity. In each pair the total has
        the shape (steps, resources), and the room has the shape (nodes, resources).
    """
    within = np.where(np.isfinite(most), most, 1.0)
    counted = np.isfinite(most)
    room = np.ceil(np.minimum(workload.nodes.capacity[:, :2] * within, UNLIMITED)).astype(np.int64)
    settled = settled_steps(workload.use.times_ms, workload.use.settled_ms)
    steps = settled[workload.use.times_ms[settled] >= since_ms]
    used = [np.where(counted, _all_use(workload, int(step)), 0) for step in steps]
    # a removed node's reserve is spread over the others, and rounded down on each of them
    reserve = (
        0
        if workload.nodes.reserved is None
        else workload.nodes.reserved.sum(axis=0) - workload.nodes.count
    )
    together = requested_at(workload, but_daemons=True)[steps] + np.maximum(reserve, 0)
    return (np.floor(used).astype(np.int64).reshape(-1, 2), room), (
        together,
        workload.nodes.capacity,
    )


def demand_bound(workload: Workload, most: tuple[float, float] = (1.0, 1.0)) -> int:
    """Return a lower bound on nodes that run all containers while no node's use exceeds ``most``.

    ``most`` is a share of the capacity, for cpu and for memory; infinite for no limit. A container
    takes its use of cpu and memory, and its requests of other resources. Background use reduces the
    capacity of a node. The bound is the highest ``volume_bound`` of the settled steps, or of all
    steps where none is settled. At that step ``linear_bound`` is computed too, and the higher of
    the two is returned.
    """
    steps = settled_steps(workload.use.times_ms, workload.use.settled_ms)
    needed = [volume_bound(*_demand(workload, int(step), most)) for step in steps]
    peak = int(steps[int(np.argmax(needed))])
    return max(*needed, linear_bound(*_demand(workload, peak, most)) or 0, 0)


def mean_bound(workload: Workload, most: tuple[float, float]) -> int:
    """Return a lower bound on the nodes whose mean use stays within ``most``; 0 without a limit.

    ``most`` is the share of capacity for (cpu, memory), and the mean is over nodes and settled
    steps. The mean of k nodes is at least U / (k c). U is the mean use of the whole cluster, with
    the background of removed nodes and without daemons, and c is the largest capacity of a node.
    With the limit m from ``most``, this gives k >= U / (c m).
    """
    if not np.isfinite(most).any():
        return 0
    steps = settled_steps(workload.use.times_ms, workload.use.settled_ms)
    used = np.mean([_all_use(workload, int(step)) for step in steps], axis=0)
    mean = used / np.maximum(workload.nodes.capacity[:, :2].max(axis=0).astype(np.float64), 1.0)
    needed = [
        value / cap for value, cap in zip(mean, most, strict=True) if np.isfinite(cap) and cap
    ]
    return int(np.ceil(max(needed, default=0.0) - _ROUNDING))


def over_time_bound(workload: Workload, most: float) -> int:
    """Return a lower bound on nodes whose CPU use is within ``most`` at 99 % of the settled steps.

    It holds if no container moves between its arrival and its departure. Let m be the number of
    steps at which a node may exceed its limit, ``most`` times its capacity. Take the L steps with
    the most use, and leave out the m largest values of each container. The rest on a node sums to
    at most (L - m) times its limit, and so the rest in the cluster sums to at most (L - m) times
    all limits. Daemons do not count, because they are removed with their node.
    """
    steps = settled_steps(workload.use.times_ms, workload.use.settled_ms)
    if not np.isfinite(most) or not workload.containers.count:
        return 0
    spare = len(steps) - rank_of(len(steps)) - 1
    use = np.stack([_cpu_at(workload, int(step)) for step in _busiest(workload, steps, spare)])
    needed = 0.0
    for times in _TIMES:
        some = use[: max(times * (spare + 1), 1)]
        counted_steps = len(some) - spare
        if counted_steps > 0:
            low = np.partition(some, counted_steps - 1, axis=0)[:counted_steps]
            needed = max(needed, low.sum(dtype=np.float64) / counted_steps * (1 - _ROUNDING))
    room = -np.sort(-workload.nodes.capacity[:, 0].astype(np.float64)) * most
    return int(np.searchsorted(room.cumsum(), needed)) + 1 if needed else 0


def _busiest(workload: Workload, steps: IntArray, spare: int) -> IntArray:
    """The steps with the most CPU use that ``over_time_bound`` takes, in falling order of use."""
    total = [_cpu_at(workload, int(step)).sum(dtype=np.float64) for step in steps]
    many = min(_TIMES[-1] * (spare + 1), max(_AT_ONCE // workload.containers.count, spare + 1))
    return np.asarray(steps[np.argsort(-np.array(total), kind="stable")[:many]])


def _cpu_at(workload: Workload, step: int) -> Float32Array:
    """CPU use at a step, of each container that is no daemon and of each node's background."""
    present = workload.present_but_daemons(step)
    return np.concatenate(
        [np.where(present, workload.use.at(step)[0], 0), workload.use.background[0, step]]
    ).astype(np.float32)


def _all_use(workload: Workload, step: int) -> FloatArray:
    """Use of all containers but daemons plus the background of all nodes: cpu, memory."""
    own = workload.use.background[:, step].sum(axis=1, dtype=np.float64)
    use = _use_of(workload, step, workload.present_but_daemons(step))
    return np.asarray((use.sum(axis=1, dtype=np.float64) + own) * (1 - _ROUNDING))


def _use_of(workload: Workload, step: int, some: BoolArray) -> Float32Array:
    """The use of some containers at a step, shape (2, some); without a copy where they are all."""
    use = workload.use.at(step)
    return use if some.all() else use[:, some]


def _demand(workload: Workload, step: int, most: tuple[float, float]) -> tuple[IntArray, IntArray]:
    """The demand of each container, rounded down, and the room of each node, rounded up."""
    present = workload.present_but_daemons(step)
    use = np.floor(_use_of(workload, step, present).T).astype(np.int64)
    own = np.floor(workload.use.background[:, step].T).astype(np.int64)
    counted = np.isfinite(most)
    use[:, ~counted] = 0
    demand = np.hstack([use, workload.containers.request[present, 2:]])
    share = np.where(counted, most, 1.0)
    limited = np.minimum(np.ceil(workload.nodes.capacity[:, :2] * share), UNLIMITED)
    usable = np.maximum(limited.astype(np.int64) - own, 0)
    room = np.hstack([usable, workload.nodes.capacity[:, 2:]])
    return demand, room
