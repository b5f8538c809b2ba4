"""The interface of population searches: parameters, and one iteration."""

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base import parameters
from tracekit.base.arrays import FloatArray
from tracekit.base.parameters import About
from tracekit.policy.search.flock import EVALUATIONS
from tracekit.policy.search.problem import Problem
from tracekit.policy.search.starting import STARTS, Start


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
class Search(abc.ABC):
    """Base of every search; its fields are its parameters.

    Attributes
    ----------
    search_source : str
        Paper and equations.
    iterate : function(flock, numbers, iteration, rng)
        Moves the population once; ``iteration`` counts from 1. A plain function of a module, of
        arrays and numbers alone, that numba compiles with all that it calls.
    more : int
        How many arrays of ``Flock.more`` it keeps.
    """

    search_source: ClassVar[str]
    iterate: ClassVar[Callable[..., None]]
    more: ClassVar[int] = 0

    population: Annotated[int, About("Candidates that move together.", minimum=2)] = 30
    iterations: Annotated[int, About("Iterations at most.", minimum=1)] = 50
    patience: Annotated[
        int, About("Iterations without a better cost before it stops; 0: never.", minimum=0)
    ] = 15
    accuracy: Annotated[
        float | None, About("The search stops once its cost is as low as this; none: never.")
    ] = None
    start: Start = "uniform"

    def __post_init__(self) -> None:
        parameters.check_ranges(self)

    @abc.abstractmethod
    def numbers(self) -> tuple[float, ...]:
        """What ``iterate`` needs of the parameters."""

    def minimize(self, problem: Problem, rng: np.random.Generator) -> Found:
        """Search until the accuracy is reached, or iterations or patience are used up."""
        from tracekit.policy.search import running  # noqa: PLC0415 - numba is slow to import

        start = STARTS.index(self.start)
        accuracy = -math.inf if self.accuracy is None else self.accuracy
        limits = running.Limits(self.iterations, self.patience, accuracy, start)
        numbers = np.array(self.numbers(), dtype=np.float64)
        shape = (self.more, self.population)
        flock, curve = running.run(problem, shape, (self.iterate, numbers, limits), rng)
        return Found(
            position=flock.best,
            cost=float(flock.best_cost[0]),
            evaluations=int(flock.tally[EVALUATIONS]),
            curve=curve,
        )
