"""Theil-Sen slope: the median of the slopes between all pairs of samples."""

import numpy as np
from numpy.typing import ArrayLike

from tracekit.analysis.metrics import Metric
from tracekit.base.arrays import FloatArray


def theil_sen_slope(values: ArrayLike, time_h: ArrayLike) -> FloatArray:
    """Slope of each series, robust against outliers.

    Parameters
    ----------
    values : array, shape (..., samples)
        The series; NaN where there is no sample. All pairs are used, so give block means rather
        than raw samples for long series.
    time_h : array, shape (samples,)
        Time of each sample in hours, all different.

    Returns
    -------
    array, shape (...)
        Change per hour; NaN with fewer than two samples.
    """
    series = np.asarray(values, dtype=np.float64)
    times = np.asarray(time_h, dtype=np.float64)
    early, late = np.triu_indices(len(times), k=1)
    slopes = (series[..., late] - series[..., early]) / (times[late] - times[early])
    found = np.full(series.shape[:-1], np.nan)
    missing = np.isnan(slopes)
    if len(times) >= 2:
        whole = ~missing.any(axis=-1)
        found[whole] = np.median(slopes[whole], axis=-1)
        some = missing.any(axis=-1) & ~missing.all(axis=-1)
        found[some] = np.nanmedian(slopes[some], axis=-1)
    return found


METRIC = Metric(
    title="Theil-Sen slope",
    unit="1/h",
    source="Theil 1950, Sen 1968",
    function=theil_sen_slope,
)
