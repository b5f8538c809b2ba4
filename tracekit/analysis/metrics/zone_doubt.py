"""How likely a node's true correlation lies in another correlation zone than the one found."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from tracekit.analysis.metrics import Metric
from tracekit.base.arrays import FloatArray
from tracekit.base.constants import ZONE_LIMIT


def zone_doubt(r: ArrayLike, error: ArrayLike, freedom: ArrayLike) -> FloatArray:
    """Probability that the true correlation lies in another zone than ``r`` does.

    Fisher's z of the true correlation is taken to be Student-t around that of ``r``.

    Parameters
    ----------
    r : array, shape (...)
        Correlation found, -1..1 or NaN.
    error : array, shape (...)
        Standard error of ``atanh r``.
    freedom : array, shape (...)
        Degrees of freedom of that error: blocks less one.

    Returns
    -------
    array, shape (...)
        0..1; 0 for an error of 0 inside a zone, NaN where r or the error is.
    """
    value = np.asarray(r, dtype=np.float64)
    z = np.arctanh(np.clip(value, -1 + 1e-9, 1 - 1e-9))
    spread = np.maximum(np.asarray(error, dtype=np.float64), 1e-12)
    degrees = np.maximum(np.asarray(freedom, dtype=np.float64), 1)
    below_low, below_high = (
        stdtr(degrees, (np.arctanh(edge) - z) / spread) for edge in (-ZONE_LIMIT, ZONE_LIMIT)
    )
    inside = np.select(
        [value < -ZONE_LIMIT, value < ZONE_LIMIT],
        [below_low, below_high - below_low],
        1 - below_high,
    )
    doubt = np.clip(1 - inside, 0.0, 1.0)
    return np.asarray(np.where(np.isnan(value) | np.isnan(spread), np.nan, doubt))


METRIC = Metric(
    title="Probability of another correlation zone",
    unit="0..1",
    source="this project: Fisher's z with a block jackknife error",
    function=zone_doubt,
)
