"""Strength band of a correlation: strong, moderate, low, weak_or_none, undefined."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracekit.analysis.metrics import Metric
from tracekit.base.constants import ZONE_LIMIT


def strength(r: ArrayLike) -> NDArray[np.str_]:
    """Strong above 0.8, moderate above 0.5, low from 0.3 on, by the absolute value of r.

    Parameters
    ----------
    r : array, shape (...)
        Correlation, -1..1 or NaN.

    Returns
    -------
    array of str, shape (...)
        ``undefined`` for NaN.
    """
    values = np.asarray(r, dtype=np.float64)
    size = np.abs(values)
    cases = [np.isnan(values), size > 0.8, size > 0.5, size >= ZONE_LIMIT]
    return np.select(cases, ["undefined", "strong", "moderate", "low"], "weak_or_none")


METRIC = Metric(
    title="Strength of the correlation",
    unit="label",
    source="CTM21 analysis (Yao et al. 2023), 0.8 as stated, 0.5 and 0.3 as read here",
    function=strength,
)
