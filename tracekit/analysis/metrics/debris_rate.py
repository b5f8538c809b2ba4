"""Debris rate D: the share of a node's resources that lies idle."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tracekit.analysis.metrics import Metric
from tracekit.base.arrays import FloatArray


def debris_rate(used: ArrayLike, total: ArrayLike, weights: ArrayLike | None = None) -> FloatArray:
    """D of each node: the mean over resources of ``1 - weight * min(used / total, 1)``.

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
    there = np.broadcast_to(capacity > 0, np.broadcast_shapes(np.shape(used), capacity.shape))
    weight = np.ones(1) if weights is None else np.asarray(weights, dtype=np.float64)
    idle = np.where(there, idle_share(np.where(there, capacity, 1.0), used, weight), 0.0)
    counted = there.sum(axis=-1)
    empty = np.full(counted.shape, np.nan)
    return np.asarray(np.divide(idle.sum(axis=-1), counted, out=empty, where=counted > 0))


def idle_share(total: Any, used: Any, weight: Any = 1.0) -> Any:
    """Idle share of one resource of which there is some."""
    return 1.0 - weight * (np.minimum(used, total) / total)


METRIC = Metric(
    title="Debris rate D",
    unit="0..1",
    source="CTM21 analysis (Yao et al. 2023), eq 2, every weight 1",
    function=debris_rate,
)
