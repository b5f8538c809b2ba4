"""The value at a rank, without sorting all values."""

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.base.jit import compiled

#: Values are counted in so many parts of their range; only one part is sorted.
PARTS = 512


@compiled
def order_statistic(values: FloatArray, rank: int, low: float, high: float) -> float:
    """The same as ``np.sort(values)[rank]``.

    Parts follow the order of the values, so the part into which the rank falls holds the value.

    Parameters
    ----------
    values : float64, shape (some,)
        Nodes without capacity give values that are not finite; they are sorted as ``np.sort`` does.
    low, high : float
        The smallest and largest of them.
    """
    if not high > low:
        return float(np.sort(values)[rank])
    scale = (PARTS - 1) / (high - low)
    counts = np.zeros(PARTS, dtype=np.int64)
    for value in values:
        place = (value - low) * scale
        # a comparison with what is no number does not hold, so nothing else is ever an index
        if not 0.0 <= place < PARTS:
            return float(np.sort(values)[rank])
        counts[int(place)] += 1
    part, before = 0, 0
    while before + counts[part] <= rank:
        before += counts[part]
        part += 1
    some = np.empty(counts[part])
    at = 0
    for value in values:
        if int((value - low) * scale) == part:
            some[at] = value
            at += 1
    return float(np.sort(some)[rank - before])
