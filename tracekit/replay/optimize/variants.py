"""Copies of a test function that take away what a search may owe to where its optimum lies."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.replay.optimize.functions import BenchFunction
from tracekit.replay.optimize.problem import Problem

Variant = Literal["original", "shifted", "rotated"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)

#: How far the optimum is moved from the origin, as a share of the bound.
SHIFT = 0.3

WHAT = {
    "original": "the optimum is the origin",
    "shifted": f"the optimum is moved by {SHIFT:g} of the bound in every component",
    "rotated": "moved as well, and turned about it, so that components depend on each other",
}


def problem(
    function: BenchFunction, variant: Variant, dimensions: int, rng: np.random.Generator
) -> Problem:
    """A test function as a problem; ``rng`` draws the turn of 'rotated' and nothing else."""
    shift = 0.0 if variant == "original" else SHIFT * function.bound
    turn = turned(dimensions, rng) if variant == "rotated" else None

    def cost(positions: FloatArray) -> FloatArray:
        moved = positions - shift
        return function.values(moved if turn is None else moved @ turn)

    return Problem(
        lower=np.full(dimensions, -function.bound),
        upper=np.full(dimensions, function.bound),
        cost=cost,
    )


def turned(dimensions: int, rng: np.random.Generator) -> FloatArray:
    """A rotation drawn evenly among all, shape (dimensions, dimensions).

    The orthogonal factor of a normal matrix, signs fixed (Mezzadri, Notices of the AMS 2007).
    """
    orthogonal, upper = np.linalg.qr(rng.standard_normal((dimensions, dimensions)))
    return np.asarray(orthogonal * np.sign(np.diag(upper)))
