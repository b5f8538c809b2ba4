"""Load variation risk balancing: the node with a low and steady load."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.policy.placement import Scores, UsedBy
from tracekit.policy.placement._parts.formula import either
from tracekit.policy.placement._parts.load import LoadAware, metric_provider, mu_sigma, pod_claims
from tracekit.policy.placement._parts.requested import half_away
from tracekit.policy.view.snapshot import Container, Snapshot


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
        """Margin and sensitivity; the default for a missing or negative value."""
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
        """The lower score of the measured resources, rounded, 0..100; 0 without metrics."""
        cpu, memory = self.explain(snapshot, container, nodes).values()
        return half_away(np.nan_to_num(np.fmin(cpu, memory)))

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """The score of each resource before rounding."""
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
    """The score of a resource, 0..100, from amounts of shape (candidates,); NaN stays NaN."""
    most = np.maximum(capacity, 0.0)
    mu, _ = mu_sigma(capacity, max(request, 0.0), np.clip(used, 0.0, most), deviation)
    sigma = spread(capacity, deviation, margin=margin, sensitivity=sensitivity)
    measured = ~(np.isnan(used) | np.isnan(deviation))
    score = np.where(capacity > 0, balanced(mu, sigma, prose), 0.0)
    return np.where(measured, score, np.nan)


def spread(
    capacity: FloatArray, deviation: FloatArray, *, margin: float, sensitivity: float
) -> FloatArray:
    """The deviation's part in the risk, 0..1, shape (candidates,); NaN stays NaN."""
    cut = np.clip(deviation, 0.0, np.maximum(capacity, 0.0))
    _, sigma = mu_sigma(capacity, 0.0, cut, cut)
    if sensitivity >= 0:
        sigma = np.power(sigma, 1 / sensitivity if sensitivity else math.inf)
    return np.clip(margin * sigma, 0.0, 1.0)


def balanced(mu: Any, sigma: Any, prose: Any) -> Any:
    """The score from mean and spread, 0..100, for arrays and, compiled, for numbers."""
    both = mu + sigma
    return (1 - either(prose, either(both > 1.0, 1.0, both), both / 2)) * 100
