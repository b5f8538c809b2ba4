"""The three stages of bald eagle search, for all eagles at once, random numbers given.

Source: Alsattar, Zaidan and Zaidan 2020, and the author's program for what the paper leaves open;
the other swoop is that of Geng and Wang 2023, eqs 11, 12, 31.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.parameters import About
from tracekit.replay.optimize.flock import Flock
from tracekit.replay.optimize.mutation import Anchor, t_mutation
from tracekit.replay.optimize.problem import Problem
from tracekit.replay.optimize.search import Search
from tracekit.replay.optimize.start import Start, start

Swoop = Literal["alsattar", "source"]
Mutated = Literal["population", "proposed"]


def selected(
    positions: FloatArray, best: FloatArray, share: FloatArray, *, alpha: float
) -> FloatArray:
    """Select stage: ``b + alpha * share * (mean - x)``.

    Parameters
    ----------
    positions, share : float64, shape (eagles, dimensions)
        ``share`` uniform in 0..1.
    """
    return np.asarray(best + alpha * share * (_mean(positions) - positions))


def spiral(theta: FloatArray, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``r sin(theta)`` and ``r cos(theta)``, each over its largest; two of shape (eagles, 1)."""
    return _over_largest(radius * np.sin(theta)), _over_largest(radius * np.cos(theta))


def wide_spiral(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``theta sinh(theta)`` and ``theta cosh(theta)``, each over its largest.

    An exponential curve: all but the eagles of the largest angles come out near 0.
    """
    return _over_largest(theta * np.sinh(theta)), _over_largest(theta * np.cosh(theta))


def searched(positions: FloatArray, across: FloatArray, along: FloatArray) -> FloatArray:
    """Search stage: ``x + across * (x - mean) + along * (x - next eagle)``, the last has the first.

    Parameters
    ----------
    across, along : float64, shape (eagles, 1)
    """
    following = np.concatenate([positions[1:], positions[:1]])
    from_mean = positions - _mean(positions)
    return np.asarray(positions + across * from_mean + along * (positions - following))


def swooped(
    positions: FloatArray,
    best: FloatArray,
    share: FloatArray,
    curve: tuple[FloatArray, FloatArray],
    pulls: tuple[tuple[float, FloatArray], tuple[float, FloatArray]],
) -> FloatArray:
    """Swoop: ``share * b + across * (x - c1 * p1) + along * (x - c2 * p2)``.

    Parameters
    ----------
    share : float64, shape (eagles, dimensions)
    curve : (across, along)
    pulls : ((c1, p1), (c2, p2))
        The points p of shape (dimensions,): mean and best, or the mean twice.
    """
    (across, along), ((first, one), (second, other)) = curve, pulls
    return np.asarray(
        share * best + across * (positions - first * one) + along * (positions - second * other)
    )


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
    swoop: Annotated[
        Swoop, About("Of Alsattar 2020, or as Geng and Wang 2023 print it (source).")
    ] = "alsattar"
    start: Annotated[Start, About("First positions: uniform, or by the tent map.")] = "uniform"
    mutation: Annotated[
        Literal["none", "select", "search"], About("After which stage all mutate by Student's t.")
    ] = "none"
    mutated: Annotated[
        Mutated,
        About(
            "population: all as they are once who is better has moved, proposed once more;"
            " proposed: what the stage proposes, in its place, as eqs 15 and 29 print it."
        ),
    ] = "population"
    t_anchor: Annotated[Anchor, About("What a mutation is proportional to the distance from.")] = (
        "origin"
    )

    def begin(self, problem: Problem, rng: np.random.Generator) -> Flock:
        """The first eagles."""
        return Flock(problem, start(self.start, problem, self.population, rng))

    def iterate(self, flock: Flock, iteration: int, rng: np.random.Generator) -> None:
        """Three stages; the mean is taken anew at each."""
        share = rng.random(flock.positions.shape)
        proposed = selected(flock.positions, flock.best, share, alpha=self.alpha)
        self._stage("select", proposed, flock, iteration, rng)
        flock.arrange(rng.permutation(self.population))
        proposed = searched(flock.positions, *self._spiral(rng))
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
        """What a stage proposes, mutated or followed by a mutation if it is that stage's turn."""

        def mutated(positions: FloatArray) -> FloatArray:
            return t_mutation(positions, iteration, flock.problem, rng, anchor=self.t_anchor)

        turn = self.mutation == stage
        flock.propose(mutated(proposed) if turn and self.mutated == "proposed" else proposed)
        if turn and self.mutated == "population":
            flock.propose(mutated(flock.positions))

    def _spiral(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        theta = self.angle * np.pi * rng.random((self.population, 1))
        return spiral(theta, theta + self.cycles * rng.random((self.population, 1)))

    def _swooped(self, flock: Flock, rng: np.random.Generator) -> FloatArray:
        mean = _mean(flock.positions)
        if self.swoop == "source":
            curve, second = self._spiral(rng), mean
        else:
            curve = wide_spiral(self.angle * np.pi * rng.random((self.population, 1)))
            second = flock.best
        share = rng.random(flock.positions.shape)
        pulls = ((self.c1, mean), (self.c2, second))
        return swooped(flock.positions, flock.best, share, curve, pulls)


def _mean(positions: FloatArray) -> FloatArray:
    """The mean of the rows, without what ``mean`` looks at before it adds."""
    return np.asarray(np.add.reduce(positions, axis=0) / len(positions))


def _over_largest(values: FloatArray) -> FloatArray:
    largest = np.maximum.reduce(np.abs(values), axis=None)
    return np.asarray(values / largest if largest > 0 else values)
