"""Mutation by Student's t: wide steps at first, close to normal ones later.

Source: Geng and Wang 2023, eqs 15 and 29; the same form is in their rivals' papers. The step is
proportional to the position, so that a component at the anchor never moves: with the anchor of
the source, the origin, every search that uses it favours optima that lie there.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.parameters import About
from tracekit.replay.optimize.problem import Problem

Anchor = Annotated[
    Literal["origin", "centre"], About("What a mutation is proportional to the distance from.")
]


def t_mutation(
    positions: FloatArray,
    iteration: int,
    problem: Problem,
    rng: np.random.Generator,
    *,
    anchor: Anchor = "origin",
) -> FloatArray:
    """``x + (x - anchor) * t``, t drawn per component with ``iteration`` degrees of freedom.

    Parameters
    ----------
    positions : float64, shape (candidates, dimensions)
    iteration : int
        From 1 on.
    """
    fixed = 0.0 if anchor == "origin" else (problem.lower + problem.upper) / 2
    return np.asarray(positions + (positions - fixed) * rng.standard_t(iteration, positions.shape))
