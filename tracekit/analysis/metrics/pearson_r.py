"""Correlation of a node's CPU and memory use over time."""

import numpy as np
from numpy.typing import ArrayLike

from tracekit.analysis.metrics import CONSTANT_VARIANCE, Metric
from tracekit.base.arrays import FloatArray


def pearson_r(cpu_fraction: ArrayLike, memory_fraction: ArrayLike) -> FloatArray:
    """Pearson's r over the last axis, two-pass, clipped to -1..1.

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


METRIC = Metric(
    title="Correlation r of CPU and memory",
    unit="-1..1",
    source="CTM21 analysis (Yao et al. 2023), eq 1",
    function=pearson_r,
)
