"""How load is spread over nodes and over their resources."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tracekit.analysis.metrics import CONSTANT_VARIANCE, LEVEL, metric
from tracekit.base.arrays import FloatArray


@metric("Debris rate D", "0..1", "CTM21 analysis (Yao et al. 2023), eq 2, every weight 1")
def debris_rate(used: ArrayLike, total: ArrayLike, weights: ArrayLike | None = None) -> FloatArray:
    """Compute D of each node: the mean over resources of ``1 - weight * min(used / total, 1)``.

    Parameters
    ----------
    used, total : array, shape (..., resources)
        Use and capacity in the same unit; a resource with ``total <= 0`` is left out.
    weights : array, shape (resources,), optional
        Weight of each resource, 0..1, not normalised; 1 for each by default.

    Returns
    -------
    array, shape (...)
        D, 0..1; NaN where no resource has a capacity.
    """
    capacity = np.asarray(total, dtype=np.float64)
    exists = np.broadcast_to(capacity > 0, np.broadcast_shapes(np.shape(used), capacity.shape))
    weight = np.ones(1) if weights is None else np.asarray(weights, dtype=np.float64)
    idle = np.where(exists, idle_share(np.where(exists, capacity, 1.0), used, weight), 0.0)
    counted = exists.sum(axis=-1)
    empty = np.full(counted.shape, np.nan)
    return np.asarray(np.divide(idle.sum(axis=-1), counted, out=empty, where=counted > 0))


def idle_share(total: Any, used: Any, weight: Any = 1.0) -> Any:
    """Return ``1 - weight * min(used / total, 1)`` of one resource; ``total`` is above 0."""
    return 1.0 - weight * (np.minimum(used, total) / total)


@metric("Utilization difference G", "0..1", "CTM21 analysis (Yao et al. 2023), eq 3")
def utilization_difference(cpu_fraction: ArrayLike, memory_fraction: ArrayLike) -> FloatArray:
    """Compute G, the mean over the last axis of ``|cpu - memory|``.

    Parameters
    ----------
    cpu_fraction, memory_fraction : array, shape (..., samples)
        Use over capacity, 0..1; samples are a node's times, or the nodes at one time.

    Returns
    -------
    array, shape (...)
        G, 0..1.
    """
    cpu = np.asarray(cpu_fraction, dtype=np.float64)
    return np.asarray(np.abs(cpu - np.asarray(memory_fraction, dtype=np.float64)).mean(axis=-1))


@metric(
    "Spread over nodes",
    "0..1",
    "TBESK (Geng & Wang 2023), section 5.3: greatest difference between nodes",
)
def spread(utilization_fraction: ArrayLike) -> FloatArray:
    """Compute the largest less the smallest utilisation over the nodes, per resource.

    Parameters
    ----------
    utilization_fraction : array, shape (..., nodes, resources)
        Use over capacity.

    Returns
    -------
    array, shape (..., resources)
    """
    # the nodes side by side, where the largest is found quickest
    used = np.swapaxes(np.asarray(utilization_fraction, dtype=np.float64), -2, -1)
    used = np.ascontiguousarray(used)
    return np.asarray(used.max(axis=-1) - used.min(axis=-1))


@metric("Imbalance Z", "0..1", "TBESK (Geng & Wang 2023), eqs 32-34, without 1/m as printed")
def imbalance(utilization_fraction: ArrayLike) -> FloatArray:
    """Compute Z of each node: ``sqrt(sum((u - mean(u)) ** 2))`` over the use u of its resources.

    The source calls Z a standard deviation, but its equation has no 1/m (m: number of resources).
    Divide Z by the root of m for the standard deviation.

    Parameters
    ----------
    utilization_fraction : array, shape (..., resources)
        Use over capacity, 0..1.

    Returns
    -------
    array, shape (...)
        Z, 0 for a node whose resources are equally used, also for an empty node.
    """
    # resource by resource: rows of so few are too short to be added up one by one
    used = np.ascontiguousarray(np.moveaxis(np.asarray(utilization_fraction, np.float64), -1, 0))
    off = used - used.mean(axis=0)
    return np.asarray(np.sqrt(np.square(off).sum(axis=0)))


@metric("Overload", "0..1", "this project: what a node cannot serve")
def overload(used: ArrayLike, total: ArrayLike) -> FloatArray:
    """Compute the use beyond capacity, summed over nodes, as a share of the nodes' total capacity.

    Parameters
    ----------
    used, total : array, shape (..., nodes, resources)
        Use and capacity in the same unit.

    Returns
    -------
    array, shape (..., resources)
        0 when no node is overloaded; NaN for a resource that no node has.
    """
    capacity = np.asarray(total, dtype=np.float64)
    excess = np.maximum(np.asarray(used, dtype=np.float64) - capacity, 0.0).sum(axis=-2)
    whole = np.broadcast_to(capacity.sum(axis=-2), excess.shape)
    return np.asarray(np.divide(excess, whole, out=np.full(excess.shape, np.nan), where=whole > 0))


# Trends over time, and how heavy the tail of values is.


@metric("Theil-Sen slope", "1/h", "Theil 1950, Sen 1968")
def theil_sen_slope(values: ArrayLike, time_h: ArrayLike) -> FloatArray:
    """Compute the slope of each series: the median of the slopes of all pairs of its samples.

    Parameters
    ----------
    values : array, shape (..., samples)
        The series; NaN where there is no sample. For a long series give block means, because the
        number of pairs grows with the square.
    time_h : array, shape (samples,)
        Time of each sample in hours, all different.

    Returns
    -------
    array, shape (...)
        Change per hour; NaN with fewer than two samples.
    """
    series = np.asarray(values, dtype=np.float64)
    times = np.asarray(time_h, dtype=np.float64)
    early, late = np.triu_indices(len(times), k=1)
    slopes = (series[..., late] - series[..., early]) / (times[late] - times[early])
    medians = np.full(series.shape[:-1], np.nan)
    missing = np.isnan(slopes)
    if len(times) >= 2:
        whole = ~missing.any(axis=-1)
        medians[whole] = np.median(slopes[whole], axis=-1)
        some = missing.any(axis=-1) & ~missing.all(axis=-1)
        medians[some] = np.nanmedian(slopes[some], axis=-1)
    return medians


#: Days of a week, each with a level of its own: a weekend is no decline.
WEEK = 7
#: With fewer days weekdays and growth cannot be separated.
LEAST_DAYS = 2 * WEEK
#: The largest autocorrelation of neighbouring samples that is assumed.
_MOST_ALIKE = 0.9


@metric(
    "Growth per week or day",
    "as given",
    "this project: least squares, interval by effective samples (Bartlett 1935)",
)
def growth(values: ArrayLike, season: int = WEEK, level: float = LEVEL) -> FloatArray:
    """Compute the change of each series per season, with a confidence interval.

    Least squares fits one slope, and one level for each position in the season, such as each
    weekday. Successive samples resemble each other, so the interval is that of a smaller number of
    independent samples. That number follows from the first-order autocorrelation of the residuals,
    corrected for the fit.

    Parameters
    ----------
    values : array, shape (..., samples)
        The mean of each day, or of each hour, in order and without gaps.
    season : int
        Number of samples in a season.
    level : float
        Confidence level of the interval.

    Returns
    -------
    array, shape (..., 3)
        Change per season, its lower and its upper limit; NaN with fewer than two seasons.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import

    series = np.asarray(values, dtype=np.float64)
    samples = series.shape[-1]
    if samples < 2 * season:
        return np.full((*series.shape[:-1], 3), np.nan)
    fitted = _columns(samples, season)
    inverse = np.linalg.inv(fitted.T @ fitted)
    coefficients = series @ fitted @ inverse
    rest = series - coefficients @ fitted.T
    freedom = samples - fitted.shape[1]
    squares = np.maximum((rest**2).sum(axis=-1), CONSTANT_VARIANCE)
    alike = (rest[..., 1:] * rest[..., :-1]).sum(axis=-1) / squares
    alike = np.clip(alike + fitted.shape[1] / samples, 0.0, _MOST_ALIKE)
    fewer = (1 - alike) / (1 + alike)
    error = np.sqrt(squares / freedom * inverse[0, 0] / fewer)
    reach = stdtrit(np.maximum(freedom * fewer, 2.0), (1 + level) / 2) * error
    slope = coefficients[..., 0]
    return np.stack([slope, slope - reach, slope + reach], axis=-1)


def _columns(samples: int, season: int) -> FloatArray:
    """The regressors: seasons since the middle, and an indicator of each place in the season."""
    at = np.arange(samples)
    seasons = (at - at.mean()) / season
    return np.column_stack([seasons, at[:, None] % season == np.arange(season)]).astype(np.float64)


@metric(
    "Log-log slope of the CCDF's tail",
    "count",
    "CTM21 analysis (Yao et al. 2023), long-tail check of G",
)
def ccdf_slope(values: ArrayLike, upper_share: float) -> float:
    """Compute the least-squares slope of ``log P(X >= x)`` on ``log x`` over the largest values.

    Parameters
    ----------
    values : array, shape (samples,)
        Only positive values can be in the tail.
    upper_share : float
        Share of the sample that is the tail, 0..1.

    Returns
    -------
    float
        Negative, steeper for a lighter tail; about -alpha for a power law of index alpha. NaN
        when the tail holds fewer than two different values.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))[::-1]
    size = int(upper_share * len(ordered))
    tail = ordered[:size]
    if size < 2 or tail[-1] <= 0 or tail[0] == tail[-1]:
        return float("nan")
    x = np.log(tail)
    y = np.log(np.arange(1, size + 1) / len(ordered))
    off = x - x.mean()
    return float((off * y).sum() / (off**2).sum())


@metric(
    "Hill index of the upper tail",
    "count",
    "Hill 1975; upper 5 % as asked by the CTM21 analysis (Yao et al. 2023), section 2.4",
)
def hill_index(values: ArrayLike, upper_share: float) -> float:
    """Compute the tail index alpha of the largest values: ``P(X > x)`` falls like ``x ** -alpha``.

    Parameters
    ----------
    values : array, shape (samples,)
        Only positive values can be in the tail.
    upper_share : float
        Share of the sample that is the tail, 0..1.

    Returns
    -------
    float
        Larger means lighter; NaN when the tail holds fewer than two values or they are all
        equal.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))[::-1]
    size = int(upper_share * len(ordered))
    if size < 2 or ordered[size] <= 0:
        return float("nan")
    excess = float(np.log(ordered[:size] / ordered[size]).mean())
    return 1 / excess if excess > 0 else float("nan")
