"""Imbalance Z: how unevenly a node's resources are used."""

import numpy as np
from numpy.typing import ArrayLike

from tracekit.analysis.metrics import Metric
from tracekit.base.arrays import FloatArray


def imbalance(utilization_fraction: ArrayLike) -> FloatArray:
    """Z of each node: the root of the summed squared deviations from the node's mean.

    As printed there is no 1/m under the root, although the source calls it a standard deviation;
    the population form is Z divided by the root of m and keeps every ratio.

    Parameters
    ----------
    utilization_fraction : array, shape (..., resources)
        Use over capacity, 0..1.

    Returns
    -------
    array, shape (...)
        Z, 0 for a node whose resources are equally used; an empty node has 0 and counts.
    """
    # resource by resource: rows of so few are too short to be added up one by one
    used = np.ascontiguousarray(np.moveaxis(np.asarray(utilization_fraction, np.float64), -1, 0))
    off = used - used.mean(axis=0)
    return np.asarray(np.sqrt(np.square(off).sum(axis=0)))


METRIC = Metric(
    title="Imbalance Z",
    unit="0..1",
    source="TBESK (Geng & Wang 2023), eqs 32-34, without 1/m as printed",
    function=imbalance,
)
