"""Predicted CPU of pods, and of those placed too lately to show in the metrics.

Source: scheduler-plugins 903da7df, pkg/trimaran/targetloadpacking and pkg/trimaran/handler.go.
"""

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.cluster.resources import CPU
from tracekit.policy.placement._parts.formula import either
from tracekit.policy.placement._parts.integers import half_away
from tracekit.policy.view.pod import Pod, PodContainer
from tracekit.policy.view.recorded import Recorded
from tracekit.policy.view.snapshot import Container, Placed

#: A pod bound less than this before the end of the metrics' window may be missing in them.
REPORTING_S = 60


@dataclass(frozen=True, kw_only=True)
class Predictor:
    """CPU that pods are expected to use, in millicores: limit, else request times a factor."""

    default_milli: int
    multiplier: float

    def container(self, container: Container) -> int:
        """Expected use of the container that waits."""
        if container.pod is not None:
            return self.pod(container.pod)
        return int(self.amounts(container.request[:1], container.limit[:1])[0])

    def pod(self, pod: Pod) -> int:
        """Sum over the containers, and overhead; init containers are not counted."""
        return sum(map(self._stated, pod.containers)) + pod.overhead.get(CPU, 0)

    def amounts(self, request: IntArray, limit: IntArray) -> IntArray:
        """Expected use of pods of one container each; an amount of 0 was not stated."""
        return np.asarray(expected_milli(request, limit, self.default_milli, self.multiplier))

    def missing(self, placed: Placed, nodes: int, window_end_s: int) -> IntArray:
        """Expected use of what was placed lately, shape (nodes,)."""
        late = placed.time_ms // 1000 > window_end_s - REPORTING_S
        expected = self.amounts(placed.request[late, 0], placed.limit[late, 0])
        total = np.zeros(nodes, dtype=np.int64)
        np.add.at(total, placed.node[late], expected)
        return total

    def recorded_missing(self, recorded: Recorded) -> IntArray:
        """The same of a recorded case, shape (nodes,)."""
        oldest = recorded.window_end_s - REPORTING_S
        return np.array(
            [
                sum(
                    self.pod(one.pod)
                    for one in recorded.recent.get(node, ())
                    if one.time_s > oldest
                )
                for node in recorded.nodes
            ],
            dtype=np.int64,
        )

    def _stated(self, container: PodContainer) -> int:
        if CPU in container.limits:
            return container.limits[CPU]
        if CPU in container.requests:
            return int(half_away(container.requests[CPU] * self.multiplier))
        return self.default_milli


def expected_milli(request: Any, limit: Any, default: Any, multiplier: Any) -> Any:
    """The limit, else the request times the factor, else the default; 0 was not stated."""
    asked = either(request > 0, half_away(request * multiplier), default)
    return either(limit > 0, limit, asked)


def surviving(ages_s: Sequence[float | None]) -> list[int]:
    """Positions that the clean-up of a node's recent pods leaves, oldest first.

    It drops those older than a minute from the front, found by bisection; when all are older it
    drops none. An age of None is older than any.
    """

    def young(age: Any) -> bool:
        return age is not None and age < REPORTING_S

    first = bisect.bisect_left(ages_s, True, key=young)
    return list(range(first if first < len(ages_s) else 0, len(ages_s)))
