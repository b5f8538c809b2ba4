"""Target load packing: fill nodes up to a target CPU utilisation, then spread."""

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.cluster.resources import CPU
from tracekit.policy.placement import Reads, Scores, UsedBy
from tracekit.policy.placement._parts.formula import either
from tracekit.policy.placement._parts.load import LoadAware, Reading, last_level, metric_provider
from tracekit.policy.placement._parts.requested import half_away
from tracekit.policy.view.pods import Pod, PodContainer
from tracekit.policy.view.recorded import Recorded
from tracekit.policy.view.snapshot import Container, Placed, Snapshot


@dataclass(frozen=True, kw_only=True)
class TargetLoadPacking(LoadAware):
    """Pack by predicted CPU use: best just at the target, worse above it than when idle."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "limits", "usage", "placed"})
    source: ClassVar[str] = (
        "scheduler-plugins 903da7df pkg/trimaran/targetloadpacking (TargetLoadPacking)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"
    best_score = 100
    reading: ClassVar[Reading] = staticmethod(last_level)

    target_utilization: Annotated[
        int, About("Percent of a node's CPU capacity to fill it to.", minimum=1, maximum=100)
    ] = 40
    default_requests_cpu_milli: Annotated[
        int, About("What a container that states nothing is expected to use.", minimum=0)
    ] = 1000
    requests_multiplier: Annotated[
        float, About("Expected use over request, where there is no limit.", minimum=0)
    ] = 1.5

    @classmethod
    def upstream_arguments(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """A target that is missing or not positive is the default; the multiplier is a text."""
        target = arguments.get("target_utilization") or 0
        names = ("default_requests_cpu_milli", "requests_multiplier")
        default, multiplier = (
            getattr(cls, name) if arguments.get(name) is None else arguments[name] for name in names
        )
        return {
            "target_utilization": target if target > 0 else cls.target_utilization,
            "default_requests_cpu_milli": default,
            "requests_multiplier": float(multiplier),
            "metric_provider": metric_provider(arguments),
        }

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """``T..100`` rising to the target T, then ``T..0``; 0 without CPU metrics."""
        parts = self.explain(snapshot, container, nodes)
        return packing_score(parts["then_percent"], float(self.target_utilization))

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Predicted CPU in percent of capacity, and the millicores it is made of."""
        capacity = snapshot.capacity[nodes, 0].astype(np.float64)
        used = self.load(snapshot, nodes, 0).average / 100 * capacity
        pod = float(self._predictor.container(container))
        missing = self._missing(snapshot)[nodes].astype(np.float64)
        some = capacity != 0
        percent = then_percent(used, pod, missing, np.where(some, capacity, 1.0))
        return {
            "then_percent": np.where(some | np.isnan(used), percent, 0.0),
            "used_milli": used,
            "pod_milli": np.full(len(nodes), pod),
            "missing_milli": missing,
        }

    @property
    def _predictor(self) -> "Predictor":
        return Predictor(
            default_milli=self.default_requests_cpu_milli, multiplier=self.requests_multiplier
        )

    def _missing(self, snapshot: Snapshot) -> IntArray:
        if snapshot.recorded is not None:
            return self._predictor.recorded_missing(snapshot.recorded)
        nodes = len(snapshot.capacity)
        return self._predictor.missing(snapshot.placed, nodes, self.window_end_s(snapshot))


def packing_score(predicted: FloatArray, target: float) -> IntArray:
    """Score by predicted percent and target percent, shape (candidates,); NaN scores 0."""
    return half_away(np.nan_to_num(packing(predicted, target)))


def then_percent(used: Any, pod: Any, missing: Any, capacity: Any) -> Any:
    """CPU with the pod and what is placed too lately to show, in percent of capacity."""
    return 100 * (used + pod + missing) / capacity


def packing(predicted: Any, target: Any) -> Any:
    """The score before rounding, for arrays and, compiled, for numbers."""
    above = target * (100 - predicted) / either(target != 100, 100 - target, 1.0)
    below = (100 - target) * predicted / target + target
    return either(predicted > target, either(predicted > 100, 0.0, above), below)


# Predicted CPU of pods, and of those placed too lately to show in the metrics.
#
# Source: scheduler-plugins 903da7df, pkg/trimaran/targetloadpacking and pkg/trimaran/handler.go.

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
        """Expected use of what was placed lately in a recorded case, shape (nodes,)."""
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
