"""Effective sample size of an autocorrelated series."""

import numpy as np
from numpy.typing import ArrayLike

from tracekit.analysis.metrics import CONSTANT_VARIANCE, Metric
from tracekit.base.arrays import FloatArray

#: Fewer blocks than this say nothing about how block means vary.
MIN_BLOCKS = 4


def effective_samples(
    block_mean: ArrayLike, block_var: ArrayLike, block_samples: ArrayLike
) -> FloatArray:
    """How many independent samples would give the series' mean as exactly (batch means).

    With the series cut into blocks, the variance of its mean is read off the scatter of the block
    means; independent samples of the same variance would need this many. Autocorrelation that
    outlasts a block is seen through the scatter of the block means.

    Parameters
    ----------
    block_mean, block_var : array, shape (..., blocks)
        Mean and population variance inside each block; anything where it has no samples.
    block_samples : array, shape (..., blocks)
        Samples in each block, 0 for none.

    Returns
    -------
    array, shape (...)
        1..samples; NaN for a constant series or fewer than four blocks.
    """
    samples = np.asarray(block_samples, dtype=np.float64)
    there = samples > 0
    mean = np.where(there, block_mean, 0.0)
    whole = samples.sum(axis=-1, keepdims=True)
    share = np.divide(samples, whole, out=np.zeros(samples.shape), where=whole > 0)
    off = np.where(there, mean - (share * mean).sum(axis=-1, keepdims=True), 0.0)
    variance = (share * (np.where(there, block_var, 0.0) + off**2)).sum(axis=-1)
    blocks = there.sum(axis=-1)
    freedom = np.maximum(blocks - 1, 1)
    # the variance of a weighted mean of blocks that are independent of each other
    of_mean = (share**2 * off**2).sum(axis=-1) * blocks / freedom
    usable = np.asarray((blocks >= MIN_BLOCKS) & (variance > CONSTANT_VARIANCE) & (of_mean > 0))
    found = np.divide(variance, of_mean, out=np.full(usable.shape, np.nan), where=usable)
    return np.asarray(np.clip(found, 1.0, np.maximum(whole[..., 0], 1.0)))


METRIC = Metric(
    title="Effective sample size",
    unit="count",
    source="batch means: Conway 1963; Flegal & Jones 2010",
    function=effective_samples,
)
