"""TOPSIS: how close each row of a decision matrix comes to the best value of every column.

Source: Hwang and Yoon 1981. ``sum_of_squares`` is the normalisation of the Liang extender, whose
unit tests only its values reproduce.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from tracekit.base.arrays import FloatArray
from tracekit.policy.placement._parts.formula import either

Norm = Literal["l2", "sum_of_squares"]
Ideal = Literal["observed", "absolute"]

#: Closeness of rows that cannot be told apart.
INDIFFERENT = 0.5


def closeness(
    matrix: FloatArray,
    *,
    weights: ArrayLike = 1.0,
    benefit: ArrayLike = True,
    norm: Norm = "l2",
    ideal: Ideal = "observed",
) -> FloatArray:
    """``d- / (d+ + d-)`` of each row, 0..1; higher is better.

    Parameters
    ----------
    matrix : float64, shape (rows, columns)
    weights : float or array, shape (columns,)
    benefit : bool or array, shape (columns,)
        Whether a high value is good.
    norm : {'l2', 'sum_of_squares'}
        Columns are divided by their length, or by its square.
    ideal : {'observed', 'absolute'}
        Best and worst of each column are those found in it, or 1 and 0 of values taken as fractions
        and left as they are: then leaving out a row changes no other row's place.

    Returns
    -------
    float64, shape (rows,)
        0.5 where a row is as far from the best as from the worst because both are the same.
    """
    # a column lies together, as sums and extremes run along it
    columns = np.ascontiguousarray(matrix.T)
    weighed = np.broadcast_to(weights, len(columns))[:, None]
    scaled = weighed * (columns if ideal == "absolute" else _normalized(columns, norm))
    high, low = _ends(scaled, weighed, ideal)
    good = np.broadcast_to(benefit, len(columns))[:, None]
    best, worst = np.where(good, high, low), np.where(good, low, high)
    to_best = np.sqrt(np.square(scaled - best).sum(axis=0))
    to_worst = np.sqrt(np.square(scaled - worst).sum(axis=0))
    return np.asarray(nearness(to_best, to_worst))


def nearness(to_best: Any, to_worst: Any) -> Any:
    """The closeness of both distances, for arrays and, compiled, for numbers."""
    both = to_best + to_worst
    return either(both > 0, to_worst / either(both > 0, both, 1.0), INDIFFERENT)


def _ends(scaled: FloatArray, weighed: FloatArray, ideal: Ideal) -> tuple[FloatArray, FloatArray]:
    if ideal == "absolute":
        ones = np.asarray(weighed, dtype=np.float64)
        return ones, np.zeros_like(ones)
    return scaled.max(axis=1, keepdims=True), scaled.min(axis=1, keepdims=True)


def _normalized(columns: FloatArray, norm: Norm) -> FloatArray:
    """Columns over their length; one of zeros alone stays, and tells no row from another."""
    squares = np.square(columns).sum(axis=1, keepdims=True)
    length = squares if norm == "sum_of_squares" else np.sqrt(squares)
    return np.asarray(columns / np.where(length > 0, length, 1.0))
