"""tSSA: sparrow search with a tent start and mutation by Student's t."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.parameters import About
from tracekit.replay.optimize.flock import Flock, Start, start
from tracekit.replay.optimize.problem import Problem
from tracekit.replay.optimize.searches._mutating import MutatingSearch

#: Keeps the step of the best sparrow finite where it is the worst too.
_TINY = 1e-50

#: Which way a component of a scrounger's step points.
_SIGNS = np.array([-1.0, 1.0])


@dataclass(frozen=True, kw_only=True)
class TssaSearch(MutatingSearch[Flock]):
    """Sparrow search: producers, scroungers that follow them, and scouts that flee."""

    search_source: ClassVar[str] = (
        "Xue and Shen 2020 with the t step of the rivals in Geng and Wang 2023;"
        " what that paper changed further is not published"
    )

    start: Start = "tent"
    producer_share: Annotated[
        float, About("Share of the population that leads.", minimum=0, maximum=1)
    ] = 0.2
    scout_share: Annotated[
        float, About("Share of the population that watches out.", minimum=0, maximum=1)
    ] = 0.1
    safety: Annotated[
        float, About("An alarm above this makes the producers leave.", minimum=0.5, maximum=1)
    ] = 0.8

    def begin(self, problem: Problem, rng: np.random.Generator) -> Flock:
        """The first sparrows."""
        return Flock(problem, start(self.start, problem, self.population, rng))

    def iterate(self, flock: Flock, iteration: int, rng: np.random.Generator) -> None:
        """Producers, scroungers, scouts, mutation; the population is sorted by cost first."""
        flock.arrange(flock.costs.argsort(kind="stable"))
        leaders = max(round(self.producer_share * self.population), 1)
        rows = np.arange(self.population)
        self._produce(flock, rows[:leaders], rng)
        self._scrounge(flock, rows[leaders:], rng)
        scouts = max(round(self.scout_share * self.population), 1)
        self._scout(flock, rng.permutation(self.population)[:scouts], rng)
        self.mutate(flock, iteration, rng)

    def _produce(self, flock: Flock, rows: IntArray, rng: np.random.Generator) -> None:
        own = flock.positions[rows]
        if rng.random() < self.safety:
            ranks = (rows + 1)[:, None]
            moved = safe_producer(own, ranks, 1.0 - rng.random((len(rows), 1)), self.iterations)
        else:
            moved = own + rng.standard_normal((len(rows), 1))
        flock.propose(moved, rows)

    def _scrounge(self, flock: Flock, rows: IntArray, rng: np.random.Generator) -> None:
        own, worst, lead = flock.positions[rows], flock.positions[-1], flock.best
        ranks = (rows + 1)[:, None]
        hungry = hungry_scrounger(own, worst, ranks, rng.standard_normal((len(rows), 1)))
        signs = _SIGNS[rng.integers(0, 2, own.shape)]
        step = np.add.reduce(signs * np.abs(own - lead), axis=1, keepdims=True) / own.shape[1]
        flock.propose(np.where(ranks > self.population / 2, hungry, lead + step), rows)

    def _scout(self, flock: Flock, rows: IntArray, rng: np.random.Generator) -> None:
        own, costs = flock.positions[rows], flock.costs[rows][:, None]
        last = flock.costs.argmax()
        fled = fleeing_scout(own, flock.best, rng.standard_normal((len(rows), 1)))
        gap = costs - flock.costs[last] + _TINY
        turn = rng.uniform(-1.0, 1.0, (len(rows), 1))
        nervous = own + turn * np.abs(own - flock.positions[last]) / gap
        flock.propose(np.where(costs > flock.best_cost, fled, nervous), rows)


def safe_producer(
    own: FloatArray, rank: FloatArray | IntArray, draw: FloatArray, iterations: int
) -> FloatArray:
    """``x * exp(-rank / (draw * iterations))``, draw in (0, 1]; ranks from 1."""
    return np.asarray(own * np.exp(-rank / (draw * iterations)))


def hungry_scrounger(
    own: FloatArray,
    worst: FloatArray,
    rank: FloatArray | IntArray,
    draw: FloatArray,
) -> FloatArray:
    """``Q * exp((worst - x) / rank^2)``, Q normal; far-off positions overflow and are clipped."""
    with np.errstate(over="ignore"):
        return np.asarray(draw * np.exp((worst - own) / rank**2))


def fleeing_scout(own: FloatArray, best: FloatArray, draw: FloatArray) -> FloatArray:
    """``b + beta * |x - b|``, beta normal."""
    return np.asarray(best + draw * np.abs(own - best))
