"""Griewank."""

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.replay.optimize.functions import BenchFunction


def values(at: FloatArray) -> FloatArray:
    """1 + sum x^2 / 4000 - prod cos(x_i / sqrt(i)), of each row."""
    roots = np.sqrt(np.arange(1, at.shape[1] + 1))
    return np.asarray(1 + np.square(at).sum(axis=1) / 4000 - np.cos(at / roots).prod(axis=1))


FUNCTION = BenchFunction(
    title="Griewank",
    formula="1 + sum x^2 / 4000 - prod cos(x_i / sqrt(i))",
    bound=600.0,
    values=values,
)
