"""The Beta distribution as LowRiskOverCommitment uses it, with its answers to invalid input.

Source: scheduler-plugins 903da7df, pkg/trimaran/lowriskovercommitment/beta.go. Arguments are
arrays or numbers that broadcast; answers have their common shape.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tracekit.base.arrays import FloatArray
from tracekit.policy.placement._parts.formula import either

_SMALLEST = 5e-324


def max_variance(mean: Any) -> Any:
    """The largest variance a variable in 0..1 of this mean can have; 0 outside (0, 1).

    For arrays and, compiled, for numbers, as ``shape``.
    """
    return either((mean > 0) & (mean < 1), mean * (1 - mean), 0.0)


def shape(mean: Any, second: Any) -> tuple[Any, Any]:
    """The alpha and beta with this first and second raw moment; NaN where there are none.

    Infinite, with numpy's warning, where the variance is 0.
    """
    variance = second - mean * mean
    most = mean * (1 - mean)
    possible = (mean >= 0) & (mean <= 1) & (variance >= 0) & (variance < most)
    least = either(possible, most / either(possible, variance, 1.0), 1.0) - 1
    factor = either(least > _SMALLEST, least, _SMALLEST)
    return either(possible, mean * factor, np.nan), either(possible, (1 - mean) * factor, np.nan)


def fit(mean: ArrayLike, second: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """``shape`` of what broadcasts, without a warning."""
    first, other = np.broadcast_arrays(np.asarray(mean, np.float64), np.asarray(second, np.float64))
    with np.errstate(divide="ignore", over="ignore"):
        return shape(first, other)


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
