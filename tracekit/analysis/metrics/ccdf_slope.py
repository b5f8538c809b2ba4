"""Slope of the tail of a sample's CCDF on log-log axes."""

import numpy as np
from numpy.typing import ArrayLike

from tracekit.analysis.metrics import Metric


def ccdf_slope(values: ArrayLike, upper_share: float) -> float:
    """Least-squares slope of ``log P(X >= x)`` on ``log x`` over the largest values.

    Parameters
    ----------
    values : array, shape (samples,)
        Only positive values can be in the tail.
    upper_share : float
        Share of the sample that is the tail, 0..1.

    Returns
    -------
    float
        Negative, steeper for a lighter tail; about -alpha for a power law of index alpha. NaN
        when the tail holds fewer than two different values.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))[::-1]
    size = int(upper_share * len(ordered))
    tail = ordered[:size]
    if size < 2 or tail[-1] <= 0 or tail[0] == tail[-1]:
        return float("nan")
    x = np.log(tail)
    y = np.log(np.arange(1, size + 1) / len(ordered))
    off = x - x.mean()
    return float((off * y).sum() / (off**2).sum())


METRIC = Metric(
    title="Log-log slope of the CCDF's tail",
    unit="count",
    source="CTM21 analysis (Yao et al. 2023), long-tail check of G",
    function=ccdf_slope,
)
