"""Correlation zone of a node: A, B, C by the correlation of CPU and memory use, U if undefined."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracekit.analysis.metrics import Metric
from tracekit.base.constants import ZONE_LIMIT


def zone(r: ArrayLike) -> NDArray[np.str_]:
    """A below -0.3, B from -0.3 to below 0.3, C from 0.3 on, U for NaN.

    Parameters
    ----------
    r : array, shape (...)
        Correlation, -1..1 or NaN.

    Returns
    -------
    array of str, shape (...)
    """
    values = np.asarray(r, dtype=np.float64)
    cases = [np.isnan(values), values < -ZONE_LIMIT, values < ZONE_LIMIT]
    return np.select(cases, ["U", "A", "B"], "C")


METRIC = Metric(
    title="Correlation zone",
    unit="label",
    source="CTM21 analysis (Yao et al. 2023), section 2.3",
    function=zone,
)
