"""Ackley."""

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.replay.optimize.functions import BenchFunction


def values(at: FloatArray) -> FloatArray:
    """20 + e - 20 exp(-0.2 sqrt(mean x^2)) - exp(mean cos(2 pi x)), of each row."""
    far = np.sqrt(np.square(at).mean(axis=1))
    waves = np.cos(2 * np.pi * at).mean(axis=1)
    return np.asarray(20 + np.e - 20 * np.exp(-0.2 * far) - np.exp(waves))


FUNCTION = BenchFunction(
    title="Ackley",
    formula="20 + e - 20 exp(-0.2 sqrt(mean x^2)) - exp(mean cos(2 pi x))",
    bound=32.0,
    values=values,
)
