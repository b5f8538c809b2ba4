"""Bootstrap interval of a mean over nodes."""

import numpy as np
from numpy.typing import ArrayLike

from tracekit.analysis.metrics import LEVEL, Metric
from tracekit.base.arrays import FloatArray

#: Fewer units than this tell too little of how units differ.
FEWEST = 5
#: From here on plain percentiles hold the mean as often as they say.
MANY = 100


def resampling_matrix(rng: np.random.Generator, units: int, replicates: int) -> FloatArray:
    """How often each replicate draws each unit, shape (replicates, units); rows sum to units."""
    drawn = np.zeros((replicates, units), dtype=np.float64)
    for at in range(replicates):
        drawn[at] = np.bincount(rng.integers(units, size=units), minlength=units)
    return drawn


def bootstrap_interval(
    totals: ArrayLike, weights: ArrayLike, drawn: ArrayLike, *, level: float = LEVEL
) -> FloatArray:
    """Intervals of ratios of sums, the units being drawn with replacement.

    A mean over nodes has totals x and weights 1; over the nodes of a group, both 0 outside it;
    over containers, drawn with their nodes, the sum and the number of a node's containers.

    With few units plain percentiles are far too narrow: of two they hold the mean in half of all
    cases. So below ``MANY`` units the interval is studentized: each draw tells how far its mean is
    from the mean, in its own standard errors, and that is turned round.

    Parameters
    ----------
    totals, weights : array, shape (units, means)
        The mean of a column is ``totals.sum() / weights.sum()``.
    drawn : array, shape (replicates, units)
        How often each replicate draws each unit; one matrix serves every mean.

    Returns
    -------
    array, shape (3, means)
        Lower limit, upper limit and standard error; NaN with fewer than ``FEWEST`` units that
        weigh.
    """
    times = np.asarray(drawn, dtype=np.float64)
    weight = np.asarray(weights, dtype=np.float64)
    total = np.asarray(totals, dtype=np.float64)
    means = _ratio(times @ total, times @ weight)
    found = np.full((3, means.shape[1]), np.nan)
    units = (weight > 0).sum(axis=0)
    some = (units >= FEWEST) & ~np.isnan(means).all(axis=0)
    tail = (1 - level) / 2
    if some.any():
        found[:2, some] = np.nanquantile(means[:, some], [tail, 1 - tail], axis=0)
        found[2, some] = np.nanstd(means[:, some], axis=0)
    for at in np.flatnonzero(some & (units < MANY)).tolist():
        rows = weight[:, at] > 0
        found[:2, at] = _studentized(total[rows, at], weight[rows, at], times[:, rows], tail)
    return found


def _studentized(
    total: FloatArray, weight: FloatArray, times: FloatArray, tail: float
) -> tuple[float, float]:
    """The interval of one ratio, from how far the draws' own are off in their standard errors."""
    mean = float(total.sum() / weight.sum())
    error = float(_error(total, weight, np.ones((1, len(total))))[0])
    drawn = _ratio(times @ total, times @ weight)
    errors = _error(total, weight, times)
    # a draw of one unit alone, or of equal ones, says nothing of how far it may be off
    tells = np.isfinite(errors) & (errors > 1e-9 * max(error, 1e-300))
    if not tells.any():
        return mean, mean
    off = (drawn[tells] - mean) / errors[tells]
    low, high = np.quantile(off, [tail, 1 - tail])
    # what is never below 0 has no mean below 0
    least = 0.0 if (total >= 0).all() else -np.inf
    return max(mean - float(high) * error, least), mean - float(low) * error


def _error(total: FloatArray, weight: FloatArray, times: FloatArray) -> FloatArray:
    """The standard error of each draw's ratio, by linearisation (Cochran 1977, section 6.4)."""
    below, count = times @ weight, times.sum(axis=1)
    mean = _ratio(times @ total, below)
    squares = (
        times @ total**2 - 2 * mean * (times @ (total * weight)) + mean**2 * (times @ weight**2)
    )
    variance = _ratio(np.maximum(squares, 0.0) * count, (count - 1) * below**2)
    return np.asarray(np.sqrt(variance))


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    found = np.full(below.shape, np.nan)
    np.divide(above, below, out=found, where=below > 0)
    return found


METRIC = Metric(
    title="Bootstrap interval over nodes",
    unit="as given",
    source="Efron 1979: below 100 nodes the studentized (bootstrap-t) interval, from there on"
    " percentiles; containers are drawn with their nodes (clusters)",
    function=bootstrap_interval,
)
