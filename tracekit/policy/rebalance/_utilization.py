"""The node utilization plugins: thresholds in percent, their view of a turn, their evictions.

Source: sigs.k8s.io/descheduler @7d2b28bf: validation.go, nodeutilization.go, normalizer.go, and
evictPodsFromSourceNodes with its helpers, which empty source nodes in turn while destinations have
room.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.parameters import About, ParameterError
from tracekit.cluster.resources import BASE, CPU, PODS, full_name
from tracekit.policy.rebalance._turn import Cycle, PluginRun, Refusal
from tracekit.policy.view.pods import BEST_EFFORT, BURSTABLE, GUARANTEED
from tracekit.policy.view.snapshot import Snapshot

#: Percent by resource; written ``cpu:20+memory:20``.
Thresholds = tuple[tuple[str, float], ...]
Underused = Annotated[
    Thresholds, About("A node at or below all of these is underused, percent of allocatable.")
]
UNDERUSED: Underused = (("cpu", 20.0), ("memory", 20.0), ("pods", 20.0))
FewNodes = Annotated[
    int, About("Do nothing while no more nodes than this are underused.", minimum=0)
]


def named(thresholds: Thresholds) -> dict[str, float]:
    """Return a mapping of the resource's full name, such as cpu_milli, to percent."""
    return {full_name(name): float(value) for name, value in thresholds}


def row(thresholds: Mapping[str, float], resources: Sequence[str]) -> FloatArray:
    """Return thresholds in percent as an array by resource; NaN for a resource without one."""
    return np.array([thresholds.get(name, np.nan) for name in resources], dtype=np.float64)


def check(field: str, thresholds: Thresholds) -> None:
    """Raise ParameterError for thresholds of no resource, or outside 0..100 percent."""
    if not thresholds:
        raise ParameterError(field, f"{field} must name a resource, got none")
    for name, value in thresholds:
        if not 0 <= value <= 100:
            raise ParameterError(field, f"{field} of {name} must be 0..100 percent, got {value:g}")


def check_pair(low: Thresholds, high: Thresholds, *, relative: bool) -> None:
    """Raise ParameterError if resources differ or, unless ``relative``, a low is above its high."""
    lower, upper = named(low), named(high)
    if set(lower) != set(upper):
        raise ParameterError(
            "target_thresholds",
            f"thresholds and target_thresholds must name the same resources, got"
            f" {', '.join(lower)} and {', '.join(upper)}",
        )
    for name, value in lower.items():
        if value > upper[name] and not relative:
            raise ParameterError(
                "thresholds",
                f"threshold {value:g} of {name} must not be above its target {upper[name]:g}",
            )


# Node usage in percent of capacity, like thresholds; it may be above 100. NaN stands for an unknown
# value: a resource that a node lacks or does not report.


def percent_of(used: ArrayLike, capacity: ArrayLike) -> FloatArray:
    """Return ``used / capacity * 100``; 0 for a capacity of 0, NaN where either is NaN.

    Parameters
    ----------
    used, capacity : array, shape (nodes, resources)
    """
    part, whole = np.broadcast_arrays(
        np.asarray(used, dtype=np.float64), np.asarray(capacity, dtype=np.float64)
    )
    share = np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)
    return np.where(np.isnan(part) | np.isnan(whole), np.nan, share * 100.0)


def mean_percent(percent: FloatArray) -> FloatArray:
    """Return the mean over nodes of each resource, (resources,); NaN entries do not count."""
    reported = ~np.isnan(percent)
    total, count = np.where(reported, percent, 0.0).sum(axis=0), reported.sum(axis=0)
    return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))


def below(percent: FloatArray, limit: ArrayLike) -> BoolArray:
    """Return the nodes with every resource at or below its limit, shape (nodes,).

    A resource whose limit is NaN is ignored. A percentage of NaN counts as 0.
    """
    return np.asarray(~above(percent, limit))


def above(percent: FloatArray, limit: ArrayLike) -> BoolArray:
    """Return the nodes with at least one resource above its limit, shape (nodes,)."""
    bound = np.nan_to_num(np.asarray(limit, dtype=np.float64), nan=np.inf)
    return np.asarray((np.nan_to_num(percent, nan=0.0) > bound).any(axis=-1))


def by_usage(used: ArrayLike, *, ascending: bool) -> IntArray:
    """Return node positions sorted by total use, the plain sum over resources, as upstream does.

    Millicores, bytes and counts are added without conversion, so that memory decides. Nodes of
    equal use stay in order.
    """
    total = np.asarray(used).sum(axis=1)
    return np.argsort(total if ascending else -total, kind="stable")


# The view of a turn, and the loop of evictions.

#: From a container's position and the destinations to whether the container may be evicted: a
#: destination tolerates it, and with ``nodeFit`` it fits another node.
Acceptance = Callable[[int, IntArray], bool]
#: Evicts a container by its position, or returns the limit that refuses it.
Eviction = Callable[[int], Refusal | None]

NodeLimit = Annotated[
    int | None, About("The most evictions from one node at a time, over all plugins.", minimum=0)
]


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """The running containers that ``evictions`` chooses from; arrays of shape (containers, ...).

    Parameters
    ----------
    node : int64
        The container's node as a position in ``View``, -1 for a node that is not listed.
    used : int64, shape (containers, resources), optional
        The use that an eviction takes off the node; None if the source of usage does not say it.
    counted : bool
        Whether the use of the container is known; a container of unknown use is never evicted.
    removable : bool
        Whether the settings of the evictor allow the eviction.
    turn : int64
        The rank in the order of eviction, 0 first; see ``turns_of``.
    accepted, evict : callable
        The test before an eviction, and the function that evicts.
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
    """The listed nodes and the running containers, as a node utilization plugin sees them.

    Parameters
    ----------
    resources : tuple of str
    used, capacity : float64, shape (nodes, resources)
        Whole amounts; the capacity is NaN where a node lacks the resource.
    schedulable : bool, shape (nodes,)
        Nodes that are not cordoned.
    containers : Candidates
    """

    resources: tuple[str, ...]
    used: FloatArray
    capacity: FloatArray
    schedulable: BoolArray
    containers: Candidates


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The nodes that ``evictions`` takes containers off, those that may receive them, and limits.

    Parameters
    ----------
    sources, destinations : int64
        Positions of nodes; sources are emptied in this order.
    target : float64, shape (nodes, resources)
        The use up to which destinations may be filled, and down to which sources are emptied.
    to_target : bool
        Whether a source is finished when every resource is at or below the target.
    node_limit : int, optional
        The most evictions of the policy from one node.
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
    """Return percentages of capacities as amounts, rounded down, shape (nodes, resources).

    A percentage of NaN gives the full capacity. A capacity of NaN gives 0.
    """
    whole = np.nan_to_num(capacity, nan=0.0)
    share = np.trunc(np.nan_to_num(percent, nan=0.0) * 0.01 * whole)
    return np.where(np.isnan(percent), whole, share)


def evictions(view: View, plan: Plan) -> IntArray:
    """Evict containers by a plan, and return their positions in order."""
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
    """The containers evicted from one node, and the limit that ended it; reduces ``budget``."""
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
                break  # the gain of an eviction is unknown, so that one is all
            continue
        used -= pool.used[index]
        budget -= pool.used[index]
        if not _goes_on(plan, used, plan.target[node], budget):
            break
    return evicted, None


def _goes_on(plan: Plan, used: FloatArray, target: FloatArray, budget: FloatArray) -> bool:
    if plan.to_target and not (used > target).any():
        return False
    return bool((budget > 0).all())


def measured_amounts(snapshot: Snapshot) -> IntArray:
    """Return the amounts that each running container uses, shape (placed, resources).

    cpu and memory are those of the newest sample. A container without a sample gets a part of its
    node's use in proportion to requests. For other resources, and for pods, the request counts as
    use.
    """
    placed = snapshot.placed
    amounts = placed.request.copy()
    for column in range(len(BASE)):
        requested = snapshot.requested[:, column].astype(np.float64)
        used = np.nan_to_num(snapshot.usage.latest(column), nan=0.0) * snapshot.capacity[:, column]
        per_unit = np.divide(used, requested, out=np.zeros(len(used)), where=requested > 0)
        use = placed.request[:, column] * per_unit[placed.node]
        if placed.usage is not None:
            own = placed.usage[:, column]
            use = np.where(np.isnan(own), use, own)
        amounts[:, column] = np.rint(use)
    return amounts


UsageSource = Literal["requests", "metrics_server", "prometheus"]

#: The descheduler's name of a node's value of a Prometheus query, in percent.
METRIC = "MetricResource"


def view_of(turn: PluginRun, thresholds: Iterable[str], *, source: UsageSource) -> View:
    """Return the view of a turn: its listed nodes, and all placed containers.

    The resources are those of ``thresholds``, cpu, memory and pods, as far as the cluster has them.
    For the source 'prometheus' the only resource is ``METRIC``.
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
    if source == "requests":
        return requested, snapshot.placed.request[:, columns]
    measured = requested
    for at, column in enumerate(columns):
        if snapshot.resources[column] in BASE:
            fraction = np.nan_to_num(snapshot.usage.latest(column), nan=0.0)
            measured[:, at] = np.rint(fraction * snapshot.capacity[:, column])
    return measured, measured_amounts(snapshot)[:, columns]


def turns_of(turn: PluginRun) -> IntArray:
    """Return the rank of each pod in the order of eviction, 0 first, shape (placed,).

    The order is by priority, then quality of service, then whether an annotation prefers no
    eviction, then request; low values and pods without the annotation come first. Upstream
    (SortPodsBasedOnPriorityLowToHigh) does not order pods by request.
    """
    cycle, base = turn.cycle, slice(len(BASE))
    placed = cycle.snapshot.placed
    size, most = placed.request[:, base], placed.limit[:, base]
    nothing = (size <= 0).all(axis=1) & (most <= 0).all(axis=1)
    exact = (most > 0).all(axis=1) & (size == most).all(axis=1)
    counted = np.where(nothing, BEST_EFFORT, np.where(exact, GUARANTEED, BURSTABLE))
    stated = cycle.each(lambda pod: pod.quality, np.int64)
    prefers_to_stay = cycle.each(lambda pod: "keep" in pod.marks)
    quality = np.where(stated < 0, counted, stated)
    priority = cycle.each(lambda pod: pod.priority, np.float64)
    order = np.lexsort((size.sum(axis=1), prefers_to_stay, quality, priority))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank


def acceptance(turn: PluginRun, listed: IntArray) -> Acceptance:
    """Return a test whether a pod is movable and tolerates all taints of some destination."""
    pods, text = turn.cycle.pods, turn.cycle.text
    taints = pods.taint_count()

    @functools.cache
    def tolerates_all(at: int) -> BoolArray:
        # upstream first requires as many tolerations as the node has taints
        enough = len(pods.texts[at].tolerations) >= taints
        return np.asarray(enough & pods.tolerates(at, lambda _: True))

    def accepted(index: int, destinations: IntArray) -> bool:
        if tolerates_all(int(text[index]))[listed[destinations]].any():
            return turn.movable(index)
        turn.cycle.staying[turn.strategy, "taints"].add(index)
        return False

    return accepted
