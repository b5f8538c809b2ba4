"""Utilization difference G: how far CPU and memory use lie apart."""

import numpy as np
from numpy.typing import ArrayLike

from tracekit.analysis.metrics import Metric
from tracekit.base.arrays import FloatArray


def utilization_difference(cpu_fraction: ArrayLike, memory_fraction: ArrayLike) -> FloatArray:
    """G: the mean over the last axis of ``|cpu - memory|``.

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


METRIC = Metric(
    title="Utilization difference G",
    unit="0..1",
    source="CTM21 analysis (Yao et al. 2023), eq 3",
    function=utilization_difference,
)
