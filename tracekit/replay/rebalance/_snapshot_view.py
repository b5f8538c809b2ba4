"""A snapshot of the replay as the descheduler would see it.

Daemons are not evicted, as the descheduler leaves pods of daemonsets alone. The replay knows no
owners or namespaces: every other container may be evicted. Quality of service follows from requests
and limits. Whether another node takes a container is asked of room alone, not of constraints.
"""

from collections.abc import Iterable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tracekit.arrays import BoolArray, FloatArray, IntArray
from tracekit.replay.rebalance._eviction import Acceptance, Candidates, View
from tracekit.replay.view.snapshot import Snapshot
from tracekit.replay.workload.resources import BASE, CPU, PODS


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


# Whose turn it is to be evicted: priority, quality of service, size. Source:
# SortPodsBasedOnPriorityLowToHigh of sigs.k8s.io/descheduler @7d2b28bf; the quality of service of
# kubernetes v1.34. Upstream leaves equals in no order; here the smallest goes first.

#: Classes in the order of their eviction.
BEST_EFFORT, BURSTABLE, GUARANTEED = 0, 1, 2


def quality_of_service(requests: ArrayLike, limits: ArrayLike) -> IntArray:
    """Class of each container, shape (containers,), from cpu and memory.

    Parameters
    ----------
    requests, limits : array, shape (containers, 2)
        0 stands for none. Guaranteed: both limits stated and equal to the requests; best effort:
        nothing stated at all.
    """
    asked, most = np.asarray(requests), np.asarray(limits)
    nothing = (asked <= 0).all(axis=1) & (most <= 0).all(axis=1)
    exact = (most > 0).all(axis=1) & (asked == most).all(axis=1)
    return np.where(nothing, BEST_EFFORT, np.where(exact, GUARANTEED, BURSTABLE)).astype(np.int64)


def turns(*, priority: ArrayLike, quality: ArrayLike, size: ArrayLike) -> IntArray:
    """Rank of each container's eviction, 0 first, shape (containers,).

    Lowest priority first (-inf for none stated), then quality of service, then the smallest
    request, then the order given.
    """
    order = np.lexsort((np.asarray(size), np.asarray(quality), np.asarray(priority)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank


UsageSource = Literal["requests", "metrics_server", "prometheus"]

#: What the descheduler calls a node's value of a Prometheus query, in percent.
METRIC = "MetricResource"


def view_of(
    snapshot: Snapshot,
    thresholds: Iterable[str],
    *,
    source: UsageSource,
    node_fit: bool,
    node_limit: int | None,
) -> View:
    """The view of a snapshot: resources with a threshold, and cpu, memory and pods.

    A resource that the cluster does not have is left out, pods among them: then their number is
    not limited.
    """
    base = [*BASE, PODS]
    wanted = [METRIC] if source == "prometheus" else [*dict.fromkeys([*thresholds, *base])]
    names = tuple(n for n in wanted if n == METRIC or snapshot.column(n) is not None)
    used, amounts = _amounts(snapshot, names, source)
    nodes, count = len(snapshot.allocatable), len(snapshot.placed.node)
    daemon = snapshot.placed.daemon
    return View(
        resources=names,
        used=used,
        capacity=_capacity(snapshot, names),
        schedulable=np.ones(nodes, dtype=np.bool_) if snapshot.lost is None else ~snapshot.lost,
        containers=Candidates(
            node=snapshot.placed.node,
            used=amounts,
            counted=np.ones(count, dtype=np.bool_),
            removable=np.ones(count, dtype=np.bool_) if daemon is None else ~daemon,
            turn=_turns(snapshot),
            accepted=_acceptance(snapshot) if node_fit else _anyone,
        ),
        node_limit=node_limit,
    )


def _capacity(snapshot: Snapshot, names: tuple[str, ...]) -> FloatArray:
    hundred = np.full(len(snapshot.allocatable), 100.0)
    columns = [snapshot.column(name) for name in names]
    return np.stack(
        [hundred if at is None else snapshot.allocatable[:, at].astype(float) for at in columns],
        axis=1,
    )


def _amounts(
    snapshot: Snapshot, names: tuple[str, ...], source: UsageSource
) -> tuple[FloatArray, IntArray | None]:
    """The use of nodes, shape (nodes, resources), and of each container."""
    if source == "prometheus":
        share = np.nan_to_num(snapshot.usage.latest(snapshot.resources.index(CPU)), nan=0.0)
        return np.trunc(100.0 * np.clip(share, 0.0, 1.0))[:, None], None
    columns = [snapshot.resources.index(name) for name in names]
    requested = snapshot.requested[:, columns].astype(np.float64)
    asked = snapshot.placed.request[:, columns]
    if source == "requests":
        return requested, asked
    measured = requested
    for at, column in enumerate(columns):
        if snapshot.resources[column] in BASE:
            fraction = np.nan_to_num(snapshot.usage.latest(column), nan=0.0)
            measured[:, at] = np.rint(fraction * snapshot.capacity[:, column])
    return measured, measured_amounts(snapshot)[:, columns]


def _turns(snapshot: Snapshot) -> IntArray:
    placed, base = snapshot.placed, slice(len(BASE))
    return turns(
        priority=np.zeros(len(placed.node)) if placed.priority is None else placed.priority,
        quality=quality_of_service(placed.request[:, base], placed.limit[:, base]),
        size=placed.request[:, base].sum(axis=1),
    )


def _anyone(index: int, destinations: IntArray) -> bool:  # noqa: ARG001
    return True


def _acceptance(snapshot: Snapshot) -> Acceptance:
    """Whether another node has room for a container's request; asked once per shape."""
    left = snapshot.allocatable - snapshot.requested
    placed = snapshot.placed
    known: dict[bytes, BoolArray] = {}

    def accepted(index: int, destinations: IntArray) -> bool:  # noqa: ARG001
        request = placed.request[index]
        fits = known.get(request.tobytes())
        if fits is None:
            fits = ((left >= request) | (request == 0)).all(axis=1)
            fits &= True if snapshot.lost is None else ~snapshot.lost
            known[request.tobytes()] = fits
        return int(fits.sum()) > int(fits[placed.node[index]])

    return accepted
