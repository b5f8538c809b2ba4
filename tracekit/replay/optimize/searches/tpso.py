"""tPSO: particle swarm with mutation by Student's t."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.parameters import About
from tracekit.replay.optimize.flock import Flock, start, t_mutation
from tracekit.replay.optimize.problem import Problem
from tracekit.replay.optimize.searches._mutating import MutatingSearch


class Swarm(Flock):
    """Particles: the flock holds where each was best, these where it is and how it moves.

    Attributes
    ----------
    at, velocity : float64, shape (particles, dimensions)
    """

    def __init__(self, problem: Problem, positions: FloatArray) -> None:
        super().__init__(problem, positions)
        self.at = self.positions.copy()
        self.velocity = np.zeros_like(self.at)


@dataclass(frozen=True, kw_only=True)
class TpsoSearch(MutatingSearch[Swarm]):
    """Particle swarm with falling inertia."""

    search_source: ClassVar[str] = (
        "Kennedy and Eberhart 1995, inertia of Shi and Eberhart 1998, with the t step of the"
        " rivals in Geng and Wang 2023; what that paper changed further is not published"
    )

    inertia_first: Annotated[
        float, About("Share of the velocity that is kept at first.", minimum=0, maximum=1)
    ] = 0.9
    inertia_last: Annotated[
        float, About("Share of the velocity that is kept at last.", minimum=0, maximum=1)
    ] = 0.4
    own_pull: Annotated[float, About("Pull of a particle's own best.", minimum=0)] = 2.0
    common_pull: Annotated[float, About("Pull of the best of all.", minimum=0)] = 2.0
    fastest: Annotated[
        float, About("Largest velocity, as a share of the range.", minimum=0, maximum=1)
    ] = 0.2

    def begin(self, problem: Problem, rng: np.random.Generator) -> Swarm:
        """The first particles, at rest."""
        return Swarm(problem, start(self.start, problem, self.population, rng))

    def iterate(self, flock: Swarm, iteration: int, rng: np.random.Generator) -> None:
        """Fly, perhaps mutate where each has come to, and remember what was best."""
        shape = flock.at.shape
        flock.velocity = steered(
            flock.at,
            flock.velocity,
            (flock.positions, flock.best),
            inertia=self._inertia(iteration),
            pulls=(self.own_pull * rng.random(shape), self.common_pull * rng.random(shape)),
        )
        most = self.fastest * (flock.problem.upper - flock.problem.lower)
        flock.velocity = np.clip(flock.velocity, -most, most)
        flock.at = flock.problem.clipped(flock.at + flock.velocity)
        costs = flock.evaluate(flock.at)
        if rng.random() < self.mutation_share:
            costs = self._mutate_where_it_is(flock, costs, iteration, rng)
        flock.take(flock.at, costs)

    def _inertia(self, iteration: int) -> float:
        done = (iteration - 1) / max(self.iterations - 1, 1)
        return self.inertia_first + (self.inertia_last - self.inertia_first) * done

    def _mutate_where_it_is(
        self, flock: Swarm, costs: FloatArray, iteration: int, rng: np.random.Generator
    ) -> FloatArray:
        other = flock.problem.clipped(
            t_mutation(flock.at, iteration, flock.problem, rng, anchor=self.t_anchor)
        )
        found = flock.evaluate(other)
        better = found < costs
        flock.at[better] = other[better]
        return np.where(better, found, costs)


def steered(
    at: FloatArray,
    velocity: FloatArray,
    bests: tuple[FloatArray, FloatArray],
    *,
    inertia: float,
    pulls: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """``w v + c1 r1 (own best - x) + c2 r2 (best of all - x)``; the pulls are the c times r."""
    own, common = bests
    return np.asarray(inertia * velocity + pulls[0] * (own - at) + pulls[1] * (common - at))
