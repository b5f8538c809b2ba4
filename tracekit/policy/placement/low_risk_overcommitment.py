"""Low risk overcommitment: the node least likely to run out when limits are used."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.parameters import About, ParameterError
from tracekit.policy.placement import Reads, Scores, UsedBy
from tracekit.policy.placement._parts.formula import either
from tracekit.policy.placement._parts.load import (
    Claims,
    LoadAware,
    cumulative,
    max_variance,
    metric_provider,
    mu_sigma,
    node_claims,
    pod_claims,
    portion,
    shape,
)
from tracekit.policy.placement._parts.requested import half_away
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
    best_score = 100

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

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """``100 * (1 - the larger risk)``, rounded; 0 without metrics, and for best effort."""
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
        """Risk by limits and by load per resource, each 0..1; NaN where load was not measured."""
        pod, before = pod_claims(container), node_claims(snapshot, nodes)
        parts = {}
        for column, name in enumerate(NAMES):
            capacity = snapshot.allocatable[nodes, column].astype(np.float64)
            totals = node_totals(before, pod, capacity, column)
            parts[f"{name}_by_limit"] = by_limit(totals.request, totals.limit, totals.capacity)
            parts[f"{name}_by_load"] = self._by_load(snapshot, nodes, column, totals)
        return parts

    def _by_load(
        self, snapshot: Snapshot, nodes: IntArray, column: int, totals: Totals
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
        self, snapshot: Snapshot, nodes: IntArray, column: int, totals: Totals
    ) -> FloatArray:
        load, capacity = self.load(snapshot, nodes, column), totals.capacity
        used, deviation = load.amounts(capacity)
        mu, sigma = mu_sigma(capacity, 0.0, used, deviation)
        risk = load_risk(totals, mu, sigma, self.smoothing_window_size)
        return np.where(np.isnan(load.average), np.nan, risk)

    def risk(self, parts: Mapping[str, FloatArray], name: str) -> FloatArray:
        """Both risks of a resource together, 0..1."""
        limit, load = parts[f"{name}_by_limit"], parts[f"{name}_by_load"]
        return np.asarray(together(limit, load, self.limit_weight(name)))

    def limit_weight(self, name: str) -> float:
        """The weight of a resource's risk by limits."""
        return dict(self.risk_limit_weights).get(name, 0.5)


# The risk of one resource: by limits promised, and by load measured. Source: scheduler-plugins
# 903da7df, pkg/trimaran/lowriskovercommitment (computeRisk). Everything is float64 of shape
# (candidates,), amounts of one resource in one unit.

#: How much of the largest possible variance is believed.
MAX_VARIANCE_ALLOWANCE = 0.99


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Requests (at most the capacity) and limits on the nodes, with and without the pod."""

    request: FloatArray
    limit: FloatArray
    request_before: FloatArray
    limit_before: FloatArray
    capacity: FloatArray

    def of(self, nodes: BoolArray) -> Totals:
        """Of some of the nodes alone."""
        return Totals(
            request=self.request[nodes],
            limit=self.limit[nodes],
            request_before=self.request_before[nodes],
            limit_before=self.limit_before[nodes],
            capacity=self.capacity[nodes],
        )


def node_totals(before: Claims, pod: Claims, capacity: FloatArray, column: int) -> Totals:
    """Totals of one resource; requests are cut at capacity, limits are not."""
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
    """Probability that load exceeds what is requested, of a Beta fitted to mean and deviation.

    The pod that waits does not enter: only ``request_before`` and ``limit_before`` are read.
    """
    request, limit, capacity = totals.request_before, totals.limit_before, totals.capacity
    some = np.where(capacity > 0, capacity, 1.0)
    threshold, share = portion(request, some), portion(limit, some)
    spread = believed(mu, sigma, float(smoothing_window))
    with np.errstate(divide="ignore", over="ignore"):
        alpha, beta = load_shape(mu, spread)
    below = cumulative(alpha, beta, threshold)
    possible = cumulative(alpha, beta, share)
    tied = (limit < capacity) & (request <= limit)
    return np.asarray(beyond_request(mu, spread, alpha, threshold, below, share, possible, tied))


# The formulas, for arrays and, compiled, for numbers: see ``_parts/formula.py``.


def within(amount: Any, size: Any) -> Any:
    """An amount, at most the size."""
    return np.minimum(amount, size)


def by_limit(request: Any, limit: Any, size: Any) -> Any:
    """The share of what is promised above the requests that the node does not have, 0..1."""
    over = limit > size
    return either(over, (limit - size) / either(over, limit - request, 1.0), 0.0)


def together(limit: Any, load: Any, limit_weight: Any) -> Any:
    """The weighted sum of both risks, 0..1; load that was not measured counts as no risk."""
    measured = either(np.isnan(load), 0.0, load)
    return portion(limit_weight * limit + (1 - limit_weight) * measured, 1.0)


def as_score(risk: Any) -> Any:
    """The score of a risk, 0..100."""
    return (1 - risk) * 100


def believed(mu: Any, sigma: Any, window: Any) -> Any:
    """The deviation of single samples from that of their means over a window."""
    single = sigma * np.sqrt(window)
    most = np.sqrt(max_variance(mu) * MAX_VARIANCE_ALLOWANCE)
    return either(single > most, most, single)


def load_shape(mu: Any, spread: Any) -> Any:
    """The alpha and beta of a load of this mean and deviation."""
    return shape(mu, spread * spread + mu * mu)


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
    """The probability that load exceeds the requests, 0..1.

    Parameters
    ----------
    threshold, below : requests over capacity, and what the distribution has below them
    share, possible : limits over capacity, and what the distribution has below those
    tied : whether limits are below capacity, and no lower than the requests
    """
    sure = below_request(below, mu, spread, threshold)
    unknown = uncertain(mu, spread, alpha, possible)
    return 1.0 - given_limits(sure, possible, share, tied, unknown)


def below_request(below: Any, mu: Any, spread: Any, threshold: Any) -> Any:
    """The probability that load stays below the requests; sure where it never changes."""
    sure = either((mu == 0) | (mu <= threshold), 1.0, 0.0)
    return either((mu == 0) | (spread == 0), sure, below)


def uncertain(mu: Any, spread: Any, alpha: Any, possible: Any) -> Any:
    """Whether no distribution says how likely load stays below the limits."""
    return (mu == 0) | (spread == 0) | np.isnan(alpha) | (possible <= 0)


def given_limits(within: Any, possible: Any, share: Any, tied: Any, unknown: Any) -> Any:
    """The probability on condition that load stays under limits below the capacity.

    Parameters
    ----------
    within : that it stays below the requests
    possible, share : that it stays below the limits, and those over capacity
    tied : whether limits are below capacity, and no lower than the requests
    """
    scaled = portion(within, either(unknown, 1.0, possible))
    conditional = either(share == 0, 1.0, either(unknown, within, scaled))
    return either(tied, conditional, within)
