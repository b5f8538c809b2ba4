"""tSBO: satin bowerbird optimisation with mutation by Student's t."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.parameters import About
from tracekit.replay.optimize.flock import Flock, start
from tracekit.replay.optimize.problem import Problem
from tracekit.replay.optimize.searches._mutating import MutatingSearch


@dataclass(frozen=True, kw_only=True)
class TsboSearch(MutatingSearch[Flock]):
    """Bowerbirds: each component goes halfway to the best and to a bower that was chosen."""

    search_source: ClassVar[str] = (
        "Moosavi and Bardsiri 2017 with the t step of the rivals in Geng and Wang 2023;"
        " what that paper changed further is not published"
    )

    step: Annotated[float, About("Largest step, 'alpha' of the paper.", minimum=0)] = 0.94
    noise_share: Annotated[
        float, About("Probability that a component is moved at random.", minimum=0, maximum=1)
    ] = 0.05
    noise_width: Annotated[
        float, About("Standard deviation of that, as a share of the range.", minimum=0, maximum=1)
    ] = 0.02

    def begin(self, problem: Problem, rng: np.random.Generator) -> Flock:
        """The first bowers."""
        return Flock(problem, start(self.start, problem, self.population, rng))

    def iterate(self, flock: Flock, iteration: int, rng: np.random.Generator) -> None:
        """Every bower moves, some components at random; then mutation."""
        chances = attraction(flock.costs)
        shape = flock.positions.shape
        chosen = np.searchsorted(np.cumsum(chances)[:-1], rng.random(shape), side="right")
        other = flock.positions[chosen, np.arange(shape[1])]
        moved = built(flock.positions, other, flock.best, step=self.step, chance=chances[chosen])
        noise = self.noise_width * (flock.problem.upper - flock.problem.lower)
        shaken = rng.random(shape) < self.noise_share
        flock.propose(moved + shaken * noise * rng.standard_normal(shape))
        self.mutate(flock, iteration, rng)


def attraction(costs: FloatArray) -> FloatArray:
    """Probability that a bower is chosen, of sum 1: ``1 / (1 + f)``, or ``1 + |f|`` below 0."""
    fitness = np.where(costs >= 0, 1.0 / (1.0 + np.maximum(costs, 0)), 1.0 + np.abs(costs))
    return np.asarray(fitness / fitness.sum())


def built(
    own: FloatArray,
    other: FloatArray,
    elite: FloatArray,
    *,
    step: float,
    chance: FloatArray | float,
) -> FloatArray:
    """``x + lambda * ((x_j + elite) / 2 - x)`` with ``lambda = step / (1 + chance of j)``."""
    return np.asarray(own + step / (1.0 + chance) * ((other + elite) / 2 - own))
