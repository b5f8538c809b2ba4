"""Bald eagle search: three stages, and what may mutate after each.

Source: Alsattar, Zaidan and Zaidan 2020, and the author's program for what the paper leaves open;
the other swoop is that of Geng and Wang 2023, eqs 11, 12, 31.
"""

import functools
import importlib
from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, Literal

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.parameters import About
from tracekit.replay.optimize.flock import Anchor, Flock, Start, start, t_mutation
from tracekit.replay.optimize.problem import Problem
from tracekit.replay.optimize.search import Search

Swoop = Annotated[
    Literal["alsattar", "source"],
    About("Of Alsattar 2020, or as Geng and Wang 2023 print it (source)."),
]
Stage = Annotated[
    Literal["none", "select", "search"], About("After which stage all mutate by Student's t.")
]
Mutated = Literal["population", "proposed"]


@dataclass(frozen=True, kw_only=True)
class EagleSearch(Search[Flock]):
    """Select, search, swoop; after each an eagle moves only where it is better."""

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
    start: Start = "uniform"
    mutation: Stage = "none"
    mutated: Annotated[
        Mutated,
        About(
            "population: mutate the eagles after the stage has moved them;"
            " proposed: mutate the stage's proposals instead (eqs 15 and 29)."
        ),
    ] = "population"
    t_anchor: Anchor = "origin"

    def begin(self, problem: Problem, rng: np.random.Generator) -> Flock:
        """The first eagles."""
        return Flock(problem, start(self.start, problem, self.population, rng))

    def iterate(self, flock: Flock, iteration: int, rng: np.random.Generator) -> None:
        """Three stages; the mean is computed again at each."""
        steps = _steps()
        share = rng.random(flock.positions.shape)
        proposed = steps.selected(flock.positions, flock.best, share, alpha=self.alpha)
        self._stage("select", proposed, flock, iteration, rng)
        flock.arrange(rng.permutation(self.population))
        proposed = steps.searched(flock.positions, *self._spiral(rng))
        self._stage("search", proposed, flock, iteration, rng)
        flock.propose(self._swooped(flock, rng))

    def _stage(
        self,
        stage: str,
        proposed: FloatArray,
        flock: Flock,
        iteration: int,
        rng: np.random.Generator,
    ) -> None:
        """A stage's proposals; in the stage's turn they are mutated, or followed by a mutation."""

        def mutated(positions: FloatArray) -> FloatArray:
            return t_mutation(positions, iteration, flock.problem, rng, anchor=self.t_anchor)

        turn = self.mutation == stage
        flock.propose(mutated(proposed) if turn and self.mutated == "proposed" else proposed)
        if turn and self.mutated == "population":
            flock.propose(mutated(flock.positions))

    def _spiral(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        angles, more = rng.random((2, self.population, 1))
        theta = self.angle * np.pi * angles
        moved: tuple[FloatArray, FloatArray] = _steps().spiral(theta, theta + self.cycles * more)
        return moved

    def _swooped(self, flock: Flock, rng: np.random.Generator) -> FloatArray:
        steps = _steps()
        middle = steps.mean(flock.positions)
        if self.swoop == "source":
            curve, second = self._spiral(rng), middle
        else:
            curve = steps.wide_spiral(self.angle * np.pi * rng.random((self.population, 1)))
            second = flock.best
        share = rng.random(flock.positions.shape)
        pulls = ((self.c1, middle), (self.c2, second))
        moved: FloatArray = steps.swooped(flock.positions, flock.best, share, curve, pulls)
        return moved


@functools.cache
def _steps() -> ModuleType:
    """The compiled steps, imported where something is searched: numba is slow to import."""
    return importlib.import_module("tracekit.replay.optimize.searches._eagle_steps")
