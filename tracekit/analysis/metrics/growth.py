"""Growth: the change per week or day of what was measured again and again, with an interval."""

import numpy as np
from numpy.typing import ArrayLike

from tracekit.analysis.metrics import CONSTANT_VARIANCE, LEVEL, Metric
from tracekit.base.arrays import FloatArray

#: Days of a week, each with a level of its own: a weekend is no decline.
WEEK = 7
#: With fewer days nothing tells a weekday from growth.
LEAST_DAYS = 2 * WEEK
#: Neighbouring samples are taken to be alike by no more than this.
_MOST_ALIKE = 0.9


def growth(values: ArrayLike, season: int = WEEK, level: float = LEVEL) -> FloatArray:
    """The slope of each series, and the interval that is to hold it.

    Least squares with a level for each place in the season: each day of a week, or each hour of a
    day. The interval allows for samples that resemble the one before: as if a first-order
    autocorrelation, that of the residuals and what fitting took from it, left fewer independent
    ones.

    Parameters
    ----------
    values : array, shape (..., samples)
        The mean of each day, or of each hour, one after another, none missing.
    season : int
        So many samples make a season.
    level : float
        How often the interval is to hold the slope.

    Returns
    -------
    array, shape (..., 3)
        Change per season, its lower and its upper limit; NaN with fewer than two seasons.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import

    series = np.asarray(values, dtype=np.float64)
    samples = series.shape[-1]
    if samples < 2 * season:
        return np.full((*series.shape[:-1], 3), np.nan)
    fitted = _columns(samples, season)
    inverse = np.linalg.inv(fitted.T @ fitted)
    found = series @ fitted @ inverse
    rest = series - found @ fitted.T
    freedom = samples - fitted.shape[1]
    squares = np.maximum((rest**2).sum(axis=-1), CONSTANT_VARIANCE)
    alike = (rest[..., 1:] * rest[..., :-1]).sum(axis=-1) / squares
    alike = np.clip(alike + fitted.shape[1] / samples, 0.0, _MOST_ALIKE)
    fewer = (1 - alike) / (1 + alike)
    error = np.sqrt(squares / freedom * inverse[0, 0] / fewer)
    reach = stdtrit(np.maximum(freedom * fewer, 2.0), (1 + level) / 2) * error
    slope = found[..., 0]
    return np.stack([slope, slope - reach, slope + reach], axis=-1)


def _columns(samples: int, season: int) -> FloatArray:
    """What is fitted: seasons since the middle, and which place in the season it is."""
    at = np.arange(samples)
    seasons = (at - at.mean()) / season
    return np.column_stack([seasons, at[:, None] % season == np.arange(season)]).astype(np.float64)


METRIC = Metric(
    title="Growth per week or day",
    unit="as given",
    source="this project: least squares, interval by effective samples (Bartlett 1935)",
    function=growth,
)
