"""Standard error of a correlation of autocorrelated series, on Fisher's scale."""

import numpy as np
from numpy.typing import ArrayLike

from tracekit.analysis.metrics import CONSTANT_VARIANCE, Metric
from tracekit.analysis.metrics.effective_samples import MIN_BLOCKS
from tracekit.base.arrays import BoolArray, FloatArray

#: Correlations are kept this far from 1, where Fisher's scale has no end.
_EDGE = 1e-9


def correlation_error(
    samples: ArrayLike,
    means: tuple[ArrayLike, ArrayLike],
    variances: tuple[ArrayLike, ArrayLike],
    covariance: ArrayLike,
) -> FloatArray:
    """Standard error of ``atanh r``, by leaving out one block of time after the other.

    The samples inside a block stay together, so what is correlated within it is not counted
    twice; what moves more slowly than a block is taken as it was. ``3 + 1 / error**2`` is the
    number of independent samples that would give r as exactly.

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
        NaN where a series is constant (also with one block left out), or blocks are too few.
    """
    count = np.asarray(samples, dtype=np.float64)
    there = count > 0
    first, second = (np.where(there, value, 0.0) for value in means)
    # around the overall means, so that sums of squares do not cancel
    first, second = (_centred(value, count) for value in (first, second))
    pairs = ((first, first), (second, second), (first, second))
    inner = [np.where(there, value, 0.0) for value in (*variances, covariance)]
    sums = [count * (own + a * b) for own, (a, b) in zip(inner, pairs, strict=True)]
    z = _left_out(count, first, second, sums)
    return _jackknife(z, there)


def _centred(value: FloatArray, count: FloatArray) -> FloatArray:
    whole = np.maximum(count.sum(axis=-1, keepdims=True), 1)
    return np.asarray(value - (count * value).sum(axis=-1, keepdims=True) / whole)


def _left_out(
    count: FloatArray,
    first: FloatArray,
    second: FloatArray,
    sums: list[FloatArray],
) -> FloatArray:
    """Atanh r without each block; NaN where what is left is constant."""
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


def _jackknife(z: FloatArray, there: BoolArray) -> FloatArray:
    blocks = there.sum(axis=-1)
    some = np.maximum(blocks, 1)
    kept = np.where(there, z, 0.0)
    off = np.where(there, kept - kept.sum(axis=-1, keepdims=True) / some[..., None], 0.0)
    error = np.sqrt((off**2).sum(axis=-1) * (some - 1) / some)
    return np.asarray(np.where(blocks >= MIN_BLOCKS, error, np.nan))


METRIC = Metric(
    title="Standard error of a correlation (Fisher's z)",
    unit="count",
    source="delete-a-block jackknife: Kunsch 1989, on Fisher's z",
    function=correlation_error,
)
