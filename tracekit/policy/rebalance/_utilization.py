"""A turn as the plugins for node utilization see it, and the loop by which they evict.

Source: evictPodsFromSourceNodes and its helpers, sigs.k8s.io/descheduler @7d2b28bf: nodes give one
after the other while others have room.
"""

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.cluster.resources import BASE, CPU, PODS
from tracekit.policy.rebalance._turn import Cycle, Refusal, Turn
from tracekit.policy.view.pods import BEST_EFFORT, BURSTABLE, GUARANTEED
from tracekit.policy.view.snapshot import Snapshot

#: Whether some destination and some other node would take a container: position, destinations.
Acceptance = Callable[[int, IntArray], bool]
#: Evicts a container, by its position, or says which limit keeps it.
Eviction = Callable[[int], Refusal | None]

NodeLimit = Annotated[
    int | None, About("The most that the evictor lets go from one node at a time.", minimum=0)
]


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """Containers that run, as the descheduler sees them; shape (containers,) unless said.

    Parameters
    ----------
    node : int64
    used : int64, shape (containers, resources), optional
        What an eviction takes off its node; None when the source of usage cannot tell.
    counted : bool
        Whether ``used`` is known; a container it is not known of is never evicted.
    removable : bool
        Whether the evictor may evict it at all.
    turn : int64
        Rank of its eviction: lowest priority first, then quality of service, then size.
    accepted, evict : callable
        Asked, and called, when its turn comes.
    """

    node: IntArray
    used: IntArray | None
    counted: BoolArray
    removable: BoolArray
    turn: IntArray
    accepted: Acceptance
    evict: Eviction


@dataclass(frozen=True, kw_only=True)
class View:
    """The cluster as a rebalance policy of the descheduler sees it.

    Parameters
    ----------
    resources : tuple of str
    used, capacity : float64, shape (nodes, resources)
        Whole amounts; capacity is NaN where a node lacks the resource.
    schedulable : bool, shape (nodes,)
    """

    resources: tuple[str, ...]
    used: FloatArray
    capacity: FloatArray
    schedulable: BoolArray
    containers: Candidates


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Which nodes give, which take, and when to stop.

    Parameters
    ----------
    sources, destinations : int64
        Node positions; sources in the order of their turn.
    target : float64, shape (nodes, resources)
        How far destinations may be filled.
    to_target : bool
        Whether a source is done once it is at or below the target in every resource.
    node_limit : int, optional
        The most that the policy evicts per node.
    eligible : bool, shape (containers,)
        Containers that the policy considers.
    """

    sources: IntArray
    destinations: IntArray
    target: FloatArray
    to_target: bool
    node_limit: int | None
    eligible: BoolArray


def target_amounts(capacity: FloatArray, percent: FloatArray) -> FloatArray:
    """Whole amount that a percentage of the capacity is, shape (nodes, resources).

    The full capacity where there is no percentage (NaN), 0 where a node lacks the resource.
    """
    known = np.nan_to_num(capacity, nan=0.0)
    share = np.trunc(np.nan_to_num(percent, nan=0.0) * 0.01 * known)
    return np.where(np.isnan(percent), known, share)


def evictions(view: View, plan: Plan) -> IntArray:
    """Positions of the containers to evict, in the order of their eviction."""
    taken = view.used[plan.destinations]
    budget = (plan.target[plan.destinations] - taken).sum(axis=0)
    pool = view.containers
    may = np.flatnonzero(pool.removable & plan.eligible)
    ordered = may[np.lexsort((pool.turn[may], pool.node[may]))]
    first = np.searchsorted(pool.node[ordered], np.arange(len(view.used) + 1))
    evicted: list[int] = []
    for node in plan.sources:
        queue = ordered[first[node] : first[node + 1]]
        some, refused = _from_node(view, plan, int(node), queue, budget)
        evicted += some
        if refused == "total":
            break
    return np.array(evicted, dtype=np.int64)


def _from_node(
    view: View, plan: Plan, node: int, queue: IntArray, budget: FloatArray
) -> tuple[list[int], Refusal | None]:
    """Evict from one node; what is evicted is taken off ``budget``. And the limit that ended it."""
    pool, used = view.containers, view.used[node].copy()
    evicted: list[int] = []
    if not _goes_on(plan, used, plan.target[node], budget):
        return [], None
    for index in queue.tolist():
        if plan.node_limit is not None and len(evicted) >= plan.node_limit:
            break
        if not pool.counted[index] or not pool.accepted(index, plan.destinations):
            continue
        refused = pool.evict(index)
        if refused in ("node", "total"):
            return evicted, refused
        if refused is not None:
            continue
        evicted.append(index)
        if pool.used is None:
            if plan.node_limit is None:
                break  # nothing says what one eviction brings, so one is all
            continue
        used -= pool.used[index]
        budget -= pool.used[index]
        if not _goes_on(plan, used, plan.target[node], budget):
            break
    return evicted, None


def _goes_on(
    plan: Plan,
    used: FloatArray,
    target: FloatArray,
    budget: FloatArray,
) -> bool:
    if plan.to_target and not (used > target).any():
        return False
    return bool((budget > 0).all())


def measured_amounts(snapshot: Snapshot) -> IntArray:
    """Amounts each running container uses, shape (placed, resources).

    cpu and memory as measured at the newest sample; where a container was not measured, its part of
    what its node uses, by requests. Other resources, pods among them, as requested.
    """
    placed = snapshot.placed
    amounts = placed.request.copy()
    for column in range(len(BASE)):
        use = _share_of_node(snapshot, column)
        if placed.usage is not None:
            own = placed.usage[:, column]
            use = np.where(np.isnan(own), use, own)
        amounts[:, column] = np.rint(use)
    return amounts


def _share_of_node(snapshot: Snapshot, column: int) -> FloatArray:
    placed = snapshot.placed
    requested = snapshot.requested[:, column].astype(np.float64)
    used = np.nan_to_num(snapshot.usage.latest(column), nan=0.0) * snapshot.capacity[:, column]
    per_unit = np.divide(used, requested, out=np.zeros(len(used)), where=requested > 0)
    return np.asarray(placed.request[:, column] * per_unit[placed.node])


UsageSource = Literal["requests", "metrics_server", "prometheus"]

#: What the descheduler calls a node's value of a Prometheus query, in percent.
METRIC = "MetricResource"


def view_of(turn: Turn, thresholds: Iterable[str], *, source: UsageSource) -> View:
    """The view of a turn: listed nodes; resources with a threshold, and cpu, memory and pods.

    A resource that the cluster does not have is left out, pods among them: then their number is
    not limited.
    """
    cycle = turn.cycle
    snapshot, placed = cycle.snapshot, cycle.snapshot.placed
    base = [*BASE, PODS]
    wanted = [METRIC] if source == "prometheus" else [*dict.fromkeys([*thresholds, *base])]
    names = tuple(n for n in wanted if n == METRIC or snapshot.column(n) is not None)
    used, amounts = _amounts(cycle, names, source)
    listed = np.flatnonzero(cycle.listed)
    place = np.full(len(cycle.listed), -1, dtype=np.int64)
    place[listed] = np.arange(len(listed))
    return View(
        resources=names,
        used=used[listed],
        capacity=_capacity(snapshot, names)[listed],
        schedulable=~cycle.pods.closed[listed],
        containers=Candidates(
            node=place[placed.node],
            used=amounts,
            counted=np.ones(len(placed.node), dtype=np.bool_),
            removable=turn.may,
            turn=turns_of(turn),
            accepted=acceptance(turn, listed),
            evict=turn.evict,
        ),
    )


def _capacity(snapshot: Snapshot, names: tuple[str, ...]) -> FloatArray:
    hundred = np.full(len(snapshot.allocatable), 100.0)
    columns = [snapshot.column(name) for name in names]
    return np.stack(
        [hundred if at is None else snapshot.allocatable[:, at].astype(float) for at in columns],
        axis=1,
    )


def _amounts(
    cycle: Cycle, names: tuple[str, ...], source: UsageSource
) -> tuple[FloatArray, IntArray | None]:
    """The use of nodes, shape (nodes, resources), and of each container."""
    snapshot = cycle.snapshot
    if source == "prometheus":
        share = np.nan_to_num(snapshot.usage.latest(snapshot.resources.index(CPU)), nan=0.0)
        return np.trunc(100.0 * np.clip(share, 0.0, 1.0))[:, None], None
    columns = [snapshot.resources.index(name) for name in names]
    requested = cycle.requested[:, columns].astype(np.float64)
    asked = snapshot.placed.request[:, columns]
    if source == "requests":
        return requested, asked
    measured = requested
    for at, column in enumerate(columns):
        if snapshot.resources[column] in BASE:
            fraction = np.nan_to_num(snapshot.usage.latest(column), nan=0.0)
            measured[:, at] = np.rint(fraction * snapshot.capacity[:, column])
    return measured, measured_amounts(snapshot)[:, columns]


def turns_of(turn: Turn) -> IntArray:
    """Rank of each pod's eviction, 0 first, shape (placed,).

    By priority (-inf for none stated), quality of service, who does not prefer to stay, request.
    Upstream (SortPodsBasedOnPriorityLowToHigh) leaves equals in no order; here the smallest goes
    first.
    """
    cycle, base = turn.cycle, slice(len(BASE))
    placed = cycle.snapshot.placed
    size, most = placed.request[:, base], placed.limit[:, base]
    nothing = (size <= 0).all(axis=1) & (most <= 0).all(axis=1)
    exact = (most > 0).all(axis=1) & (size == most).all(axis=1)
    counted = np.where(nothing, BEST_EFFORT, np.where(exact, GUARANTEED, BURSTABLE))
    stated = cycle.each(lambda pod: pod.quality, np.int64)
    kept = cycle.each(lambda pod: "keep" in pod.marks)
    quality = np.where(stated < 0, counted, stated)
    priority = cycle.each(lambda pod: pod.priority, np.float64)
    order = np.lexsort((size.sum(axis=1), kept, quality, priority))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank


def acceptance(turn: Turn, listed: IntArray) -> Acceptance:
    """Whether a pod tolerates every taint of a destination, and the evictor finds it a node."""
    pods, text = turn.cycle.pods, turn.cycle.text
    taints = pods.taint_count()

    @functools.cache
    def goes(at: int) -> BoolArray:
        # upstream asks for as many tolerations as there are taints before it looks at them
        enough = len(pods.texts[at].bears) >= taints
        return np.asarray(enough & pods.tolerates(at, lambda _: True))

    def accepted(index: int, destinations: IntArray) -> bool:
        if goes(int(text[index]))[listed[destinations]].any():
            return turn.movable(index)
        turn.cycle.stays[turn.strategy, "taints"].add(index)
        return False

    return accepted
