"""Growth: the change per week of what was measured day by day, with an interval."""

import numpy as np
from numpy.typing import ArrayLike

from tracekit.arrays import FloatArray
from tracekit.metrics import CONSTANT_VARIANCE, LEVEL, Metric

#: Days of a week, each with a level of its own: a weekend is no decline.
WEEK = 7
#: With fewer days nothing tells a weekday from growth.
LEAST_DAYS = 2 * WEEK
#: Neighbouring days are taken to be alike by no more than this.
_MOST_ALIKE = 0.9


def growth(day_mean: ArrayLike) -> FloatArray:
    """The slope of each series of days, and its 95 % interval.

    Least squares with a level for each day of the week. The interval allows for days that resemble
    the one before: as if a first-order autocorrelation, that of the residuals and what fitting took
    from it, left fewer independent days.

    Parameters
    ----------
    day_mean : array, shape (..., days)
        The mean of each day, one after another, none missing.

    Returns
    -------
    array, shape (..., 3)
        Change per week, its lower and its upper limit; NaN with fewer than two weeks.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import

    series = np.asarray(day_mean, dtype=np.float64)
    days = series.shape[-1]
    if days < LEAST_DAYS:
        return np.full((*series.shape[:-1], 3), np.nan)
    fitted = _columns(days)
    inverse = np.linalg.inv(fitted.T @ fitted)
    found = series @ fitted @ inverse
    rest = series - found @ fitted.T
    freedom = days - fitted.shape[1]
    squares = np.maximum((rest**2).sum(axis=-1), CONSTANT_VARIANCE)
    alike = (rest[..., 1:] * rest[..., :-1]).sum(axis=-1) / squares
    alike = np.clip(alike + fitted.shape[1] / days, 0.0, _MOST_ALIKE)
    fewer = (1 - alike) / (1 + alike)
    error = np.sqrt(squares / freedom * inverse[0, 0] / fewer)
    reach = stdtrit(np.maximum(freedom * fewer, 2.0), (1 + LEVEL) / 2) * error
    slope = found[..., 0]
    return np.stack([slope, slope - reach, slope + reach], axis=-1)


def _columns(days: int) -> FloatArray:
    """What is fitted: weeks since the middle, and which day of the week it is."""
    day = np.arange(days)
    weeks = (day - day.mean()) / WEEK
    return np.column_stack([weeks, day[:, None] % WEEK == np.arange(WEEK)]).astype(np.float64)


METRIC = Metric(
    title="Growth per week",
    unit="as given",
    source="this project: least squares, interval by the effective number of days (Bartlett 1935)",
    function=growth,
)
