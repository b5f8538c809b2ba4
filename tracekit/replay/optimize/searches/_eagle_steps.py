"""The steps of bald eagle search for all eagles at once, compiled, random numbers given.

Sines and the like are numpy's, because those of compiled code differ in the last bit; so are means.
"""

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.jit import compiled

Pull = tuple[float, FloatArray]


def selected(
    positions: FloatArray, best: FloatArray, share: FloatArray, *, alpha: float
) -> FloatArray:
    """Select stage: ``b + alpha * share * (mean - x)``.

    Parameters
    ----------
    positions, share : float64, shape (eagles, dimensions)
        ``share`` uniform in 0..1.
    """
    out = np.empty_like(positions)
    _select(positions, best, share, mean(positions), alpha, out)
    return out


def spiral(theta: FloatArray, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``r sin(theta)`` and ``r cos(theta)``, each over its largest; two of shape (eagles, 1)."""
    return _curve(radius, np.sin(theta), np.cos(theta))


def wide_spiral(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``theta sinh(theta)`` and ``theta cosh(theta)``, each over its largest.

    An exponential curve: all but the eagles of the largest angles come out near 0.
    """
    return _curve(theta, np.sinh(theta), np.cosh(theta))


def searched(positions: FloatArray, across: FloatArray, along: FloatArray) -> FloatArray:
    """Search stage: ``x + across * (x - mean) + along * (x - next eagle)``, the last has the first.

    Parameters
    ----------
    across, along : float64, shape (eagles, 1)
    """
    out = np.empty_like(positions)
    _search(positions, across, along, mean(positions), out)
    return out


def swooped(
    positions: FloatArray,
    best: FloatArray,
    share: FloatArray,
    curve: tuple[FloatArray, FloatArray],
    pulls: tuple[Pull, Pull],
) -> FloatArray:
    """Swoop: ``share * b + across * (x - c1 * p1) + along * (x - c2 * p2)``.

    Parameters
    ----------
    share : float64, shape (eagles, dimensions)
    curve : (across, along)
    pulls : ((c1, p1), (c2, p2))
        The points p of shape (dimensions,): mean and best, or the mean twice.
    """
    out = np.empty_like(positions)
    _swoop(positions, best, share, *curve, *pulls[0], *pulls[1], out)
    return out


def mean(positions: FloatArray) -> FloatArray:
    """The mean of the rows, without what ``mean`` looks at before it adds."""
    return np.asarray(np.add.reduce(positions, axis=0) / len(positions))


def _curve(
    radius: FloatArray, across: FloatArray, along: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Both parts times the radius, each over its largest; written over the parts."""
    _times_over_largest(radius, across)
    _times_over_largest(radius, along)
    return across, along


@compiled
def _select(
    positions: FloatArray,
    best: FloatArray,
    share: FloatArray,
    middle: FloatArray,
    alpha: float,
    out: FloatArray,
) -> None:
    for row in range(positions.shape[0]):
        for at in range(positions.shape[1]):
            pull = alpha * share[row, at] * (middle[at] - positions[row, at])
            out[row, at] = best[at] + pull


@compiled
def _times_over_largest(radius: FloatArray, part: FloatArray) -> None:
    largest = 0.0
    for row in range(len(part)):
        part[row, 0] = radius[row, 0] * part[row, 0]
        largest = max(largest, abs(part[row, 0]))
    if largest > 0.0:
        for row in range(len(part)):
            part[row, 0] = part[row, 0] / largest


@compiled
def _search(
    positions: FloatArray,
    across: FloatArray,
    along: FloatArray,
    middle: FloatArray,
    out: FloatArray,
) -> None:
    count = len(positions)
    for row in range(count):
        other = row + 1 if row + 1 < count else 0
        for at in range(positions.shape[1]):
            own = positions[row, at]
            moved = own + across[row, 0] * (own - middle[at])
            out[row, at] = moved + along[row, 0] * (own - positions[other, at])


@compiled
def _swoop(
    positions: FloatArray,
    best: FloatArray,
    share: FloatArray,
    across: FloatArray,
    along: FloatArray,
    first: float,
    one: FloatArray,
    second: float,
    other: FloatArray,
    out: FloatArray,
) -> None:
    for row in range(positions.shape[0]):
        for at in range(positions.shape[1]):
            own = positions[row, at]
            moved = share[row, at] * best[at] + across[row, 0] * (own - first * one[at])
            out[row, at] = moved + along[row, 0] * (own - second * other[at])
