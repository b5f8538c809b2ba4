"""Workload: what a replay takes. Nodes, containers in order of arrival, and usage over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tracekit.errors import TracekitError
from tracekit.replay.resources import BASE, CPU, MEMORY, NONZERO_DEFAULT

IntArray = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Nodes and containers as arrays; checked when made.

    Parameters
    ----------
    times_ms : int64, shape (steps,)
        Sampling times, ``step_ms`` apart.
    resources : tuple of str
        Columns of ``capacity``, ``request`` and so on; the first two are cpu_milli, memory_bytes.
    node_ids : tuple of str
    capacity : int64, shape (nodes, resources)
    container_ids, services : tuple of str, in order of arrival
    recorded_node : int64, shape (containers,)
        Where production ran the container, -1 when not known.
    arrival_ms, departure_ms : int64, shape (containers,)
        A container runs at ``arrival_ms <= time < departure_ms`` once it has a node.
    request, nonzero_request, limit : int64, shape (containers, resources)
        ``nonzero_request`` replaces unstated cpu and memory; a limit of 0 is none.
    usage : float32, shape (2, steps, containers)
        Use of millicores and of bytes; NaN where the container is not there.
    background : float32, shape (2, steps, nodes)
        Use of a node that no container of the workload explains.
    settled_ms : int
        Averages are over the samples from here on; before it the cluster is being filled.
    assumptions, facts : mapping
        Named assumptions with values; counts worth knowing about how the workload was made.
    """

    name: str
    step_ms: int
    times_ms: IntArray
    node_ids: tuple[str, ...]
    capacity: IntArray
    container_ids: tuple[str, ...]
    services: tuple[str, ...]
    recorded_node: IntArray
    arrival_ms: IntArray
    departure_ms: IntArray
    request: IntArray
    nonzero_request: IntArray
    limit: IntArray
    usage: NDArray[np.float32]
    background: NDArray[np.float32]
    settled_ms: int
    resources: tuple[str, ...] = BASE
    assumptions: Mapping[str, object] = field(default_factory=dict)
    facts: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_unique("node", self.node_ids)
        _check_unique("container", self.container_ids)
        _check_capacity(self)
        _check_times(self)
        _check_usage(self)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.node_ids)

    @property
    def containers(self) -> int:
        """Number of containers."""
        return len(self.container_ids)

    @property
    def recorded(self) -> bool:
        """Whether production's node is known for every container."""
        return bool(self.containers) and bool((self.recorded_node >= 0).all())

    def too_large(self) -> IntArray:
        """Containers whose request fits on no node, even an empty one; shape (found,)."""
        shapes, where = np.unique(self.request, axis=0, return_inverse=True)
        fits = np.array([bool((self.capacity >= shape).all(axis=1).any()) for shape in shapes])
        return np.flatnonzero(~fits[where.reshape(-1)]) if len(shapes) else np.empty(0, np.int64)

    def present(self, step: int) -> NDArray[np.bool_]:
        """Which containers exist at a sampling step, shape (containers,)."""
        now = self.times_ms[step]
        return np.asarray((self.arrival_ms <= now) & (now < self.departure_ms))


def nonzero(request: IntArray, stated: NDArray[np.bool_], resources: tuple[str, ...]) -> IntArray:
    """Requests with the scheduler's default where cpu or memory is not stated.

    Parameters
    ----------
    request, stated : shape (containers, resources)
    """
    defaults = np.array([NONZERO_DEFAULT.get(name, 0) for name in resources], dtype=np.int64)
    return np.asarray(np.where(stated, request, defaults))


def _check_unique(kind: str, ids: tuple[str, ...]) -> None:
    if not ids:
        raise TracekitError(f"the workload has no {kind}", hint=f"give at least one {kind}")
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = next(one for one in ids if one in seen or seen.add(one))  # type: ignore[func-returns-value]
        raise TracekitError(
            f"{kind} '{twice}' is there twice, expected every {kind} once",
            hint=f"a {kind} is one row of the workload's {kind}s",
        )


def _check_capacity(workload: Workload) -> None:
    base = workload.capacity[:, : len(BASE)]
    bad = np.argwhere(base <= 0)
    if len(bad):
        node, column = (int(at) for at in bad[0])
        raise TracekitError(
            f"node '{workload.node_ids[node]}' has {workload.resources[column]}"
            f" {base[node, column]}, expected more than 0",
            hint="leave out nodes without capacity",
        )
    negative = np.argwhere(workload.request < 0)
    if len(negative):
        at, column = (int(where) for where in negative[0])
        raise TracekitError(
            f"container '{workload.container_ids[at]}' requests {workload.request[at, column]}"
            f" {workload.resources[column]}, expected 0 or more"
        )


def _check_times(workload: Workload) -> None:
    wrong = np.flatnonzero(workload.departure_ms <= workload.arrival_ms)
    if len(wrong):
        at = int(wrong[0])
        raise TracekitError(
            f"container '{workload.container_ids[at]}' departs at {workload.departure_ms[at]} ms,"
            f" expected after its arrival at {workload.arrival_ms[at]} ms",
            hint="a departure_ms left empty means that it stays to the end",
        )
    if (np.diff(workload.arrival_ms) < 0).any():
        raise TracekitError("containers of a workload must be in order of arrival")


def _check_usage(workload: Workload) -> None:
    for step in range(len(workload.times_ms)):
        present = workload.present(step)
        missing = present & np.isnan(workload.usage[:, step]).any(axis=0)
        if missing.any():
            at = int(np.flatnonzero(missing)[0])
            raise TracekitError(
                f"container '{workload.container_ids[at]}' has no {CPU} or {MEMORY} usage at"
                f" {workload.times_ms[step]} ms, although it runs then",
                hint="usage must be a number wherever the container is there",
            )
