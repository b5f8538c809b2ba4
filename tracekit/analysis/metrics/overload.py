"""Overload: use beyond capacity."""

import numpy as np
from numpy.typing import ArrayLike

from tracekit.analysis.metrics import Metric
from tracekit.base.arrays import FloatArray


def overload(used: ArrayLike, total: ArrayLike) -> FloatArray:
    """Use beyond capacity, summed over the nodes, as a share of the whole capacity.

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


METRIC = Metric(
    title="Overload",
    unit="0..1",
    source="this project: what a node cannot serve",
    function=overload,
)
