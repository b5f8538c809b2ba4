"""Rastrigin."""

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.replay.optimize.functions import BenchFunction


def values(at: FloatArray) -> FloatArray:
    """Sum (x^2 - 10 cos(2 pi x) + 10), of each row."""
    return np.asarray((np.square(at) - 10 * np.cos(2 * np.pi * at) + 10).sum(axis=1))


FUNCTION = BenchFunction(
    title="Rastrigin", formula="sum (x^2 - 10 cos(2 pi x) + 10)", bound=5.12, values=values
)
