"""The correlation of two resources, and its uncertainty."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr

from tracekit.analysis.metrics import CONSTANT_VARIANCE, LEVEL, metric
from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.base.constants import ZONE_LIMIT


@metric("Correlation r of CPU and memory", "-1..1", "CTM21 analysis (Yao et al. 2023), eq 1")
def pearson_r(cpu_fraction: ArrayLike, memory_fraction: ArrayLike) -> FloatArray:
    """Compute Pearson's r over the last axis in two passes, clipped to -1..1.

    Parameters
    ----------
    cpu_fraction, memory_fraction : array, shape (..., samples)
        The two series, aligned.

    Returns
    -------
    array, shape (...)
        r; NaN where either series is constant.
    """
    cpu = np.asarray(cpu_fraction, dtype=np.float64)
    memory = np.asarray(memory_fraction, dtype=np.float64)
    cpu = cpu - cpu.mean(axis=-1, keepdims=True)
    memory = memory - memory.mean(axis=-1, keepdims=True)
    squares = np.square(cpu).sum(axis=-1), np.square(memory).sum(axis=-1)
    smallest = np.minimum(*squares)
    varies = np.asarray(smallest > CONSTANT_VARIANCE * cpu.shape[-1])
    root = np.sqrt(squares[0]) * np.sqrt(squares[1])
    empty = np.full(varies.shape, np.nan)
    r = np.divide((cpu * memory).sum(axis=-1), root, out=empty, where=varies)
    return np.asarray(np.clip(r, -1.0, 1.0))


@metric("Correlation zone", "label", "CTM21 analysis (Yao et al. 2023), section 2.3")
def zone(r: ArrayLike) -> NDArray[np.str_]:
    """Return the zone of r: A below -0.3, B from -0.3 to below 0.3, C from 0.3 on, U for NaN.

    Parameters
    ----------
    r : array, shape (...)
        Correlation, -1..1 or NaN.

    Returns
    -------
    array of str, shape (...)
    """
    values = np.asarray(r, dtype=np.float64)
    cases = [np.isnan(values), values < -ZONE_LIMIT, values < ZONE_LIMIT]
    return np.select(cases, ["U", "A", "B"], "C")


@metric(
    "Strength of the correlation",
    "label",
    "CTM21 analysis (Yao et al. 2023), 0.8 as stated, 0.5 and 0.3 as read here",
)
def strength(r: ArrayLike) -> NDArray[np.str_]:
    """Return the strength of r: strong if |r| > 0.8, moderate if > 0.5, low if >= 0.3.

    Parameters
    ----------
    r : array, shape (...)
        Correlation, -1..1 or NaN.

    Returns
    -------
    array of str, shape (...)
        ``undefined`` for NaN.
    """
    values = np.asarray(r, dtype=np.float64)
    size = np.abs(values)
    cases = [np.isnan(values), size > 0.8, size > 0.5, size >= ZONE_LIMIT]
    return np.select(cases, ["undefined", "strong", "moderate", "low"], "weak_or_none")


@metric(
    "Probability of another correlation zone",
    "0..1",
    "this project: Fisher's z with a block jackknife error",
)
def zone_doubt(r: ArrayLike, error: ArrayLike, freedom: ArrayLike) -> FloatArray:
    """Compute the probability that the true correlation lies in another zone than ``r`` does.

    Fisher's z of the true correlation is taken to be Student-t around that of ``r``.

    Parameters
    ----------
    r : array, shape (...)
        Estimated correlation, -1..1 or NaN.
    error : array, shape (...)
        Standard error of ``atanh r``.
    freedom : array, shape (...)
        Degrees of freedom of that error: blocks less one.

    Returns
    -------
    array, shape (...)
        0..1; 0 for an error of 0 inside a zone, NaN where r or the error is.
    """
    value = np.asarray(r, dtype=np.float64)
    z = np.arctanh(np.clip(value, -1 + 1e-9, 1 - 1e-9))
    spread = np.maximum(np.asarray(error, dtype=np.float64), 1e-12)
    degrees = np.maximum(np.asarray(freedom, dtype=np.float64), 1)
    below_low, below_high = (
        stdtr(degrees, (np.arctanh(edge) - z) / spread) for edge in (-ZONE_LIMIT, ZONE_LIMIT)
    )
    inside = np.select(
        [value < -ZONE_LIMIT, value < ZONE_LIMIT],
        [below_low, below_high - below_low],
        1 - below_high,
    )
    doubt = np.clip(1 - inside, 0.0, 1.0)
    return np.asarray(np.where(np.isnan(value) | np.isnan(spread), np.nan, doubt))


#: With fewer blocks the variance of block means is not estimated.
MIN_BLOCKS = 4


@metric("Effective sample size", "count", "batch means: Conway 1963; Flegal & Jones 2010")
def effective_samples(
    block_mean: ArrayLike, block_var: ArrayLike, block_samples: ArrayLike
) -> FloatArray:
    """Compute how many independent samples would give a series' mean as exactly (batch means).

    The result is the variance of the series divided by the variance of its mean. The variance of
    the mean comes from the scatter of block means, so it includes the effect of autocorrelation.

    Parameters
    ----------
    block_mean, block_var : array, shape (..., blocks)
        Mean and population variance inside each block; ignored for a block without samples.
    block_samples : array, shape (..., blocks)
        Samples in each block, 0 for none.

    Returns
    -------
    array, shape (...)
        1..samples; NaN for a constant series or fewer than four blocks.
    """
    samples = np.asarray(block_samples, dtype=np.float64)
    has_samples = samples > 0
    mean = np.where(has_samples, block_mean, 0.0)
    whole = samples.sum(axis=-1, keepdims=True)
    share = np.divide(samples, whole, out=np.zeros(samples.shape), where=whole > 0)
    off = np.where(has_samples, mean - (share * mean).sum(axis=-1, keepdims=True), 0.0)
    variance = (share * (np.where(has_samples, block_var, 0.0) + off**2)).sum(axis=-1)
    blocks = has_samples.sum(axis=-1)
    freedom = np.maximum(blocks - 1, 1)
    # the variance of a weighted mean of blocks that are independent of each other
    of_mean = (share**2 * off**2).sum(axis=-1) * blocks / freedom
    usable = np.asarray((blocks >= MIN_BLOCKS) & (variance > CONSTANT_VARIANCE) & (of_mean > 0))
    effective = np.divide(variance, of_mean, out=np.full(usable.shape, np.nan), where=usable)
    return np.asarray(np.clip(effective, 1.0, np.maximum(whole[..., 0], 1.0)))


#: With fewer units no interval is given.
FEWEST = 5
#: From this many units on, plain percentiles have the stated coverage.
MANY = 100


def resampling_matrix(rng: np.random.Generator, units: int, replicates: int) -> FloatArray:
    """Draw bootstrap samples: how often each replicate draws each unit, (replicates, units).

    Each row sums to the number of units.
    """
    drawn = np.zeros((replicates, units), dtype=np.float64)
    for at in range(replicates):
        drawn[at] = np.bincount(rng.integers(units, size=units), minlength=units)
    return drawn


@metric(
    "Bootstrap interval over nodes",
    "as given",
    "Efron 1979: below 100 nodes the studentized (bootstrap-t) interval, from there on"
    " percentiles; containers are drawn with their nodes (clusters)",
)
def bootstrap_interval(
    totals: ArrayLike, weights: ArrayLike, drawn: ArrayLike, *, level: float = LEVEL
) -> FloatArray:
    """Compute bootstrap intervals of ratios of sums. Units are drawn with replacement.

    From ``MANY`` units on, limits are percentiles of the drawn means. With fewer units these would
    be too narrow, so the interval is studentized (bootstrap-t): a draw's distance from the mean is
    divided by the draw's standard error.

    Parameters
    ----------
    totals, weights : array, shape (units, means)
        The mean of a column is ``totals.sum() / weights.sum()``. For a mean over nodes, a unit is a
        node, the total is its value and the weight is 1; both are 0 for a node that is not in the
        group. For a mean over containers, which are drawn with their nodes, the total is the sum
        over the node's containers, and the weight is their number.
    drawn : array, shape (replicates, units)
        How often each replicate draws each unit; one matrix serves every mean.
    level : float
        Confidence level of the intervals.

    Returns
    -------
    array, shape (3, means)
        Lower limit, upper limit and standard error; NaN with fewer than ``FEWEST`` units of a
        weight above 0.
    """
    times = np.asarray(drawn, dtype=np.float64)
    weight = np.asarray(weights, dtype=np.float64)
    total = np.asarray(totals, dtype=np.float64)
    means = _ratio(times @ total, times @ weight)
    intervals = np.full((3, means.shape[1]), np.nan)
    units = (weight > 0).sum(axis=0)
    some = (units >= FEWEST) & ~np.isnan(means).all(axis=0)
    tail = (1 - level) / 2
    if some.any():
        intervals[:2, some] = np.nanquantile(means[:, some], [tail, 1 - tail], axis=0)
        intervals[2, some] = np.nanstd(means[:, some], axis=0)
    for at in np.flatnonzero(some & (units < MANY)).tolist():
        rows = weight[:, at] > 0
        intervals[:2, at] = _studentized(total[rows, at], weight[rows, at], times[:, rows], tail)
    return intervals


def _studentized(
    total: FloatArray, weight: FloatArray, times: FloatArray, tail: float
) -> tuple[float, float]:
    """The studentized bootstrap interval of one ratio."""
    mean = float(total.sum() / weight.sum())
    error = float(_error(total, weight, np.ones((1, len(total))))[0])
    drawn = _ratio(times @ total, times @ weight)
    errors = _error(total, weight, times)
    # a draw of one unit, or of equal units, has no standard error
    tells = np.isfinite(errors) & (errors > 1e-9 * max(error, 1e-300))
    if not tells.any():
        return mean, mean
    off = (drawn[tells] - mean) / errors[tells]
    low, high = np.quantile(off, [tail, 1 - tail])
    # values that are never below 0 have no mean below 0
    least = 0.0 if (total >= 0).all() else -np.inf
    return max(mean - float(high) * error, least), mean - float(low) * error


def _error(total: FloatArray, weight: FloatArray, times: FloatArray) -> FloatArray:
    """The standard error of each draw's ratio, by linearisation (Cochran 1977, section 6.4)."""
    below, count = times @ weight, times.sum(axis=1)
    mean = _ratio(times @ total, below)
    squares = (
        times @ total**2 - 2 * mean * (times @ (total * weight)) + mean**2 * (times @ weight**2)
    )
    variance = _ratio(np.maximum(squares, 0.0) * count, (count - 1) * below**2)
    return np.asarray(np.sqrt(variance))


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    ratios = np.full(below.shape, np.nan)
    np.divide(above, below, out=ratios, where=below > 0)
    return ratios


#: The distance of correlations from 1, where Fisher's scale has no end.
_EDGE = 1e-9


@metric(
    "Standard error of a correlation (Fisher's z)",
    "count",
    "delete-a-block jackknife: Kunsch 1989, on Fisher's z",
)
def correlation_error(
    samples: ArrayLike,
    means: tuple[ArrayLike, ArrayLike],
    variances: tuple[ArrayLike, ArrayLike],
    covariance: ArrayLike,
) -> FloatArray:
    """Compute the standard error of ``atanh r`` by a jackknife that leaves out one block at a time.

    Whole blocks are left out, so that correlation within a block is not counted twice. Changes
    slower than a block are not counted. An error of e is as large as with ``3 + 1 / e**2``
    independent samples.

    Parameters
    ----------
    samples : array, shape (..., blocks)
        Samples in each block, 0 for none.
    means, variances : pair of array, shape (..., blocks)
        Of the two series inside each block; population variances.
    covariance : array, shape (..., blocks)
        Population covariance inside each block.

    Returns
    -------
    array, shape (...)
        NaN where a series is constant (also with one block left out), or with fewer than four
        blocks.
    """
    count = np.asarray(samples, dtype=np.float64)
    has_samples = count > 0
    first, second = (np.where(has_samples, value, 0.0) for value in means)
    # around the overall means, so that sums of squares do not cancel
    first, second = (_centred(value, count) for value in (first, second))
    pairs = ((first, first), (second, second), (first, second))
    inner = [np.where(has_samples, value, 0.0) for value in (*variances, covariance)]
    sums = [count * (own + a * b) for own, (a, b) in zip(inner, pairs, strict=True)]
    z = _left_out(count, first, second, sums)
    return _jackknife(z, has_samples)


def _centred(value: FloatArray, count: FloatArray) -> FloatArray:
    whole = np.maximum(count.sum(axis=-1, keepdims=True), 1)
    return np.asarray(value - (count * value).sum(axis=-1, keepdims=True) / whole)


def _left_out(
    count: FloatArray,
    first: FloatArray,
    second: FloatArray,
    sums: list[FloatArray],
) -> FloatArray:
    """Atanh r without each block; NaN if the remaining samples are constant."""
    left = np.maximum(_others(count), 1)
    mean_first, mean_second = _others(count * first) / left, _others(count * second) / left
    means = (mean_first**2, mean_second**2, mean_first * mean_second)
    var_first, var_second, both = (
        _others(total) / left - mean for total, mean in zip(sums, means, strict=True)
    )
    varies = (var_first > CONSTANT_VARIANCE) & (var_second > CONSTANT_VARIANCE)
    root = np.sqrt(np.where(varies, var_first * var_second, 1.0))
    r = np.where(varies, both / root, np.nan)
    return np.asarray(np.arctanh(np.clip(r, -1 + _EDGE, 1 - _EDGE)))


def _others(values: FloatArray) -> FloatArray:
    return np.asarray(values.sum(axis=-1, keepdims=True) - values)


def _jackknife(z: FloatArray, has_samples: BoolArray) -> FloatArray:
    blocks = has_samples.sum(axis=-1)
    some = np.maximum(blocks, 1)
    filled = np.where(has_samples, z, 0.0)
    off = np.where(has_samples, filled - filled.sum(axis=-1, keepdims=True) / some[..., None], 0.0)
    error = np.sqrt((off**2).sum(axis=-1) * (some - 1) / some)
    return np.asarray(np.where(blocks >= MIN_BLOCKS, error, np.nan))
