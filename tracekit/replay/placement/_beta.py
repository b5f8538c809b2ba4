"""The Beta distribution as LowRiskOverCommitment uses it, with its answers to invalid input.

Source: scheduler-plugins 903da7df, pkg/trimaran/lowriskovercommitment/beta.go. Arguments are
arrays or numbers that broadcast; answers have their common shape.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tracekit.arrays import FloatArray

_SMALLEST = 5e-324


def max_variance(mean: ArrayLike) -> FloatArray:
    """The largest variance a variable in 0..1 of this mean can have; 0 outside (0, 1)."""
    given = np.asarray(mean, dtype=np.float64)
    return np.where((given > 0) & (given < 1), given * (1 - given), 0.0)


def fit(mean: ArrayLike, second: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The alpha and beta with this first and second raw moment; NaN where there are none."""
    first, other = np.broadcast_arrays(np.asarray(mean, np.float64), np.asarray(second, np.float64))
    variance = other - first * first
    most = first * (1 - first)
    possible = (first >= 0) & (first <= 1) & (variance >= 0) & (variance < most)
    with np.errstate(divide="ignore", over="ignore"):
        factor = np.maximum(
            np.where(possible, most / np.where(possible, variance, 1), 1) - 1, _SMALLEST
        )
        alpha, beta = first * factor, (1 - first) * factor
    return np.where(possible, alpha, np.nan), np.where(possible, beta, np.nan)


def cumulative(alpha: ArrayLike, beta: ArrayLike, at: ArrayLike) -> FloatArray:
    """P(X <= at), the regularised incomplete beta function; 0 where it is not defined."""
    a, b, x = (np.asarray(one, np.float64) for one in (alpha, beta, at))
    defined = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b) & (x >= 0) & (x <= 1)
    inside = (a, b, x) if defined.all() else (np.where(defined, one, 0.5) for one in (a, b, x))
    found = special.betainc(*inside)
    return np.where(defined & ~np.isnan(found), found, 0.0)


def density(alpha: float, beta: float, at: float) -> float:
    """Density at a point; 0 where it is not defined."""
    if alpha <= 0 or beta <= 0 or not 0 <= at <= 1:
        return 0.0
    with np.errstate(divide="ignore"):
        powers = np.power(at, alpha - 1.0) * np.power(1.0 - at, beta - 1.0)
    found = float(powers / special.beta(alpha, beta))
    return found if np.isfinite(found) else 0.0


def moments(alpha: float, beta: float) -> tuple[float, float, float]:
    """The first three raw moments."""
    first = alpha / (alpha + beta)
    second = first * (alpha + 1) / (alpha + beta + 1)
    return first, second, second * (alpha + 2) / (alpha + beta + 2)
