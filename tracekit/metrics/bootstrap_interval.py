"""Bootstrap interval of a mean over nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tracekit.arrays import FloatArray
from tracekit.metrics import Metric

LEVEL = 0.95


def resampling_matrix(rng: np.random.Generator, units: int, replicates: int) -> FloatArray:
    """How often each replicate draws each unit, shape (replicates, units); rows sum to units."""
    drawn = np.zeros((replicates, units), dtype=np.float64)
    for at in range(replicates):
        drawn[at] = np.bincount(rng.integers(units, size=units), minlength=units)
    return drawn


def bootstrap_interval(
    totals: ArrayLike, weights: ArrayLike, drawn: ArrayLike, *, level: float = LEVEL
) -> FloatArray:
    """Percentile intervals of ratios of sums, the units being drawn with replacement.

    A mean over nodes has totals x and weights 1; over the nodes of a group, both 0 outside it;
    over containers, drawn with their nodes, the sum and the number of a node's containers.

    Parameters
    ----------
    totals, weights : array, shape (units, means)
        The mean of a column is ``totals.sum() / weights.sum()``.
    drawn : array, shape (replicates, units)
        How often each replicate draws each unit; one matrix serves every mean.

    Returns
    -------
    array, shape (3, means)
        Lower limit, upper limit and standard error; NaN with fewer than two units that weigh.
    """
    times = np.asarray(drawn, dtype=np.float64)
    weight = np.asarray(weights, dtype=np.float64)
    below = times @ weight
    above = times @ np.asarray(totals, dtype=np.float64)
    means = np.divide(above, below, out=np.full(below.shape, np.nan), where=below > 0)
    found = np.full((3, means.shape[1]), np.nan)
    # a single unit says nothing of how units differ
    some = ((weight > 0).sum(axis=0) >= 2) & ~np.isnan(means).all(axis=0)
    tail = (1 - level) / 2
    if some.any():
        found[:2, some] = np.nanquantile(means[:, some], [tail, 1 - tail], axis=0)
        found[2, some] = np.nanstd(means[:, some], axis=0)
    return found


METRIC = Metric(
    title="Bootstrap interval over nodes",
    unit="as given",
    source="Efron 1979, percentile interval; containers are drawn with their nodes (clusters)",
    function=bootstrap_interval,
)
