"""Low risk overcommitment: the node with the lowest risk of too little room for limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About, ParameterError
from tracekit.policy.placement import Reads, Scores, UsedBy
from tracekit.policy.placement._parts.formula import either
from tracekit.policy.placement._parts.load import (
    Claims,
    LoadAware,
    beta_parameters,
    cumulative,
    max_variance,
    metric_provider,
    mu_sigma,
    node_claims,
    pod_claims,
    portion,
)
from tracekit.policy.placement._parts.requested import half_away
from tracekit.policy.view.snapshot import Container, Snapshot

Weights = tuple[tuple[str, float], ...]

NAMES = ("cpu", "memory")


@dataclass(frozen=True, kw_only=True)
class LowRiskOvercommitment(LoadAware):
    """Avoid nodes with limits above capacity, or with a load that may exceed requests."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "limits", "usage"})
    source: ClassVar[str] = (
        "scheduler-plugins 903da7df pkg/trimaran/lowriskovercommitment (LowRiskOverCommitment)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"
    best_score = 100

    smoothing_window_size: Annotated[
        int,
        About("Samples averaged in each measurement; the deviation grows by its root.", minimum=1),
    ] = 5
    risk_limit_weights: Annotated[
        Weights, About("Weight of the risk by limits, by resource, 0..1; 0.5 by default.")
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
        """Return window and weights, with defaults for values out of range.

        A window must be 1 or more, and a weight in 0..1.
        """
        window = arguments.get("smoothing_window_size") or 0
        weights = arguments.get("risk_limit_weights") or dict.fromkeys(NAMES, 0.5)
        return {
            "smoothing_window_size": window if window > 0 else cls.smoothing_window_size,
            "risk_limit_weights": {
                name: weight if 0 <= weight <= 1 else 0.5 for name, weight in weights.items()
            },
            "metric_provider": metric_provider(arguments),
        }

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return ``100 * (1 - larger risk)``, rounded; 0 without metrics or for best effort."""
        claims = pod_claims(container)
        if not (claims.request.any() or claims.limit.any()):
            return np.zeros(len(nodes), dtype=np.int64)
        parts = self.explain(snapshot, container, nodes)
        risk = np.maximum(*(self.risk(parts, name) for name in NAMES))
        scores = half_away(as_score(risk))
        return np.where(self.has_metrics(snapshot, nodes), scores, 0)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return each resource's risks by limits and by load, 0..1; NaN for an unmeasured load."""
        pod, before = pod_claims(container), node_claims(snapshot, nodes)
        parts = {}
        for column, name in enumerate(NAMES):
            capacity = snapshot.allocatable[nodes, column].astype(np.float64)
            totals = node_totals(before, pod, capacity, column)
            parts[f"{name}_by_limit"] = by_limit(totals.request, totals.limit, totals.capacity)
            parts[f"{name}_by_load"] = self._measured_risk(snapshot, nodes, column, totals)
        return parts

    def _measured_risk(
        self, snapshot: Snapshot, nodes: IntArray, column: int, totals: Totals
    ) -> FloatArray:
        load, capacity = self.load(snapshot, nodes, column), totals.capacity
        used, deviation = load.amounts(capacity)
        mu, sigma = mu_sigma(capacity, 0.0, used, deviation)
        risk = load_risk(totals, mu, sigma, self.smoothing_window_size)
        return np.where(np.isnan(load.average), np.nan, risk)

    def risk(self, parts: Mapping[str, FloatArray], name: str) -> FloatArray:
        """Return the combined risk of a resource, 0..1."""
        limit, load = parts[f"{name}_by_limit"], parts[f"{name}_by_load"]
        return np.asarray(together(limit, load, self.limit_weight(name)))

    def limit_weight(self, name: str) -> float:
        """Return the weight of the risk by limits of a resource."""
        return dict(self.risk_limit_weights).get(name, 0.5)


# The risk of one resource: by limits, and by measured load. Source: scheduler-plugins
# 903da7df, pkg/trimaran/lowriskovercommitment (computeRisk). Everything is float64 of shape
# (candidates,), amounts of one resource in one unit.

#: The highest variance that counts, as a share of the largest possible variance.
MAX_VARIANCE_ALLOWANCE = 0.99


@dataclass(frozen=True, kw_only=True)
class Totals:
    """The sums of one resource on each node; fields named ``_before`` omit the waiting pod."""

    request: FloatArray
    limit: FloatArray
    request_before: FloatArray
    limit_before: FloatArray
    capacity: FloatArray


def node_totals(before: Claims, pod: Claims, capacity: FloatArray, column: int) -> Totals:
    """Return the totals of one resource; only requests are clipped at the capacity."""
    request, limit = (one[:, column].astype(np.float64) for one in (before.request, before.limit))
    return Totals(
        request=within(request + float(pod.request[column]), capacity),
        limit=limit + float(pod.limit[column]),
        request_before=within(request, capacity),
        limit_before=limit,
        capacity=capacity,
    )


def load_risk(
    totals: Totals, mu: FloatArray, sigma: FloatArray, smoothing_window: int
) -> FloatArray:
    """Return the probability that load, Beta-distributed, exceeds requests, shape (candidates,).

    ``mu`` and ``sigma`` are its mean and deviation over capacity. The waiting pod does not count:
    only ``request_before`` and ``limit_before`` are read.
    """
    request, limit, capacity = totals.request_before, totals.limit_before, totals.capacity
    some = np.where(capacity > 0, capacity, 1.0)
    threshold, share = portion(request, some), portion(limit, some)
    spread = sample_deviation(mu, sigma, float(smoothing_window))
    with np.errstate(divide="ignore", over="ignore"):
        alpha, beta = load_shape(mu, spread)
    below = cumulative(alpha, beta, threshold)
    possible = cumulative(alpha, beta, share)
    tied = (limit < capacity) & (request <= limit)
    return np.asarray(beyond_request(mu, spread, alpha, threshold, below, share, possible, tied))


# The formulas, for arrays and, compiled, for numbers: see ``_parts/formula.py``.


def within(amount: Any, size: Any) -> Any:
    """Return an amount, at most the size."""
    return np.minimum(amount, size)


def by_limit(request: Any, limit: Any, size: Any) -> Any:
    """Return ``(limit - size) / (limit - request)``; 0 for limits within the size."""
    over = limit > size
    return either(over, (limit - size) / either(over, limit - request, 1.0), 0.0)


def together(limit: Any, load: Any, limit_weight: Any) -> Any:
    """Return the weighted sum of both risks, 0..1; an unmeasured load counts as no risk."""
    measured = either(np.isnan(load), 0.0, load)
    return portion(limit_weight * limit + (1 - limit_weight) * measured, 1.0)


def as_score(risk: Any) -> Any:
    """Return the score of a risk, 0..100."""
    return (1 - risk) * 100


def sample_deviation(mu: Any, sigma: Any, window: Any) -> Any:
    """Return single samples' deviation, ``sigma * sqrt(window)``, capped at a possible value."""
    single = sigma * np.sqrt(window)
    most = np.sqrt(max_variance(mu) * MAX_VARIANCE_ALLOWANCE)
    return either(single > most, most, single)


def load_shape(mu: Any, spread: Any) -> Any:
    """Return alpha and beta of the Beta distribution with mean ``mu`` and deviation ``spread``."""
    return beta_parameters(mu, spread * spread + mu * mu)


def beyond_request(  # noqa: PLR0917 - compiled too, by position
    mu: Any,
    spread: Any,
    alpha: Any,
    threshold: Any,
    below: Any,
    share: Any,
    possible: Any,
    tied: Any,
) -> Any:
    """Return the probability that load exceeds the requests, 0..1.

    Parameters
    ----------
    mu, spread, alpha : mean, deviation and alpha of the load's Beta distribution
    threshold, below : requests over capacity, and the probability of a load below them
    share, possible : limits over capacity, and the probability of a load below them
    tied : whether requests <= limits < capacity
    """
    sure = below_request(below, mu, spread, threshold)
    unknown = uncertain(mu, spread, alpha, possible)
    return 1.0 - given_limits(sure, possible, share, tied, unknown)


def below_request(below: Any, mu: Any, spread: Any, threshold: Any) -> Any:
    """Return the probability of a load below the requests; 0 or 1 for a load without spread."""
    sure = either((mu == 0) | (mu <= threshold), 1.0, 0.0)
    return either((mu == 0) | (spread == 0), sure, below)


def uncertain(mu: Any, spread: Any, alpha: Any, possible: Any) -> Any:
    """Return whether the probability that load stays below the limits is undefined or 0."""
    return (mu == 0) | (spread == 0) | np.isnan(alpha) | (possible <= 0)


def given_limits(within: Any, possible: Any, share: Any, tied: Any, unknown: Any) -> Any:
    """Return the probability of a load below the requests, given a load below the limits.

    Parameters
    ----------
    within : the probability of a load below the requests
    possible, share : the probability of a load below the limits, and limits over capacity
    tied : whether requests <= limits < capacity; else the result is ``within``
    unknown : the result of ``uncertain``
    """
    scaled = portion(within, either(unknown, 1.0, possible))
    conditional = either(share == 0, 1.0, either(unknown, within, scaled))
    return either(tied, conditional, within)
