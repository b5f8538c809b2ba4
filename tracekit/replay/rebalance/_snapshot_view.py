"""A snapshot of the replay as the descheduler would see it.

Daemons are not evicted, as the descheduler leaves pods of daemonsets alone. The replay knows no
owners or namespaces: every other container may be evicted. Quality of service follows from requests
and limits. Whether another node takes a container is asked of room alone, not of constraints.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from tracekit.arrays import BoolArray, FloatArray, IntArray
from tracekit.replay.rebalance._container_usage import measured_amounts
from tracekit.replay.rebalance._eviction import Acceptance, Candidates, View
from tracekit.replay.rebalance._order import quality_of_service, turns
from tracekit.replay.view.snapshot import Snapshot
from tracekit.replay.workload.resources import BASE, CPU, PODS

UsageSource = Literal["requests", "metrics_server", "prometheus"]

#: What the descheduler calls a node's value of a Prometheus query, in percent.
METRIC = "MetricResource"


def view_of(
    snapshot: Snapshot, thresholds: Iterable[str], *, source: UsageSource, node_fit: bool
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
    """What nodes use, shape (nodes, resources), and what each container brings."""
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
