"""First positions: uniform, or by the tent map.

Source of the tent start: Geng and Wang 2023, eq 13. With the printed slope of 2 every orbit of
doubles is 0 after some 53 steps, for each step shifts out one bit; hence the slope below 2.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.parameters import About
from tracekit.replay.optimize.problem import Problem

Start = Annotated[
    Literal["uniform", "tent", "tent_perturbed", "tent_exact"],
    About("First positions: uniform, or by the tent map."),
]

#: A slope at which orbits of doubles do not die.
SLOPE = 1.9999999


def start(how: Start, problem: Problem, rows: int, rng: np.random.Generator) -> FloatArray:
    """First positions, shape (rows, dimensions), inside the box."""
    if how == "uniform":
        shares = rng.random((rows, problem.dimensions))
    else:
        shares = tent_rows(how, rows, rng.random(problem.dimensions), rng)
    return problem.lower + shares * (problem.upper - problem.lower)


def tent(share: float, slope: float = SLOPE) -> float:
    """One step of the tent map, of a number 0..1."""
    return slope * (share if share <= 0.5 else 1.0 - share)


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
    # orbits are few: number by number is quicker than array by array
    found, share = [], first.tolist()
    for _ in range(rows):
        share = _next(how, share, rows, rng)
        found.append(share)
    return np.array(found).reshape(rows, len(first))


def _next(how: Start, share: list[float], rows: int, rng: np.random.Generator) -> list[float]:
    if how == "tent_exact":
        return [tent(one, 2.0) for one in share]
    if how == "tent_perturbed":
        draws = rng.random(len(share)).tolist()
        return [
            (tent(one, 2.0) + draw / rows) % 1.0 for one, draw in zip(share, draws, strict=True)
        ]
    while True:
        following = [tent(one) for one in share]
        stuck = [_stuck(one, then) for one, then in zip(share, following, strict=True)]
        if not any(stuck):
            return following
        draws = rng.random(len(share)).tolist()
        share = [draws[at] if stuck[at] else one for at, one in enumerate(share)]


def _stuck(share: float, following: float) -> bool:
    """Whether an orbit has come to 0, 1 or the fixed point."""
    return following <= 0 or following >= 1 or following == share
