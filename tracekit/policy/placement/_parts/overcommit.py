"""Risk of overcommitment of one resource: by limits promised, and by load measured.

Source: scheduler-plugins 903da7df, pkg/trimaran/lowriskovercommitment (computeRisk). Everything
is float64 of shape (candidates,), amounts of one resource in one unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.policy.placement._parts import trimaran as distribution
from tracekit.policy.placement._parts.formula import either
from tracekit.policy.placement._parts.trimaran import Claims, max_variance, portion, shape

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


def limit_risk(totals: Totals) -> FloatArray:
    """``by_limit`` of each node, shape (candidates,)."""
    return np.asarray(by_limit(totals.request, totals.limit, totals.capacity))


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
    below = distribution.cumulative(alpha, beta, threshold)
    possible = distribution.cumulative(alpha, beta, share)
    tied = (limit < capacity) & (request <= limit)
    return np.asarray(beyond_request(mu, spread, alpha, threshold, below, share, possible, tied))


def total_risk(limit: FloatArray, load: FloatArray, limit_weight: float) -> FloatArray:
    """``together`` of each node, shape (candidates,)."""
    return np.asarray(together(limit, load, limit_weight))


# The formulas, for arrays and, compiled, for numbers: see ``placement/_parts/formula.py``.


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
