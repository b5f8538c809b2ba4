"""Plugins of Trimaran: scores by measured use, its variation, and the power that it takes."""

import bisect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.cluster.resources import CPU
from tracekit.policy.placement import Reads, Scores, UsedBy
from tracekit.policy.placement._parts.formula import either
from tracekit.policy.placement._parts.load import (
    LoadAware,
    Reading,
    first_level,
    last_level,
    metric_provider,
    mu_sigma,
    pod_claims,
)
from tracekit.policy.placement._parts.requested import half_away, to_int
from tracekit.policy.view.pods import Pod, PodContainer
from tracekit.policy.view.recorded import Recorded
from tracekit.policy.view.snapshot import Container, Placed, Snapshot


@dataclass(frozen=True, kw_only=True)
class LoadVariationRiskBalancing(LoadAware):
    """Balance the mean and the deviation of load: the lower score of cpu and memory counts."""

    common: ClassVar[bool] = True
    source: ClassVar[str] = (
        "scheduler-plugins 903da7df pkg/trimaran/loadvariationriskbalancing"
        " (LoadVariationRiskBalancing)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"
    best_score = 100

    safe_variance_margin: Annotated[float, About("Multiplier of the deviation.", minimum=0)] = 1.0
    safe_variance_sensitivity: Annotated[
        float,
        About("Degree of the root of the deviation; 0: the limit of small degrees.", minimum=0),
    ] = 1.0
    formula: Annotated[
        Literal["upstream", "prose"],
        About("upstream: 1 - (mu + sigma)/2; prose: 1 - min(mu + sigma, 1), an older form."),
    ] = "upstream"

    @classmethod
    def upstream_arguments(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return margin and sensitivity; the default for a missing or negative value."""
        names = ("safe_variance_margin", "safe_variance_sensitivity")
        given = {name: arguments.get(name) for name in names}
        return {
            **{
                name: getattr(cls, name) if one is None or one < 0 else float(one)
                for name, one in given.items()
            },
            "metric_provider": metric_provider(arguments),
        }

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return the lower score of the measured resources, rounded, 0..100; 0 without metrics."""
        cpu, memory = self.explain(snapshot, container, nodes).values()
        return half_away(np.nan_to_num(np.fmin(cpu, memory)))

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return the score of each resource before rounding."""
        request = pod_claims(container).request
        parts = {}
        for column, name in enumerate(("cpu", "memory")):
            capacity = snapshot.allocatable[nodes, column].astype(np.float64)
            load = self.load(snapshot, nodes, column)
            parts[name] = risk_score(
                *(capacity, float(request[column]), *load.amounts(capacity)),
                margin=self.safe_variance_margin,
                sensitivity=self.safe_variance_sensitivity,
                prose=self.formula == "prose",
            )
        return parts


def risk_score(
    capacity: FloatArray,
    request: float,
    used: FloatArray,
    deviation: FloatArray,
    *,
    margin: float,
    sensitivity: float,
    prose: bool = False,
) -> FloatArray:
    """Return LoadVariationRiskBalancing's score of one resource, 0..100, shape (candidates,).

    Amounts are in one unit. A node without a measurement scores NaN. ``prose`` selects an older
    form.
    """
    most = np.maximum(capacity, 0.0)
    mu, _ = mu_sigma(capacity, max(request, 0.0), np.clip(used, 0.0, most), deviation)
    sigma = spread(capacity, deviation, margin=margin, sensitivity=sensitivity)
    measured = ~(np.isnan(used) | np.isnan(deviation))
    score = np.where(capacity > 0, balanced(mu, sigma, prose), 0.0)
    return np.where(measured, score, np.nan)


def spread(
    capacity: FloatArray, deviation: FloatArray, *, margin: float, sensitivity: float
) -> FloatArray:
    """Return ``margin * (deviation / capacity) ** (1 / sensitivity)``, clipped to 0..1."""
    cut = np.clip(deviation, 0.0, np.maximum(capacity, 0.0))
    _, sigma = mu_sigma(capacity, 0.0, cut, cut)
    if sensitivity >= 0:
        sigma = np.power(sigma, 1 / sensitivity if sensitivity else math.inf)
    return np.clip(margin * sigma, 0.0, 1.0)


def balanced(mu: Any, sigma: Any, prose: Any) -> Any:
    """Return the score, 0..100, of a mean and a spread, for arrays and, compiled, for numbers."""
    both = mu + sigma
    return (1 - either(prose, either(both > 1.0, 1.0, both), both / 2)) * 100


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
        """Return target, default use and multiplier; the default for a target of 0 or below."""
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
        """Return scores by predicted CPU: from T at 0 % to 100 at the target of T %.

        Above the target the score falls from T to 0 at 100 %. It is 0 without CPU metrics.
        """
        parts = self.explain(snapshot, container, nodes)
        return packing_score(parts["then_percent"], float(self.target_utilization))

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return the predicted CPU in percent of capacity, and its three parts in millicores."""
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
    """Return the score from predicted and target percent, shape (candidates,); 0 for NaN."""
    return half_away(np.nan_to_num(packing(predicted, target)))


def then_percent(used: Any, pod: Any, missing: Any, capacity: Any) -> Any:
    """Return the CPU with the pod and with pods that the metrics lack, in percent of capacity."""
    return 100 * (used + pod + missing) / capacity


def packing(predicted: Any, target: Any) -> Any:
    """Return ``packing_score`` before rounding, for arrays and, compiled, for numbers."""
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
    """Predicts the CPU use of pods in millicores: the limit, else the request times a factor."""

    default_milli: int
    multiplier: float

    def container(self, container: Container) -> int:
        """Return the expected use of the waiting container."""
        if container.pod is not None:
            return self.pod(container.pod)
        return int(self.amounts(container.request[:1], container.limit[:1])[0])

    def pod(self, pod: Pod) -> int:
        """Return the expected use of a pod's containers and overhead, but no init containers."""
        return sum(map(self._stated, pod.containers)) + pod.overhead.get(CPU, 0)

    def amounts(self, request: IntArray, limit: IntArray) -> IntArray:
        """Return the expected use of each container; a request or limit of 0 is not stated."""
        return np.asarray(expected_milli(request, limit, self.default_milli, self.multiplier))

    def missing(self, placed: Placed, nodes: int, window_end_s: int) -> IntArray:
        """Return the expected use of each node's containers that the metrics lack, (nodes,)."""
        late = placed.time_ms // 1000 > window_end_s - REPORTING_S
        expected = self.amounts(placed.request[late, 0], placed.limit[late, 0])
        total = np.zeros(nodes, dtype=np.int64)
        np.add.at(total, placed.node[late], expected)
        return total

    def recorded_missing(self, recorded: Recorded) -> IntArray:
        """Return the expected use of each node's pods that recorded metrics lack, (nodes,)."""
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
    """Return the limit, else the request times the factor, else the default.

    A limit or request of 0 counts as not stated.
    """
    of_request = either(request > 0, half_away(request * multiplier), default)
    return either(limit > 0, limit, of_request)


def surviving(ages_s: Sequence[float | None]) -> list[int]:
    """Return positions of a node's recent pods that upstream's clean-up keeps, oldest pod first.

    The clean-up drops the pods before the first pod younger than a minute, or none if all are
    older. It finds that pod by bisection. An age of None is the oldest.
    """

    def young(age: Any) -> bool:
        return age is not None and age < REPORTING_S

    first = bisect.bisect_left(ages_s, True, key=young)
    return list(range(first if first < len(ages_s) else 0, len(ages_s)))


Models = tuple[tuple[str, float, float, float], ...]

#: The number of integer steps of a score per unit of power.
_SCALE = 1e15


@dataclass(frozen=True, kw_only=True)
class Peaks(LoadAware):
    """Prefer the least rise in power; a node draws k0 + k1 * exp(k2 * CPU percent)."""

    source: ClassVar[str] = "scheduler-plugins 903da7df pkg/trimaran/peaks (Peaks)"
    used_by: ClassVar[UsedBy] = "scheduler"
    best_score = 100
    reading: ClassVar[Reading] = staticmethod(first_level)

    k0: Annotated[float, About("Constant of the power model; it cancels out.")] = 471.7412504314313
    k1: Annotated[
        float, About("Factor of the power model; the default is upstream's example.")
    ] = -91.50493019588365
    k2: Annotated[
        float, About("Exponent of the power model, per percent of CPU.")
    ] = -0.07186049052516228
    node_power_model: Annotated[
        Models, About("Power models of single nodes, name:k0:k1:k2, in recorded cases.")
    ] = ()

    @classmethod
    def upstream_arguments(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the power models of nodes; a node without a model has k0, k1 and k2 of 0."""
        models = arguments.get("node_power_model") or {}
        names = ("k0", "k1", "k2")
        rows = [[node, *(float(model.get(k, 0)) for k in names)] for node, model in models.items()]
        return {**dict.fromkeys(names, 0.0), "node_power_model": rows}

    def model(self, node: str) -> tuple[float, float, float]:
        """Return k0, k1 and k2 of a node."""
        own = {name: (k0, k1, k2) for name, k0, k1, k2 in self.node_power_model}
        return own.get(node, (self.k0, self.k1, self.k2))

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return the rise in power times 1e15, a cost; 0 without CPU metrics and above capacity."""
        parts = self.explain(snapshot, container, nodes)
        return to_int(np.nan_to_num(parts["power_rise"]) * _SCALE)

    def normalize(self, scores: Scores) -> Scores:
        """Return ``100 - trunc(100 * (v - low)/(high - low))`` of each cost v: 100 for the least.

        If all costs are 0, all scores are 0.
        """
        low, high = int(scores.min()), int(scores.max())
        if low == 0 and high == 0:
            return scores
        cost = 100.0 * (scores - low).astype(np.float64)
        return 100 - to_int(cost / float(high - low) if high != low else cost)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return the CPU percent without and with the pod, and the rise in power."""
        capacity = snapshot.capacity[nodes, 0].astype(np.float64)
        now = self.load(snapshot, nodes, 0).average
        some = capacity != 0
        used = now / 100 * capacity + float(container.request[0])
        then = np.where(some, 100 * used / np.where(some, capacity, 1.0), 0.0 * now)
        _, k1, k2 = self._models(snapshot, nodes)
        with np.errstate(over="ignore", invalid="ignore"):
            rise = k1 * (np.exp(k2 * then) - np.exp(k2 * now))
        return {
            "now_percent": now,
            "then_percent": then,
            "power_rise": np.where(then > 100, 0.0, rise),
        }

    def _models(self, snapshot: Snapshot, nodes: IntArray) -> FloatArray:
        """k0, k1 and k2 of the candidates, shape (3, candidates), or (3,) for one model."""
        if snapshot.recorded is None or not self.node_power_model:
            return np.array([self.k0, self.k1, self.k2])
        names = snapshot.recorded.nodes
        return np.array([self.model(names[at]) for at in nodes], np.float64).reshape(-1, 3).T
