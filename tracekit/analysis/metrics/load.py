"""How load lies on nodes and over their resources."""

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


debris_rate_ = Metric(
    title="Debris rate D",
    unit="0..1",
    source="CTM21 analysis (Yao et al. 2023), eq 2, every weight 1",
    function=debris_rate,
)


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


utilization_difference_ = Metric(
    title="Utilization difference G",
    unit="0..1",
    source="CTM21 analysis (Yao et al. 2023), eq 3",
    function=utilization_difference,
)


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


spread_ = Metric(
    title="Spread over nodes",
    unit="0..1",
    source="TBESK (Geng & Wang 2023), section 5.3: greatest difference between nodes",
    function=spread,
)


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


imbalance_ = Metric(
    title="Imbalance Z",
    unit="0..1",
    source="TBESK (Geng & Wang 2023), eqs 32-34, without 1/m as printed",
    function=imbalance,
)


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


overload_ = Metric(
    title="Overload",
    unit="0..1",
    source="this project: what a node cannot serve",
    function=overload,
)
