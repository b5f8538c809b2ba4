"""Bald eagle search: three stages, and what may mutate after each.

Source: Alsattar, Zaidan and Zaidan 2020, and the author's program for what the paper leaves open;
the other swoop is that of Geng and Wang 2023, eqs 11, 12, 31.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.base.parameters import About
from tracekit.policy.search.flock import Anchor, Flock, Tools
from tracekit.policy.search.search import Search
from tracekit.policy.search.searches._eagle_steps import (
    mean,
    search,
    select,
    spiral,
    swoop,
    wide_spiral,
)

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
