"""Sphere."""

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.replay.optimize.functions import BenchFunction


def values(at: FloatArray) -> FloatArray:
    """Sum x^2, of each row."""
    return np.asarray(np.square(at).sum(axis=1))


FUNCTION = BenchFunction(title="Sphere", formula="sum x^2", bound=100.0, values=values)
