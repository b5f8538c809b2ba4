"""Runs a whole search in compiled code: the first population, all iterations, and the end.

Iterations and costs are called by their address, so that one compiled loop serves every search and
every cost. Compiled code also calls a cost that is a Python function.
"""

import abc
import ctypes
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Annotated, Any, ClassVar, NamedTuple, cast

import numpy as np

from tracekit.base import parameters
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.jit import (
    F1,
    F2,
    I1,
    Direct,
    Pointer,
    WrapperAddressProtocol,
    compiled,
    next_uint32,
    numba,
    types,
    with_functions,
)
from tracekit.base.parameters import About
from tracekit.policy.search.flock import (
    EVALUATIONS,
    FAILED,
    STARTS,
    Flock,
    Start,
    Tools,
    arrange,
    coin,
    first_positions,
    mutate,
    propose,
    shuffle,
)
from tracekit.policy.search.problem import CompiledCost, Problem

#: A smaller improvement does not count.
NO_BETTER = 1e-9

#: Moves the population once. Its arguments are the flock, the shared functions, the numbers of the
#: search, the iteration from 1 on, and the generator of random numbers.
Iterate = Callable[[Flock, Tools, FloatArray, int, Any], None]


class Limits(NamedTuple):
    """The start and the stop rules of a search, in a form for compiled code; see ``Search``.

    Parameters
    ----------
    iterations, patience : int
    accuracy : float
        The cost at which the search stops; minus infinity for none.
    start : int
        An index into ``STARTS``.
    """

    iterations: int
    patience: int
    accuracy: float
    start: int


def _run(
    iterate: Iterate,
    flock: Flock,
    tools: Tools,
    numbers: FloatArray,
    limits: Limits,
    rng: Any,
    curve: FloatArray,
) -> int:
    """The number of iterations; writes the best cost before and after each to ``curve``."""
    first_positions(limits.start, flock.box, rng, flock.proposed)
    tools.propose(flock, flock.everybody)
    curve[0] = flock.best_cost[0]
    for iteration in range(1, limits.iterations + 1):
        iterate(flock, tools, numbers, iteration, rng)
        curve[iteration] = flock.best_cost[0]
        since = iteration - limits.patience
        tired = limits.patience > 0 and since >= 0 and curve[since] - curve[iteration] <= NO_BETTER
        arrived = curve[iteration] <= limits.accuracy
        if tired or arrived or flock.tally[FAILED]:
            return iteration
    return limits.iterations


# Small whole numbers from 32 random bits, as numpy makes them; numba takes 8 s to compile
# ``rng.permutation``, and 1 s to compile ``rng.integers``.


@compiled
def _bits(rng: Any) -> int:
    drawn: Any = np.int64(next_uint32(rng.bit_generator))  # type: ignore[no-untyped-call]
    return drawn  # type: ignore[no-any-return]


def _coin(rng: Any) -> int:
    return _bits(rng) >> 31


def _shuffle(order: IntArray, rng: Any) -> None:
    for at in range(len(order)):
        order[at] = at
    for at in range(len(order) - 1, 0, -1):
        mask = 1
        while mask < at:
            mask = 2 * mask + 1
        other = at + 1
        while other > at:
            other = _bits(rng) & mask
        order[at], order[other] = order[other], order[at]


_INSTEAD = {
    cast("FunctionType", plain): cast("FunctionType", short)
    for plain, short in ((coin, _coin), (shuffle, _shuffle))
}


def _whole(function: Callable[..., Any]) -> FunctionType:
    """A plain function with all functions that it calls, to be compiled."""
    return with_functions(cast("FunctionType", function), {}, _INSTEAD)


class _Engines(dict[tuple[Iterate, type[Any]], tuple[Direct, Pointer, Tools]]):
    """Compiled code by the plain iteration and the type of a cost's ``given``."""

    def of(
        self, iterate: Iterate, flock: Flock, rng: np.random.Generator
    ) -> tuple[Direct, Pointer, Tools]:
        """Return the loop, the iteration and the tools for the type of a flock."""
        key = (iterate, type(flock.given))
        if key not in self:
            self[key] = self._made(iterate, numba.typeof(flock), numba.typeof(rng))
        return self[key]

    def _made(self, iterate: Iterate, flock: Any, rng: Any) -> tuple[Direct, Pointer, Tools]:
        tools = _tools(flock, rng)
        kinds = (flock, numba.typeof(tools), F1, types.int64, rng)
        return Direct(_loop()), _pointer(iterate, *kinds), tools


_ENGINES = _Engines()


@functools.cache
def _loop() -> Any:
    return compiled(_whole(_run))


@functools.cache
def _tools(flock: Any, rng: Any) -> Tools:
    return Tools(
        propose=_pointer(propose, flock, I1),
        mutate=_pointer(mutate, F2, F2, types.int64, types.boolean, rng, F2),
        arrange=_pointer(arrange, flock, I1),
        shuffle=_pointer(shuffle, I1, rng),
    )


@functools.cache
def _pointer(function: Callable[..., None], *kinds: Any) -> Any:
    return Pointer(
        _whole(_INSTEAD.get(cast("FunctionType", function), function)), types.void(*kinds)
    )


def run(
    problem: Problem,
    shape: tuple[int, int],
    how: tuple[Iterate, FloatArray, Limits],
    rng: np.random.Generator,
) -> tuple[Flock, FloatArray]:
    """Run a search in compiled code. Raise TracekitError for a cost of NaN.

    Parameters
    ----------
    shape : (number of arrays in ``Flock.more``, number of candidates)
    how : (``Search.iterate``, the array of ``Search.numbers``, limits)

    Returns
    -------
    Flock, and the best cost at the start and after each iteration, shape (iterations done + 1,)
    """
    (more, population), (iterate, numbers, limits) = shape, how
    proposed, costs = np.empty((population, problem.dimensions)), np.empty(population)
    called = None if problem.compiled else _PythonCost(problem, proposed, costs)
    cost = problem.compiled or CompiledCost(_caller(), _Given(called))
    flock = _flock(problem, more, proposed, costs, cost)
    curve = np.empty(limits.iterations + 1)
    loop, iteration, tools = _ENGINES.of(iterate, flock, rng)
    done = loop(iteration, flock, tools, numbers, limits, rng, curve)
    if flock.tally[FAILED]:
        if called and called.error:
            raise called.error
        problem.evaluate(flock.best[None])  # raises an error that names the position
        raise AssertionError(f"the cost of {flock.best} was NaN and is a number now")
    return flock, curve[: done + 1]


def _flock(
    problem: Problem, more: int, proposed: FloatArray, costs: FloatArray, cost: CompiledCost
) -> Flock:
    box = np.stack([problem.lower, problem.upper])
    return Flock(
        positions=np.repeat(box[:1], len(costs), axis=0),
        costs=np.full_like(costs, np.inf),
        best=box[0].copy(),
        best_cost=np.full(1, np.inf),
        tally=np.zeros(2, dtype=np.int64),
        everybody=np.arange(len(costs)),
        proposed=proposed,
        proposed_costs=costs,
        box=box,
        more=np.zeros((more, *proposed.shape)),
        cost=cost.function,
        given=cost.given,
    )


class _Given(NamedTuple):
    """The ``given`` of a Python cost."""

    called: Any


class _PythonCost(WrapperAddressProtocol):
    """A Python cost for compiled code: it gets a count and writes the first costs.

    As no error can pass through compiled code, the error is stored and the result is 1.
    """

    made = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    kind = types.int64(types.int64)

    def __init__(self, problem: Problem, proposed: FloatArray, costs: FloatArray) -> None:
        self.error: BaseException | None = None

        def evaluated(count: int) -> int:
            try:
                costs[:count] = problem.evaluate(proposed[:count].copy())
            except BaseException as error:  # noqa: BLE001 - an interrupt, too
                self.error = error
                return 1
            return 0

        self._called = self.made(evaluated)

    def __wrapper_address__(self) -> int:
        return int(ctypes.cast(self._called, ctypes.c_void_p).value or 0)

    def signature(self) -> Any:
        """Return the type of the function, for numba."""
        return self.kind


def _call(proposed: FloatArray, count: int, given: _Given, costs: FloatArray) -> int:  # noqa: ARG001
    """See ``Flock.cost``."""
    failed: int = given.called(count)
    return failed


@functools.cache
def _caller() -> Pointer:
    kinds: Any = types
    given = kinds.NamedUniTuple(types.FunctionType(_PythonCost.kind), 1, _Given)
    return Pointer(_call, types.int64(F2, types.int64, given, F1))


# The interface of population searches: parameters, and one iteration.


@dataclass(frozen=True, kw_only=True)
class Found:
    """The result of ``Search.minimize``: the best position, its cost, and the effort.

    Parameters
    ----------
    position : float64, shape (dimensions,)
    cost : float
    evaluations : int
        The number of positions whose cost was computed.
    curve : float64, shape (iterations done + 1,)
        The best cost at the start and after each iteration.
    """

    position: FloatArray
    cost: float
    evaluations: int
    curve: FloatArray


@dataclass(frozen=True, kw_only=True)
class Search(abc.ABC):
    """Base of every search; the fields of an instance are the search's parameters.

    Attributes
    ----------
    search_source : str
        Paper and equations.
    iterate : function(flock, tools, numbers, iteration, rng)
        Moves all candidates once; ``iteration`` counts from 1. As numba compiles it with all that
        it calls, it is a module's function and uses only arrays and numbers.
    more : int
        The number of arrays in ``Flock.more``.
    """

    search_source: ClassVar[str]
    iterate: ClassVar[Callable[..., None]]
    more: ClassVar[int] = 0

    population: Annotated[int, About("Candidates of the search.", minimum=2)] = 30
    iterations: Annotated[int, About("The most iterations.", minimum=1)] = 50
    patience: Annotated[
        int, About("Iterations without a better cost after which it stops; 0: no limit.", minimum=0)
    ] = 15
    accuracy: Annotated[
        float | None, About("Cost at which the search stops; none: no such cost.")
    ] = None
    start: Start = "uniform"

    def __post_init__(self) -> None:
        parameters.check_ranges(self)

    @abc.abstractmethod
    def numbers(self) -> tuple[float, ...]:
        """Return the parameters that ``iterate`` needs, as numbers."""

    def minimize(self, problem: Problem, rng: np.random.Generator) -> Found:
        """Return the best position when the search stops. Raise TracekitError for a cost of NaN."""
        start = STARTS.index(self.start)
        accuracy = -math.inf if self.accuracy is None else self.accuracy
        limits = Limits(self.iterations, self.patience, accuracy, start)
        numbers = np.array(self.numbers(), dtype=np.float64)
        shape = (self.more, self.population)
        flock, curve = run(problem, shape, (self.iterate, numbers, limits), rng)
        return Found(
            position=flock.best,
            cost=float(flock.best_cost[0]),
            evaluations=int(flock.tally[EVALUATIONS]),
            curve=curve,
        )
