"""Low risk overcommitment: the node least likely to run out when limits are used."""

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About, ParameterError
from tracekit.policy.placement import Reads, Scores, UsedBy
from tracekit.policy.placement._parts import overcommit as risks
from tracekit.policy.placement._parts.legacy import half_away
from tracekit.policy.placement._parts.load import LoadAware
from tracekit.policy.placement._parts.trimaran import (
    metric_provider,
    mu_sigma,
    node_claims,
    pod_claims,
)
from tracekit.policy.view.snapshot import Container, Snapshot
from tracekit.policy.view.usage import NodeUsage

Weights = tuple[tuple[str, float], ...]

NAMES = ("cpu", "memory")

#: Requests and limits of nodes, and the risk by load that they had, while measurements last.
_KEPT: weakref.WeakKeyDictionary[NodeUsage, dict[tuple[int, int, int], FloatArray]] = (
    weakref.WeakKeyDictionary()
)


@dataclass(frozen=True, kw_only=True)
class LowRiskOvercommitment(LoadAware):
    """Avoid nodes whose limits are promised beyond capacity or whose load may exceed requests."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "limits", "usage"})
    source: ClassVar[str] = (
        "scheduler-plugins 903da7df pkg/trimaran/lowriskovercommitment (LowRiskOverCommitment)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"

    smoothing_window_size: Annotated[
        int, About("Samples averaged in each measurement; deviation grows by its root.", minimum=1)
    ] = 5
    risk_limit_weights: Annotated[
        Weights, About("Weight of the limits' risk per resource, 0..1; 0.5 where missing.")
    ] = (("cpu", 0.5), ("memory", 0.5))

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, weight in self.risk_limit_weights:
            if not 0 <= weight <= 1:
                raise ParameterError(
                    "risk_limit_weights", f"weight of resource {name} must be 0..1, got {weight}"
                )

    @classmethod
    def upstream_arguments(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """A window that is not positive and weights outside 0..1 become the defaults."""
        window = arguments.get("smoothing_window_size") or 0
        weights = arguments.get("risk_limit_weights") or dict.fromkeys(NAMES, 0.5)
        return {
            "smoothing_window_size": window if window > 0 else cls.smoothing_window_size,
            "risk_limit_weights": {
                name: weight if 0 <= weight <= 1 else 0.5 for name, weight in weights.items()
            },
            "metric_provider": metric_provider(arguments),
        }

    def best_score(self) -> float | None:
        """As kube-scheduler's plugins: 100."""
        return 100

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """``100 * (1 - the larger risk)``, rounded; 0 without metrics, and for best effort."""
        claims = pod_claims(container)
        if not (claims.request.any() or claims.limit.any()):
            return np.zeros(len(nodes), dtype=np.int64)
        parts = self.explain(snapshot, container, nodes)
        risk = np.maximum(*(self.risk(parts, name) for name in NAMES))
        scores = half_away(risks.as_score(risk))
        return np.where(self.has_metrics(snapshot, nodes), scores, 0)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Risk by limits and by load per resource, each 0..1; NaN where load was not measured."""
        pod, before = pod_claims(container), node_claims(snapshot, nodes)
        parts = {}
        for column, name in enumerate(NAMES):
            capacity = snapshot.allocatable[nodes, column].astype(np.float64)
            totals = risks.node_totals(before, pod, capacity, column)
            parts[f"{name}_by_limit"] = risks.limit_risk(totals)
            parts[f"{name}_by_load"] = self._by_load(snapshot, nodes, column, totals)
        return parts

    def _by_load(
        self, snapshot: Snapshot, nodes: IntArray, column: int, totals: risks.Totals
    ) -> FloatArray:
        """The risk by load; the pod that waits does not enter, so it stays while a node does."""
        if snapshot.recorded is not None:
            return self._measured_risk(snapshot, nodes, column, totals)
        kept = _KEPT.setdefault(snapshot.usage, {})
        asked = (self.window_samples, self.smoothing_window_size, column)
        if asked not in kept:
            kept[asked] = np.full((3, len(snapshot.allocatable)), np.nan)
        request, limit, risk = kept[asked]
        stale = (request[nodes] != totals.request_before) | (limit[nodes] != totals.limit_before)
        if stale.any():
            some, changed = nodes[stale], totals.of(stale)
            risk[some] = self._measured_risk(snapshot, some, column, changed)
            request[some], limit[some] = changed.request_before, changed.limit_before
        return np.asarray(risk[nodes])

    def _measured_risk(
        self, snapshot: Snapshot, nodes: IntArray, column: int, totals: risks.Totals
    ) -> FloatArray:
        load, capacity = self.load(snapshot, nodes, column), totals.capacity
        used, deviation = load.amounts(capacity)
        mu, sigma = mu_sigma(capacity, 0.0, used, deviation)
        risk = risks.load_risk(totals, mu, sigma, self.smoothing_window_size)
        return np.where(np.isnan(load.average), np.nan, risk)

    def risk(self, parts: Mapping[str, FloatArray], name: str) -> FloatArray:
        """Both risks of a resource together, 0..1."""
        limit, load = parts[f"{name}_by_limit"], parts[f"{name}_by_load"]
        return risks.total_risk(limit, load, self.limit_weight(name))

    def limit_weight(self, name: str) -> float:
        """The weight of a resource's risk by limits."""
        return dict(self.risk_limit_weights).get(name, 0.5)
