"""Bald eagle search: three stages, and what may mutate after each.

Source: Alsattar, Zaidan and Zaidan 2020, and the author's program for what the paper leaves open;
the other swoop is that of Geng and Wang 2023, eqs 11, 12, 31.

The steps of bald eagle search for all eagles at once: plain functions that numba compiles.

Sines and the like are those of the C library, which may differ from numpy's in the last bit.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.base.parameters import About
from tracekit.policy.search.flock import Anchor, Flock, Start, Tools
from tracekit.policy.search.running import Search

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


Swoop = Annotated[
    Literal["alsattar", "source"],
    About("Of Alsattar 2020, or as Geng and Wang 2023 print it (source)."),
]
Stage = Annotated[
    Literal["none", "select", "search"], About("After which stage all mutate by Student's t.")
]
Mutated = Literal["population", "proposed"]


#: Places in the numbers of the parameters that the stages need.
ALPHA, ANGLE, CYCLES, C1, C2, SWOOP, STAGE, MUTATED, CENTRED = range(9)

#: The stages, which swoop, and what is mutated, as numbers.
SELECT, SEARCH, LAST, NONE = range(4)
ALSATTAR, AS_PRINTED = range(2)
POPULATION, PROPOSED = range(2)


def hunt(flock: Flock, tools: Tools, numbers: FloatArray, iteration: int, rng: Any) -> None:
    """Three stages; in a stage's turn its proposals are mutated, or a mutation follows them."""
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
    """Select, search, swoop; after each an eagle moves only where it is better."""

    iterate = staticmethod(hunt)

    alpha: Annotated[float, About("How far the select stage goes.", minimum=1.5, maximum=2)] = 2.0
    angle: Annotated[
        float, About("How wide the spiral turns, 'a' of the papers.", minimum=5, maximum=10)
    ] = 10.0
    cycles: Annotated[
        float, About("How much the spiral's radius varies, 'R'.", minimum=0.5, maximum=2)
    ] = 1.5
    c1: Annotated[float, About("Swoop away from the mean.", minimum=1, maximum=2)] = 2.0
    c2: Annotated[
        float, About("Swoop away from the best, or again the mean.", minimum=1, maximum=2)
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
        """By ``ALPHA, ANGLE, CYCLES, C1, C2, SWOOP, STAGE, MUTATED, CENTRED``."""
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
    """Bald eagle search: uniform start, its own swoop, no mutation."""

    search_source: ClassVar[str] = (
        "Alsattar, Zaidan and Zaidan, Artificial Intelligence Review 53 (2020); all eagles move"
        " at once, and each looks at the next after one shuffle, not one shuffle an eagle"
    )


@dataclass(frozen=True, kw_only=True)
class TbeskSearch(EagleSearch):
    """Bald eagle search as Geng and Wang change it."""

    search_source: ClassVar[str] = "Geng and Wang, C.S.A. 2023 32(4) 187-196, eqs 3-15, 28-31"

    swoop: Swoop = "source"
    start: Start = "tent"
    mutation: Stage = "select"
