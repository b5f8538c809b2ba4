"""Node utilization: thresholds in percent, a turn as the plugins see it, and how they evict.

Source: sigs.k8s.io/descheduler @7d2b28bf: validation.go, nodeutilization.go, normalizer.go, and
evictPodsFromSourceNodes with its helpers: nodes give one after the other while others have room.
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
from tracekit.policy.rebalance._turn import Cycle, Refusal, Turn
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
    """Percent by the full name of the resource."""
    return {full_name(name): float(value) for name, value in thresholds}


def row(thresholds: Mapping[str, float], resources: Sequence[str]) -> FloatArray:
    """Percent in the order of the resources, NaN where there is no threshold."""
    return np.array([thresholds.get(name, np.nan) for name in resources], dtype=np.float64)


def check(field: str, thresholds: Thresholds) -> None:
    """Raise ParameterError when there is no threshold, or one outside 0..100."""
    if not thresholds:
        raise ParameterError(field, f"{field} must name a resource, got none")
    for name, value in thresholds:
        if not 0 <= value <= 100:
            raise ParameterError(field, f"{field} of {name} must be 0..100 percent, got {value:g}")


def check_pair(low: Thresholds, high: Thresholds, *, relative: bool) -> None:
    """Raise ParameterError when both do not fit together: other resources, or low above high."""
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


# Node usage in percent of capacity, 0..100 and beyond, as thresholds are stated. NaN stands for a
# value that is not known: a resource a node does not report, or lacks.


def percent_of(used: ArrayLike, capacity: ArrayLike) -> FloatArray:
    """``used / capacity * 100``, not clamped; 0 where there is no capacity, NaN where unknown.

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
    """Mean of each resource over the nodes that report it, shape (resources,); NaN where none."""
    known = ~np.isnan(percent)
    total, count = np.where(known, percent, 0.0).sum(axis=0), known.sum(axis=0)
    return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))


def shifted(values: FloatArray, by: ArrayLike) -> FloatArray:
    """``values + by``, unchanged where ``by`` is NaN, NaN where the value is."""
    return np.asarray(values + np.nan_to_num(np.asarray(by, dtype=np.float64), nan=0.0))


def below(percent: FloatArray, limit: ArrayLike) -> BoolArray:
    """Nodes with every resource at or below its limit, shape (nodes,).

    A resource without a limit (NaN) is ignored; one that is not known counts as 0.
    """
    return np.asarray(~above(percent, limit))


def above(percent: FloatArray, limit: ArrayLike) -> BoolArray:
    """Nodes with some resource over its limit, shape (nodes,)."""
    bound = np.nan_to_num(np.asarray(limit, dtype=np.float64), nan=np.inf)
    return np.asarray((np.nan_to_num(percent, nan=0.0) > bound).any(axis=-1))


def by_usage(used: ArrayLike, *, ascending: bool) -> IntArray:
    """Positions of nodes in order of their usage added up over resources, whatever the units.

    Millicores, bytes and counts are added as they are, so that memory decides. Equal ones stay in
    order.
    """
    total = np.asarray(used).sum(axis=1)
    return np.argsort(total if ascending else -total, kind="stable")


# The turn, and the loop.

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


def _goes_on(plan: Plan, used: FloatArray, target: FloatArray, budget: FloatArray) -> bool:
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
