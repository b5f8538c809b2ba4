"""Target load packing: fill nodes up to a target CPU utilisation, and then spread."""

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
    """Pack by predicted CPU use: the best node is at the target, and a node above it is worst."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "limits", "usage", "placed"})
    source: ClassVar[str] = (
        "scheduler-plugins 903da7df pkg/trimaran/targetloadpacking (TargetLoadPacking)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"
    best_score = 100
    reading: ClassVar[Reading] = staticmethod(last_level)

    target_utilization: Annotated[
        int, About("Target CPU use of a node in percent of capacity.", minimum=1, maximum=100)
    ] = 40
    default_requests_cpu_milli: Annotated[
        int, About("Expected use of a container without limit and request.", minimum=0)
    ] = 1000
    requests_multiplier: Annotated[
        float, About("Expected use over request of a container without limit.", minimum=0)
    ] = 1.5

    @classmethod
    def upstream_arguments(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Target, default use and multiplier; the default for a target that is not positive."""
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
        """From T up to 100 at the target T, then from T down to 0; 0 without CPU metrics."""
        parts = self.explain(snapshot, container, nodes)
        return packing_score(parts["then_percent"], float(self.target_utilization))

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Predicted CPU in percent of capacity, and its three parts in millicores."""
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
    """The score from predicted and target percent, shape (candidates,); 0 for NaN."""
    return half_away(np.nan_to_num(packing(predicted, target)))


def then_percent(used: Any, pod: Any, missing: Any, capacity: Any) -> Any:
    """CPU with the pod and with pods missing in the metrics, in percent of capacity."""
    return 100 * (used + pod + missing) / capacity


def packing(predicted: Any, target: Any) -> Any:
    """The score before rounding, for arrays and, compiled, for numbers."""
    above = target * (100 - predicted) / either(target != 100, 100 - target, 1.0)
    below = (100 - target) * predicted / target + target
    return either(predicted > target, either(predicted > 100, 0.0, above), below)


# Predicted CPU of pods, and of pods placed so late that the metrics lack them.
#
# Source: scheduler-plugins 903da7df, pkg/trimaran/targetloadpacking and pkg/trimaran/handler.go.

#: The metrics may lack a pod that was bound within this time before the end of their window.
REPORTING_S = 60


@dataclass(frozen=True, kw_only=True)
class Predictor:
    """The expected CPU use of pods in millicores: the limit, or the request times a factor."""

    default_milli: int
    multiplier: float

    def container(self, container: Container) -> int:
        """The expected use of the waiting container."""
        if container.pod is not None:
            return self.pod(container.pod)
        return int(self.amounts(container.request[:1], container.limit[:1])[0])

    def pod(self, pod: Pod) -> int:
        """The sum over the containers, and overhead; init containers do not count."""
        return sum(map(self._stated, pod.containers)) + pod.overhead.get(CPU, 0)

    def amounts(self, request: IntArray, limit: IntArray) -> IntArray:
        """The expected use of pods of one container each; an amount of 0 was not stated."""
        return np.asarray(expected_milli(request, limit, self.default_milli, self.multiplier))

    def missing(self, placed: Placed, nodes: int, window_end_s: int) -> IntArray:
        """The expected use of containers that the metrics lack, shape (nodes,)."""
        late = placed.time_ms // 1000 > window_end_s - REPORTING_S
        expected = self.amounts(placed.request[late, 0], placed.limit[late, 0])
        total = np.zeros(nodes, dtype=np.int64)
        np.add.at(total, placed.node[late], expected)
        return total

    def recorded_missing(self, recorded: Recorded) -> IntArray:
        """The expected use of pods that the metrics of a recorded case lack, shape (nodes,)."""
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
    """The limit, or the request times the factor, or the default; an amount of 0 was not stated."""
    of_request = either(request > 0, half_away(request * multiplier), default)
    return either(limit > 0, limit, of_request)


def surviving(ages_s: Sequence[float | None]) -> list[int]:
    """Positions of a node's recent pods, oldest first, after upstream's clean-up.

    The clean-up drops the pods before the first pod younger than a minute, which it searches by
    bisection; it drops none if all are older. An age of None is the oldest.
    """

    def young(age: Any) -> bool:
        return age is not None and age < REPORTING_S

    first = bisect.bisect_left(ages_s, True, key=young)
    return list(range(first if first < len(ages_s) else 0, len(ages_s)))
