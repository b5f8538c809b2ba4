"""The steps of bald eagle search for all eagles at once: plain functions that numba compiles.

Sines and the like are those of the C library, which may differ from numpy's in the last bit.
"""

import math
from typing import Any

from tracekit.base.arrays import FloatArray

#: Columns of a curve: what a step is away from, and along.
ACROSS, ALONG = range(2)


def select(
    positions: FloatArray,
    best: FloatArray,
    middle: FloatArray,
    alpha: float,
    rng: Any,
    out: FloatArray,
) -> None:
    """Select stage: ``b + alpha * share * (mean - x)``, share uniform in 0..1.

    Parameters
    ----------
    positions, out : float64, shape (eagles, dimensions)
    best, middle : float64, shape (dimensions,)
    """
    for row in range(positions.shape[0]):
        for at in range(positions.shape[1]):
            pull = alpha * rng.random() * (middle[at] - positions[row, at])
            out[row, at] = best[at] + pull


def search(positions: FloatArray, middle: FloatArray, curve: FloatArray, out: FloatArray) -> None:
    """Search stage: ``x + across * (x - mean) + along * (x - next eagle)``, the last has the first.

    Parameters
    ----------
    curve : float64, shape (2, eagles)
        By ``ACROSS, ALONG``.
    """
    count = len(positions)
    for row in range(count):
        other = row + 1 if row + 1 < count else 0
        across, along = curve[ACROSS, row], curve[ALONG, row]
        for at in range(positions.shape[1]):
            own = positions[row, at]
            moved = own + across * (own - middle[at])
            out[row, at] = moved + along * (own - positions[other, at])


def swoop(
    positions: FloatArray,
    best: FloatArray,
    points: tuple[FloatArray, FloatArray],
    curve: FloatArray,
    pulls: FloatArray,
    rng: Any,
    out: FloatArray,
) -> None:
    """Swoop: ``share * b + across * (x - c1 * p1) + along * (x - c2 * p2)``, share uniform.

    Parameters
    ----------
    points : (p1, p2)
        Of shape (dimensions,): mean and best, or the mean twice.
    pulls : float64, shape (2 or more,)
        c1 and c2.
    """
    one, other = points
    for row in range(positions.shape[0]):
        across, along = curve[ACROSS, row], curve[ALONG, row]
        for at in range(positions.shape[1]):
            own = positions[row, at]
            moved = rng.random() * best[at] + across * (own - pulls[0] * one[at])
            out[row, at] = moved + along * (own - pulls[1] * other[at])


def spiral(angle: float, cycles: float, rng: Any, curve: FloatArray) -> None:
    """``r sin(theta)`` and ``r cos(theta)``, each over its largest.

    Parameters
    ----------
    curve : float64, shape (2, eagles)
        Takes both, by ``ACROSS, ALONG``.
    """
    for row in range(curve.shape[1]):
        curve[ALONG, row] = angle * math.pi * rng.random()
    for row in range(curve.shape[1]):
        theta = curve[ALONG, row]
        radius = theta + cycles * rng.random()
        curve[ACROSS, row] = radius * math.sin(theta)
        curve[ALONG, row] = radius * math.cos(theta)
    over_largest(curve)


def wide_spiral(angle: float, rng: Any, curve: FloatArray) -> None:
    """``theta sinh(theta)`` and ``theta cosh(theta)``, each over its largest.

    An exponential curve: all but the eagles of the largest angles come out near 0.
    """
    for row in range(curve.shape[1]):
        theta = angle * math.pi * rng.random()
        curve[ACROSS, row] = theta * math.sinh(theta)
        curve[ALONG, row] = theta * math.cosh(theta)
    over_largest(curve)


def over_largest(curve: FloatArray) -> None:
    """Divide each row by its largest absolute value, if that is above 0."""
    for part in range(curve.shape[0]):
        largest = 0.0
        for row in range(curve.shape[1]):
            largest = max(largest, abs(curve[part, row]))
        if largest > 0.0:
            for row in range(curve.shape[1]):
                curve[part, row] = curve[part, row] / largest


def mean(positions: FloatArray, out: FloatArray) -> None:
    """The mean of the rows, added in their order."""
    for at in range(positions.shape[1]):
        out[at] = 0.0
        for row in range(positions.shape[0]):
            out[at] += positions[row, at]
        out[at] = out[at] / len(positions)
