"""Weights of criteria: from judgements (AHP), from the data (entropy), and both together.

Sources: Saaty 1980 (row geometric means, consistency ratio); Shannon entropy weights.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.replay.placement._parts.formula import either

#: Consistency of a random judgement matrix of 1, 2, ... criteria (Saaty).
RANDOM_INDEX = (0.0, 0.0, 0.58, 0.90, 1.12, 1.24, 1.32, 1.41, 1.45)

#: Judgements whose consistency ratio reaches this contradict each other too much.
CONSISTENCY_LIMIT = 0.1

#: Entropy gains below this are rounding.
NOISE = 1e-12


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The result of a judgement matrix: weights of sum 1 and how far it contradicts itself."""

    weights: FloatArray
    lambda_max: float
    consistency_index: float
    consistency_ratio: float


def ahp(judgements: FloatArray) -> Judged:
    """Weights of criteria from pairwise judgements.

    Parameters
    ----------
    judgements : float64, shape (criteria, criteria), up to 9 criteria
        ``[i, j]`` says how many times more criterion i matters than j.
    """
    count = len(judgements)
    means = np.exp(np.log(judgements).mean(axis=1))
    weights = means / means.sum()
    lambda_max = float(((judgements @ weights) / weights).mean())
    index = (lambda_max - count) / (count - 1) if count > 1 else 0.0
    random = RANDOM_INDEX[count - 1]
    return Judged(
        weights=weights,
        lambda_max=lambda_max,
        consistency_index=index,
        consistency_ratio=index / random if random else 0.0,
    )


def entropy_weights(matrix: FloatArray) -> FloatArray:
    """Weights of the columns by how much they tell rows apart, shape (columns,), of sum 1.

    Parameters
    ----------
    matrix : float64, shape (rows, columns), not negative

    A column of zeros tells nothing; when no column tells anything all weigh the same.
    """
    rows, columns = matrix.shape
    total = matrix.sum(axis=0)
    share = np.divide(matrix, total, out=np.zeros(matrix.shape), where=total > 0)
    information = np.zeros_like(share)
    np.log(share, out=information, where=share > 0)
    gain = np.where(total > 0, gain_of((share * information).sum(axis=0), rows), 0.0)
    return of_sum_one(gain, np.full(columns, 1.0 / columns))


# The formulas, for arrays and compiled: see ``tracekit.replay.placement._parts.formula``.


def gain_of(told: Any, rows: Any) -> Any:
    """The information of a column: the sum of ``s ln s`` of its shares; 0 if that is rounding."""
    gain = 1.0 + told / np.log(np.maximum(rows, 2))
    return either((rows > 1) & (gain >= NOISE), gain, 0.0)


def of_sum_one(weights: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Weights over their sum; ``otherwise`` where that is 0."""
    total = weights.sum()
    return weights / total if total > 0 else otherwise


def combine(subjective: FloatArray, objective: FloatArray, linear: bool) -> FloatArray:
    """Both weights as one: their product, or their mean; of sum 1.

    Where every product is 0 the subjective weights stand.
    """
    if linear:
        return (subjective + objective) / 2
    return of_sum_one(subjective * objective, subjective)
