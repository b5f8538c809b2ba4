"""Spread: how far the most and the least used node lie apart."""

import numpy as np
from numpy.typing import ArrayLike

from tracekit.analysis.metrics import Metric
from tracekit.base.arrays import FloatArray


def spread(utilization_fraction: ArrayLike) -> FloatArray:
    """Largest less smallest utilisation over the nodes, per resource.

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


METRIC = Metric(
    title="Spread over nodes",
    unit="0..1",
    source="TBESK (Geng & Wang 2023), section 5.3: greatest difference between nodes",
    function=spread,
)
