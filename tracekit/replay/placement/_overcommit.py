"""Risk of overcommitment of one resource: by limits promised, and by load measured.

Source: scheduler-plugins 903da7df, pkg/trimaran/lowriskovercommitment (computeRisk). Everything
is float64 of shape (candidates,), amounts of one resource in one unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracekit.arrays import BoolArray, FloatArray
from tracekit.replay.placement import _beta
from tracekit.replay.placement._trimaran import Claims

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
        request=np.minimum(request + float(pod.request[column]), capacity),
        limit=limit + float(pod.limit[column]),
        request_before=np.minimum(request, capacity),
        limit_before=limit,
        capacity=capacity,
    )


def limit_risk(totals: Totals) -> FloatArray:
    """The share of what is promised above the requests that the node does not have."""
    over = totals.limit > totals.capacity
    promised = np.where(over, totals.limit - totals.request, 1.0)
    return np.where(over, (totals.limit - totals.capacity) / promised, 0.0)


def load_risk(
    totals: Totals, mu: FloatArray, sigma: FloatArray, smoothing_window: int
) -> FloatArray:
    """Probability that load exceeds what is requested, of a Beta fitted to mean and deviation.

    The pod that waits does not enter: only ``request_before`` and ``limit_before`` are read.
    """
    spread = np.minimum(
        sigma * np.sqrt(float(smoothing_window)),
        np.sqrt(_beta.max_variance(mu) * MAX_VARIANCE_ALLOWANCE),
    )
    capacity = np.where(totals.capacity > 0, totals.capacity, 1.0)
    threshold = np.clip(totals.request_before / capacity, 0.0, 1.0)
    alpha, beta = _beta.fit(mu, spread * spread + mu * mu)
    certain = (mu == 0) | (spread == 0)
    sure = np.where((mu == 0) | (mu <= threshold), 1.0, 0.0)
    fitted = ~(certain | np.isnan(alpha))
    below = np.where(certain, sure, _beta.cumulative(alpha, beta, threshold))
    return 1.0 - _given_limits(totals, below, fitted, alpha, beta)


def total_risk(limit: FloatArray, load: FloatArray, limit_weight: float) -> FloatArray:
    """The weighted sum; where load was not measured it counts as no risk."""
    measured = np.where(np.isnan(load), 0.0, load)
    weighted = limit_weight * limit + (1 - limit_weight) * measured
    return np.asarray(np.minimum(np.maximum(weighted, 0.0), 1.0))


def _given_limits(
    totals: Totals,
    below: FloatArray,
    fitted: BoolArray,
    alpha: FloatArray,
    beta: FloatArray,
) -> FloatArray:
    """The probability on condition that load stays under the limits, where they are below 1."""
    bounded = (totals.limit_before < totals.capacity) & (
        totals.request_before <= totals.limit_before
    )
    share = totals.limit_before / np.where(totals.capacity > 0, totals.capacity, 1.0)
    possible = _beta.cumulative(alpha, beta, np.clip(share, 0.0, 1.0))
    usable = fitted & (possible > 0)
    scaled = np.clip(below / np.where(usable, possible, 1.0), 0.0, 1.0)
    conditional = np.where(share == 0, 1.0, np.where(usable, scaled, below))
    return np.where(bounded, conditional, below)
