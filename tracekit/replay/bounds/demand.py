"""How many nodes the demand itself needs: what containers use, whatever they request."""

import numpy as np

from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tracekit.cluster.changed.on_nodes import room_beside_daemons
from tracekit.cluster.resources import UNLIMITED
from tracekit.cluster.series import settled_steps
from tracekit.cluster.workload import Workload
from tracekit.policy.view.usage import rank_of
from tracekit.replay.bounds.nodes import linear_bound, volume_bound, volume_bounds
from tracekit.replay.bounds.requests import least_cost, pool_costs, requested_at

#: Background is spread in single precision: so much of a sum proves nothing.
_ROUNDING = 1e-6
#: So many times the steps at which a node may be too full are looked at together.
_TIMES = (1, 2, 4, 8)
#: So many numbers are looked at together, about.
_AT_ONCE = 20_000_000


def load_bound(workload: Workload, most: tuple[float, float], *, requests: bool) -> int:
    """A lower bound on nodes that carry all load, also the background of nodes that are not there.

    By volume at every settled step, like ``demand_bound``: use and background within ``most``, and
    with ``requests`` what is requested and what is kept for background within the capacity. What
    daemons use or request goes with their node, and is not counted.
    """
    (used, room), (asked, capacity) = volumes(workload, most)
    needed = int(volume_bounds(used, room).max(initial=0))
    if not requests:
        return needed
    return max(needed, int(volume_bounds(asked, capacity).max(initial=0)))


def bound_after_losses(workload: Workload, most: tuple[float, float], *, requests: bool) -> int:
    """A lower bound on nodes that stay where others are lost: what is there afterwards is on them.

    As ``load_bound``, over the steps from the last loss on and the nodes that are left then.
    """
    if workload.nodes.losses is None or not len(workload.nodes.losses.node):
        return 0
    since = int(workload.nodes.losses.time_ms.max())
    stay = np.ones(workload.nodes.count, np.bool_)
    stay[workload.nodes.losses.node] = False
    both = volumes(workload, most, since_ms=since)[: 2 if requests else 1]
    return max(int(volume_bounds(asked, room[stay]).max(initial=0)) for asked, room in both)


def cost_bound(workload: Workload, most: tuple[float, float], *, requests: bool) -> float | None:
    """A lower bound on what nodes cost per hour that carry all load; None without all prices.

    As ``load_bound``. The load takes the cheapest room first, and may take parts of nodes. With
    ``requests`` the bound is also taken pool by pool.
    """
    prices = workload.nodes.prices
    if prices is None:
        return None
    both = volumes(workload, most)[: 2 if requests else 1]
    found = [least_cost(asked, room, prices).max(initial=0.0) for asked, room in both]
    if requests:
        room = room_beside_daemons(workload)
        steps = settled_steps(workload.use.times_ms, workload.use.settled_ms)
        found.append(pool_costs(workload, room, prices)[steps].max(initial=0.0))
    return float(max(found))


def volumes(
    workload: Workload, most: tuple[float, float], *, since_ms: int = 0
) -> tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]:
    """What is used at each settled step and the room for it, and the same of what is requested.

    With ``since_ms`` at those from then on alone.
    """
    within = np.where(np.isfinite(most), most, 1.0)
    counted = np.isfinite(most)
    room = np.ceil(np.minimum(workload.nodes.capacity[:, :2] * within, UNLIMITED)).astype(np.int64)
    settled = settled_steps(workload.use.times_ms, workload.use.settled_ms)
    steps = settled[workload.use.times_ms[settled] >= since_ms]
    used = [np.where(counted, _all_use(workload, int(step)), 0) for step in steps]
    # what is spread is rounded down on each node
    kept = (
        0
        if workload.nodes.reserved is None
        else workload.nodes.reserved.sum(axis=0) - workload.nodes.count
    )
    together = requested_at(workload, but_daemons=True)[steps] + np.maximum(kept, 0)
    return (np.floor(used).astype(np.int64).reshape(-1, 2), room), (
        together,
        workload.nodes.capacity,
    )


def demand_bound(workload: Workload, most: tuple[float, float] = (1.0, 1.0)) -> int:
    """A lower bound on nodes that run containers while no node's use exceeds its capacity.

    ``most`` is the share of the capacity that use may reach, of cpu and of memory; infinite where
    any use is fine. Use and background count for cpu and memory, requests for every further
    resource. The volume bound is taken at every settled step (every step where none is settled),
    the linear program at the one where it is largest: demand varies over time, and its peak
    decides.
    """
    steps = settled_steps(workload.use.times_ms, workload.use.settled_ms)
    needed = [volume_bound(*_demand(workload, int(step), most)) for step in steps]
    peak = int(steps[int(np.argmax(needed))])
    return max(*needed, linear_bound(*_demand(workload, peak, most)) or 0, 0)


def mean_bound(workload: Workload, most: tuple[float, float]) -> int:
    """A lower bound on nodes whose mean use, over nodes and settled steps, is within ``most``.

    Of k nodes the mean is at least U / (k c), where U is the mean over settled steps of all use,
    also the background of nodes that are not there, and c the largest capacity: so k >= U / (c m).
    What daemons use goes with their node, and is not counted.
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
    """A lower bound on nodes whose CPU use is within ``most`` at 99 % of the judged steps.

    Valid where a container stays on its node until it departs, and runs from its arrival on. Each
    node may be above ``most`` at m steps. Of any L steps, what its containers use at all but the m
    largest of their own is then at most (L - m) times what the node may use, and that holds for
    their sum over nodes too. The L steps are those with the most use. What daemons use goes with
    their node, and is not counted.
    """
    steps = settled_steps(workload.use.times_ms, workload.use.settled_ms)
    if not np.isfinite(most) or not workload.containers.count:
        return 0
    spare = len(steps) - rank_of(len(steps)) - 1
    use = np.stack([_cpu_at(workload, int(step)) for step in _busiest(workload, steps, spare)])
    needed = 0.0
    for times in _TIMES:
        some = use[: max(times * (spare + 1), 1)]
        kept = len(some) - spare
        if kept > 0:
            low = np.partition(some, kept - 1, axis=0)[:kept]
            needed = max(needed, low.sum(dtype=np.float64) / kept * (1 - _ROUNDING))
    room = -np.sort(-workload.nodes.capacity[:, 0].astype(np.float64)) * most
    return int(np.searchsorted(room.cumsum(), needed)) + 1 if needed else 0


def _busiest(workload: Workload, steps: IntArray, spare: int) -> IntArray:
    """The steps with the most CPU use, as many as are looked at together, the most first."""
    total = [_cpu_at(workload, int(step)).sum(dtype=np.float64) for step in steps]
    many = min(_TIMES[-1] * (spare + 1), max(_AT_ONCE // workload.containers.count, spare + 1))
    return np.asarray(steps[np.argsort(-np.array(total), kind="stable")[:many]])


def _cpu_at(workload: Workload, step: int) -> Float32Array:
    """CPU use at a step of each container but daemons, and of each node's background."""
    there = workload.present_but_daemons(step)
    return np.concatenate(
        [np.where(there, workload.use.at(step)[0], 0), workload.use.background[0, step]]
    ).astype(np.float32)


def _all_use(workload: Workload, step: int) -> FloatArray:
    """What containers but daemons use, and the background of all nodes: cpu, memory."""
    own = workload.use.background[:, step].sum(axis=1, dtype=np.float64)
    use = _use_of(workload, step, workload.present_but_daemons(step))
    return np.asarray((use.sum(axis=1, dtype=np.float64) + own) * (1 - _ROUNDING))


def _use_of(workload: Workload, step: int, some: BoolArray) -> Float32Array:
    """The use of some containers at a step, shape (2, some); all of them are not picked out."""
    use = workload.use.at(step)
    return use if some.all() else use[:, some]


def _demand(workload: Workload, step: int, most: tuple[float, float]) -> tuple[IntArray, IntArray]:
    """The demand, rounded down, and the room, rounded up."""
    present = workload.present_but_daemons(step)
    use = np.floor(_use_of(workload, step, present).T).astype(np.int64)
    own = np.floor(workload.use.background[:, step].T).astype(np.int64)
    counted = np.isfinite(most)
    use[:, ~counted] = 0
    asked = np.hstack([use, workload.containers.request[present, 2:]])
    share = np.where(counted, most, 1.0)
    limited = np.minimum(np.ceil(workload.nodes.capacity[:, :2] * share), UNLIMITED)
    usable = np.maximum(limited.astype(np.int64) - own, 0)
    room = np.hstack([usable, workload.nodes.capacity[:, 2:]])
    return asked, room
