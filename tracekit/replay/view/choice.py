"""From scores to a node: how ties are broken."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.parameters import About

Tie = Annotated[
    Literal["first", "reservoir"],
    About("Which of equally good nodes: the first, or reservoir sampling by the seed."),
]

#: Float scores closer than this many decimals are equal.
DECIMALS = 12


def best(scores: IntArray | FloatArray, tie: Tie, rng: np.random.Generator) -> int:
    """Position of the highest score.

    Parameters
    ----------
    scores : array, shape (feasible nodes,), not empty
    tie : {'first', 'reservoir'}
        The first of the highest, or one of them by reservoir sampling as kube-scheduler does:
        the i-th of equals replaces the choice with probability 1/i.
    """
    compared = np.round(scores, DECIMALS) if scores.dtype.kind == "f" else scores
    if tie == "first":
        return int(np.argmax(compared))
    equals = np.flatnonzero(compared == compared.max())
    if len(equals) == 1:
        return int(equals[0])  # nothing is drawn
    draws = rng.integers(np.arange(2, len(equals) + 1))
    replaced = np.flatnonzero(draws == 0)
    return int(equals[replaced[-1] + 1 if len(replaced) else 0])
