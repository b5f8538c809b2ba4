"""First positions: uniform, or by the tent map.

Source of the tent start: Geng and Wang 2023, eq 13. With the printed slope of 2 every orbit of
doubles is 0 after some 53 steps, for each step shifts out one bit; hence the slope below 2.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.replay.optimize.problem import Problem

Start = Literal["uniform", "tent", "tent_perturbed", "tent_exact"]

#: A slope at which orbits of doubles do not die.
SLOPE = 1.9999999


def start(how: Start, problem: Problem, rows: int, rng: np.random.Generator) -> FloatArray:
    """First positions, shape (rows, dimensions), inside the box."""
    if how == "uniform":
        shares = rng.random((rows, problem.dimensions))
    else:
        shares = tent_rows(how, rows, rng.random(problem.dimensions), rng)
    return problem.lower + shares * (problem.upper - problem.lower)


def tent(share: FloatArray, slope: float = SLOPE) -> FloatArray:
    """One step of the tent map, elementwise, of numbers 0..1."""
    return np.asarray(slope * np.where(share <= 0.5, share, 1.0 - share))


def tent_rows(how: Start, rows: int, first: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The first iterates of one orbit per dimension, shape (rows, dimensions), in 0..1.

    Parameters
    ----------
    how : {'tent', 'tent_perturbed', 'tent_exact'}
        By a slope below 2; by slope 2 with a random part of ``1 / rows``; by slope 2 as printed.
    first : float64, shape (dimensions,)
        Where each orbit begins; it is no row itself. One that comes to 0, 1 or the fixed point
        begins anew, but for 'tent_exact'.
    """
    found = np.empty((rows, len(first)))
    share = first
    for row in range(rows):
        share = _next(how, share, rows, rng)
        found[row] = share
    return found


def _next(how: Start, share: FloatArray, rows: int, rng: np.random.Generator) -> FloatArray:
    if how == "tent_exact":
        return tent(share, 2.0)
    if how == "tent_perturbed":
        return np.asarray((tent(share, 2.0) + rng.random(len(share)) / rows) % 1.0)
    following = tent(share)
    while (stuck := (following <= 0) | (following >= 1) | (following == share)).any():
        share = np.where(stuck, rng.random(len(share)), share)
        following = tent(share)
    return following
