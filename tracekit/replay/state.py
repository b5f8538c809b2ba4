"""The state of one replay: who runs where, what has been measured, and what of it is shown."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.cluster import Cluster
from tracekit.replay.constraints import Sharing
from tracekit.replay.measures import StepState, measure
from tracekit.replay.placement import PlacementPolicy
from tracekit.replay.snapshot import Container, Placed, Snapshot
from tracekit.replay.usage import SeriesUsage
from tracekit.replay.workload import Workload

IntArray = NDArray[np.int64]


class ReplayState:
    """What the engine changes, and the views a policy gets of it.

    Attributes
    ----------
    node, placed_ms : int64, shape (containers,)
        Where and when each container was placed, -1 for not yet.
    running : bool, shape (containers,)
    """

    def __init__(self, workload: Workload, policy: PlacementPolicy) -> None:
        self.workload = workload
        self.policy = policy
        self.cluster = Cluster(
            resources=workload.resources, capacity=workload.capacity, allocatable=workload.capacity
        )
        self.running = np.zeros(workload.containers, dtype=np.bool_)
        self.node = np.full(workload.containers, -1, dtype=np.int64)
        self.placed_ms = np.full(workload.containers, -1, dtype=np.int64)
        limits = workload.anti_affinity if policy.filtered else None
        self._sharing = None if limits is None else Sharing(limits, workload.nodes)
        self._kind = None if limits is None else limits.positions(workload.services)
        self._history: list[NDArray[np.float64]] = []
        self._usage: SeriesUsage | None = None

    def start(self, index: int, node: int, now: int) -> None:
        """Put a container on a node."""
        self.node[index], self.placed_ms[index], self.running[index] = node, now, True
        self._change(index, sign=1)

    def stop(self, index: int) -> None:
        """Take a running container off its node."""
        self.running[index] = False
        self._change(index, sign=-1)

    def open_nodes(self, index: int) -> NDArray[np.bool_] | None:
        """Which nodes anti-affinity leaves open to a container; None where there are no rules."""
        if self._sharing is None or self._kind is None:
            return None
        return self._sharing.open(int(self._kind[index]))

    def check_conservation(self) -> None:
        """Recount what is requested on every node from scratch; a difference is a bug."""
        counted = np.zeros_like(self.cluster.requested)
        at = np.flatnonzero(self.running)
        np.add.at(counted, self.node[at], self.workload.request[at])
        if not np.array_equal(counted, self.cluster.requested):
            raise AssertionError(f"{self.policy}: requested differs from the sum of placed")

    def container(self, index: int) -> Container:
        """The container as the policy sees it; copies, so that no later one can be reached."""
        load = self.workload
        return Container(
            id=load.container_ids[index],
            service=load.services[index],
            request=load.request[index].copy(),
            nonzero_request=load.nonzero_request[index].copy(),
            limit=load.limit[index].copy(),
            recorded_node=(
                int(load.recorded_node[index]) if "recorded" in self.policy.reads else None
            ),
        )

    def snapshot(self, now: int) -> Snapshot:
        """The cluster as the policy sees it at this time."""
        reads = self.policy.reads
        return self.cluster.snapshot(
            now,
            usage=self._known_usage(now) if "usage" in reads else None,
            placed=self._known_placed() if "placed" in reads else None,
        )

    def sample(self, step: int, pending: int) -> dict[str, Any]:
        """Measure a sampling step: one row of measures."""
        load = self.workload
        state = StepState(
            time_ms=int(load.times_ms[step]),
            settled=bool(load.times_ms[step] >= load.settled_ms),
            pending=pending,
            used=self._used(step),
            capacity=load.capacity[:, :2].astype(np.float64),
            containers=self.cluster.containers,
        )
        if "usage" in self.policy.reads:
            self._history.append(state.used / state.capacity)
        return measure(state)

    def _change(self, index: int, *, sign: int) -> None:
        load = self.workload
        if self._sharing is not None and self._kind is not None:
            moved = self._sharing.add if sign > 0 else self._sharing.remove
            moved(int(self._kind[index]), int(self.node[index]))
        self.cluster.change(
            int(self.node[index]),
            load.request[index],
            load.nonzero_request[index],
            np.maximum(load.limit[index], load.request[index]),
            sign=sign,
        )

    def _known_usage(self, now: int) -> SeriesUsage:
        """Samples of complete steps, up to the policy's metric time, as far back as it looks."""
        load = self.workload
        until = min(now - load.step_ms, self.policy.metric_time_ms(now))
        known = int(np.searchsorted(load.times_ms[: len(self._history)], until, side="right"))
        newest = int(load.times_ms[known - 1]) if known else None
        if self._usage is None or self._usage.time_ms != newest:
            window = self._history[max(known - self.policy.metric_samples(), 0) : known]
            shape = (0, load.nodes, 2)
            self._usage = SeriesUsage(np.stack(window) if window else np.empty(shape), newest)
        return self._usage

    def _known_placed(self) -> Placed:
        load, at = self.workload, np.flatnonzero(self.running)
        return Placed(
            node=self.node[at],
            time_ms=self.placed_ms[at],
            request=load.request[at],
            limit=load.limit[at],
            service=tuple(load.services[index] for index in at),
        )

    def _used(self, step: int) -> NDArray[np.float64]:
        """Background and running containers, shape (nodes, 2), summed in order of arrival."""
        load, at = self.workload, np.flatnonzero(self.running)
        columns = [
            load.background[resource, step]
            + np.bincount(self.node[at], load.usage[resource, step][at], load.nodes)
            for resource in range(2)
        ]
        return np.stack(columns, axis=1)
