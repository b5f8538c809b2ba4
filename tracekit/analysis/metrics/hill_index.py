"""Hill index: how heavy the upper tail of a sample is."""

import numpy as np
from numpy.typing import ArrayLike

from tracekit.analysis.metrics import Metric


def hill_index(values: ArrayLike, upper_share: float) -> float:
    """Tail index alpha of the largest values: ``P(X > x)`` falls like ``x ** -alpha``.

    Parameters
    ----------
    values : array, shape (samples,)
        Only positive values can be in the tail.
    upper_share : float
        Share of the sample that is the tail, 0..1.

    Returns
    -------
    float
        Larger means lighter; NaN when the tail holds fewer than two values or they are all equal.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))[::-1]
    size = int(upper_share * len(ordered))
    if size < 2 or ordered[size] <= 0:
        return float("nan")
    excess = float(np.log(ordered[:size] / ordered[size]).mean())
    return 1 / excess if excess > 0 else float("nan")


METRIC = Metric(
    title="Hill index of the upper tail",
    unit="count",
    source="Hill 1975; upper 5 % as asked by the CTM21 analysis (Yao et al. 2023), section 2.4",
    function=hill_index,
)
