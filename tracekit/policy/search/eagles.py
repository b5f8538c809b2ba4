"""Bald eagle search: three stages, each of which a mutation may follow.

Source: Alsattar, Zaidan and Zaidan 2020, and the author's program where the paper is incomplete;
the other swoop is that of Geng and Wang 2023, eqs 11, 12, 31.

The functions of the stages move all eagles at once and are compiled by numba. Sines and similar
functions are those of the C library, which may differ from numpy's in the last bit.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.base.parameters import About
from tracekit.policy.search.flock import Anchor, Flock, Start, Tools
from tracekit.policy.search.running import Search

#: Rows of a curve: the factors across, from the mean, and along, from the next eagle.
ACROSS, ALONG = range(2)


def select(
    positions: FloatArray,
    best: FloatArray,
    middle: FloatArray,
    alpha: float,
    rng: Any,
    out: FloatArray,
) -> None:
    """Write the proposals of the select stage, ``best + alpha * u * (middle - x)``, to ``out``.

    ``x`` is an eagle's position, and u is drawn uniformly from 0..1 for each coordinate.

    Parameters
    ----------
    positions, out : float64, shape (eagles, dimensions)
    best, middle : float64, shape (dimensions,)
        The best position so far, and the mean of ``positions``.
    """
    for row in range(positions.shape[0]):
        for at in range(positions.shape[1]):
            pull = alpha * rng.random() * (middle[at] - positions[row, at])
            out[row, at] = best[at] + pull


def search(positions: FloatArray, middle: FloatArray, curve: FloatArray, out: FloatArray) -> None:
    """Write the proposals of the search stage, which spiral round the mean position, to ``out``.

    An eagle at x is proposed ``x + across * (x - middle) + along * (x - next)``, where ``next`` is
    the position in the next row. The first row follows the last.

    Parameters
    ----------
    curve : float64, shape (2, eagles)
        The factors ``across`` (row ``ACROSS``) and ``along`` (row ``ALONG``) of each eagle.
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
    """Write the proposals of the swoop stage, which lead towards the best position, to ``out``.

    An eagle at x is proposed ``u * best + across * (x - c1 * p1) + along * (x - c2 * p2)``, with u
    drawn uniformly from 0..1 for each coordinate.

    Parameters
    ----------
    points : (p1, p2), each float64 of shape (dimensions,)
        The mean and the best position, or the mean twice.
    curve : float64, shape (2, eagles)
        The factors ``across`` and ``along``, as in ``search``.
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
    """Write ``r sin(theta)`` and ``r cos(theta)`` to a curve, and divide each row by its largest.

    Theta is drawn from 0 to ``angle * pi``; r is theta plus a draw from 0 to ``cycles``.

    Parameters
    ----------
    curve : float64, shape (2, eagles)
        The sines are row ``ACROSS``, the cosines row ``ALONG``.
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
    """Write ``theta sinh(theta)`` and ``theta cosh(theta)`` to a curve, as ``spiral`` does.

    These functions grow exponentially: only eagles with the largest theta have values far from 0.
    """
    for row in range(curve.shape[1]):
        theta = angle * math.pi * rng.random()
        curve[ACROSS, row] = theta * math.sinh(theta)
        curve[ALONG, row] = theta * math.cosh(theta)
    over_largest(curve)


def over_largest(curve: FloatArray) -> None:
    """Divide each row by its largest absolute value, unless that is 0."""
    for part in range(curve.shape[0]):
        largest = 0.0
        for row in range(curve.shape[1]):
            largest = max(largest, abs(curve[part, row]))
        if largest > 0.0:
            for row in range(curve.shape[1]):
                curve[part, row] = curve[part, row] / largest


def mean(positions: FloatArray, out: FloatArray) -> None:
    """Write the mean of the rows, added in their order, to ``out``."""
    for at in range(positions.shape[1]):
        out[at] = 0.0
        for row in range(positions.shape[0]):
            out[at] += positions[row, at]
        out[at] = out[at] / len(positions)


Swoop = Annotated[
    Literal["alsattar", "source"],
    About("The swoop of Alsattar 2020, or of Geng and Wang 2023 (source)."),
]
Stage = Annotated[
    Literal["none", "select", "search"], About("The stage that a mutation by Student's t follows.")
]
Mutated = Literal["population", "proposed"]


#: Positions of the parameters in the numbers of a search.
ALPHA, ANGLE, CYCLES, C1, C2, SWOOP, STAGE, MUTATED, CENTRED = range(9)

#: The stages, the kinds of swoop and of mutation, as numbers.
SELECT, SEARCH, LAST, NONE = range(4)
ALSATTAR, AS_PRINTED = range(2)
POPULATION, PROPOSED = range(2)


def hunt(flock: Flock, tools: Tools, numbers: FloatArray, iteration: int, rng: Any) -> None:
    """Run one iteration: select, search, swoop, with mutation as the parameters say."""
    positions, proposed, centred = flock.positions, flock.proposed, numbers[CENTRED] > 0.0
    middle, curve = np.empty(positions.shape[1]), np.empty((2, positions.shape[0]))
    order = np.empty(positions.shape[0], np.int64)
    for stage in range(NONE):
        if stage == SEARCH:
            tools.shuffle(order, rng)
            tools.arrange(flock, order)
        mean(positions, middle)
        if stage == SELECT:
            select(positions, flock.best, middle, numbers[ALPHA], rng, proposed)
        elif stage == SEARCH:
            spiral(numbers[ANGLE], numbers[CYCLES], rng, curve)
            search(positions, middle, curve, proposed)
        elif numbers[SWOOP] == AS_PRINTED:
            spiral(numbers[ANGLE], numbers[CYCLES], rng, curve)
            swoop(positions, flock.best, (middle, middle), curve, numbers[C1:], rng, proposed)
        else:
            wide_spiral(numbers[ANGLE], rng, curve)
            swoop(positions, flock.best, (middle, flock.best), curve, numbers[C1:], rng, proposed)
        mutates = numbers[STAGE] == stage
        if mutates and numbers[MUTATED] == PROPOSED:
            tools.mutate(proposed, flock.box, iteration, centred, rng, proposed)
        tools.propose(flock, flock.everybody)
        if mutates and numbers[MUTATED] == POPULATION:
            tools.mutate(positions, flock.box, iteration, centred, rng, proposed)
            tools.propose(flock, flock.everybody)


@dataclass(frozen=True, kw_only=True)
class EagleSearch(Search):
    """Base of bald eagle searches: an iteration has the stages select, search and swoop.

    In each stage an eagle moves only if the proposed position has a lower cost.
    """

    iterate = staticmethod(hunt)

    alpha: Annotated[
        float, About("Length of steps of the select stage.", minimum=1.5, maximum=2)
    ] = 2.0
    angle: Annotated[
        float, About("Angle of the spiral, 'a' of the papers.", minimum=5, maximum=10)
    ] = 10.0
    cycles: Annotated[
        float, About("Variation of the spiral's radius, 'R' of the papers.", minimum=0.5, maximum=2)
    ] = 1.5
    c1: Annotated[float, About("Factor of the mean in the swoop.", minimum=1, maximum=2)] = 2.0
    c2: Annotated[
        float, About("Factor of the best, or of the mean, in the swoop.", minimum=1, maximum=2)
    ] = 2.0
    swoop: Swoop = "alsattar"
    mutation: Stage = "none"
    mutated: Annotated[
        Mutated,
        About(
            "population: mutate the eagles after the stage has moved them;"
            " proposed: mutate the stage's proposals instead (eqs 15 and 29)."
        ),
    ] = "population"
    t_anchor: Anchor = "origin"

    def numbers(self) -> tuple[float, ...]:
        """Return the parameters in the order of the constants ``ALPHA`` to ``CENTRED``."""
        return (
            self.alpha,
            self.angle,
            self.cycles,
            self.c1,
            self.c2,
            {"alsattar": ALSATTAR, "source": AS_PRINTED}[self.swoop],
            {"none": NONE, "select": SELECT, "search": SEARCH}[self.mutation],
            {"population": POPULATION, "proposed": PROPOSED}[self.mutated],
            self.t_anchor == "centre",
        )


@dataclass(frozen=True, kw_only=True)
class BesSearch(EagleSearch):
    """Bald eagle search with a uniform start, the original swoop and no mutation."""

    search_source: ClassVar[str] = (
        "Alsattar, Zaidan and Zaidan, Artificial Intelligence Review 53 (2020); all eagles move"
        " at once, and one shuffle gives each its next eagle, not one shuffle for each eagle"
    )


@dataclass(frozen=True, kw_only=True)
class TbeskSearch(EagleSearch):
    """Bald eagle search after Geng and Wang: tent start, their swoop, mutation after select."""

    search_source: ClassVar[str] = "Geng and Wang, C.S.A. 2023 32(4) 187-196, eqs 3-15, 28-31"

    swoop: Swoop = "source"
    start: Start = "tent"
    mutation: Stage = "select"
