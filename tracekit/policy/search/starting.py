"""First positions: uniform, or by the tent map; plain functions that numba compiles.

Source of the tent start: Geng and Wang 2023, eq 13. With the printed slope of 2 every orbit of
doubles is 0 after some 53 steps, for each step shifts out one bit; hence the slope below 2.
"""

from typing import Annotated, Any, Literal, get_args

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.base.parameters import About
from tracekit.policy.search.flock import draw

_Start = Literal["uniform", "tent", "tent_perturbed", "tent_exact"]
Start = Annotated[_Start, About("First positions: uniform, or by the tent map.")]

#: The names as numbers, for compiled code.
STARTS: tuple[str, ...] = get_args(_Start)
UNIFORM, TENT, PERTURBED, EXACT = range(4)

#: A slope at which orbits of doubles do not die.
SLOPE = 1.9999999


def first_positions(how: int, box: FloatArray, rng: Any, out: FloatArray) -> None:
    """Where all candidates begin.

    Parameters
    ----------
    how : int
        A place in ``STARTS``.
    box : float64, shape (2, dimensions)
    out : float64, shape (candidates, dimensions)
    """
    if how == UNIFORM:
        draw(out, rng)
    else:
        first = np.empty(out.shape[1])
        for at in range(len(first)):
            first[at] = rng.random()
        tent_rows(how, first, out, rng)
    for row in range(out.shape[0]):
        for at in range(out.shape[1]):
            out[row, at] = box[0, at] + out[row, at] * (box[1, at] - box[0, at])


def tent(share: float, slope: float) -> float:
    """One step of the tent map, of a number 0..1."""
    return slope * (share if share <= 0.5 else 1.0 - share)


def tent_rows(how: int, first: FloatArray, out: FloatArray, rng: Any) -> None:
    """The first iterates of one orbit per dimension, in 0..1.

    Parameters
    ----------
    how : int
        ``TENT``: by a slope below 2; ``PERTURBED``: by slope 2 with a random part of ``1 / rows``;
        ``EXACT``: by slope 2 as printed.
    first : float64, shape (dimensions,)
        Where each orbit begins; it is no row itself. One that comes to 0, 1 or the fixed point
        begins anew, but for ``EXACT``. Written over.
    out : float64, shape (rows, dimensions)
    """
    share, slope = first, SLOPE if how == TENT else 2.0
    for row in range(len(out)):
        if how == TENT:
            _keep_alive(share, rng)
        for at in range(len(share)):
            following = tent(share[at], slope)
            if how == PERTURBED:
                following = (following + rng.random() / len(out)) % 1.0
            share[at] = out[row, at] = following


def _keep_alive(share: FloatArray, rng: Any) -> None:
    """Let the orbits begin anew whose next step is at 0, 1 or the fixed point."""
    waiting = True
    while waiting:
        waiting = False
        for at in range(len(share)):
            waiting = waiting or _stuck(share[at])
        if waiting:
            for at in range(len(share)):
                # as many draws whoever is stuck
                draw = rng.random()
                share[at] = draw if _stuck(share[at]) else share[at]


def _stuck(share: float) -> bool:
    """Whether an orbit comes to 0, 1 or the fixed point."""
    following = tent(share, SLOPE)
    return following <= 0 or following >= 1 or following == share
