"""Schwefel 2.22."""

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.replay.optimize.functions import BenchFunction


def values(at: FloatArray) -> FloatArray:
    """Sum |x| + prod |x|, of each row."""
    size = np.abs(at)
    return np.asarray(size.sum(axis=1) + size.prod(axis=1))


FUNCTION = BenchFunction(
    title="Schwefel 2.22", formula="sum |x| + prod |x|", bound=10.0, values=values
)
