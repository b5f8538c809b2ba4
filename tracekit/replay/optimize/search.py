"""The interface of population searches: parameters, a first population, one iteration."""

import abc
from dataclasses import dataclass
from typing import Annotated, ClassVar, Generic, TypeVar

import numpy as np

from tracekit import parameters
from tracekit.arrays import FloatArray
from tracekit.parameters import About
from tracekit.replay.optimize.flock import Flock
from tracekit.replay.optimize.problem import Problem

State = TypeVar("State", bound=Flock)

#: An improvement smaller than this is none.
NO_BETTER = 1e-9


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a search found.

    Parameters
    ----------
    position : float64, shape (dimensions,)
    cost : float
    evaluations : int
    curve : float64, shape (iterations done + 1,)
        The best cost at the start and after each iteration.
    """

    position: FloatArray
    cost: float
    evaluations: int
    curve: FloatArray


@dataclass(frozen=True, kw_only=True)
class Search(abc.ABC, Generic[State]):
    """Base of every search; its fields are its parameters.

    Attributes
    ----------
    search_source : str
        Paper and equations.
    """

    search_source: ClassVar[str]

    population: Annotated[int, About("Candidates that move together.", minimum=2)] = 30
    iterations: Annotated[int, About("Iterations at most.", minimum=1)] = 50
    patience: Annotated[
        int, About("Iterations without a better cost before it stops; 0: never.", minimum=0)
    ] = 15

    def __post_init__(self) -> None:
        parameters.check_ranges(self)

    @abc.abstractmethod
    def begin(self, problem: Problem, rng: np.random.Generator) -> State:
        """The first population."""

    @abc.abstractmethod
    def iterate(self, flock: State, iteration: int, rng: np.random.Generator) -> None:
        """Move the population once; ``iteration`` counts from 1."""

    def minimize(self, problem: Problem, rng: np.random.Generator) -> Found:
        """Search until the iterations or the patience are used up."""
        flock = self.begin(problem, rng)
        curve = [flock.best_cost]
        for iteration in range(1, self.iterations + 1):
            self.iterate(flock, iteration, rng)
            curve.append(flock.best_cost)
            if self._tired(curve):
                break
        return Found(
            position=flock.best,
            cost=flock.best_cost,
            evaluations=flock.evaluations,
            curve=np.array(curve),
        )

    def _tired(self, curve: list[float]) -> bool:
        since = len(curve) - 1 - self.patience
        return bool(self.patience) and since >= 0 and curve[since] - curve[-1] <= NO_BETTER
