"""The problem of a search, a cost over a box; test functions; and rank tests of searches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from tracekit.base import registry
from tracekit.base.arrays import FloatArray
from tracekit.base.errors import TracekitError


class CompiledCost(NamedTuple):
    """A cost function that compiled code can call: ``Flock.cost`` and ``Flock.given``."""

    function: Any
    given: Any


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A cost to minimise, and the bounds between which a search looks for its minimum.

    Parameters
    ----------
    lower, upper : float64, shape (dimensions,)
    cost : function
        From positions, float64 of shape (candidates, dimensions), to costs, shape (candidates,).
    compiled : CompiledCost, optional
        The same cost for compiled code, equal to the last bit.
    """

    lower: FloatArray
    upper: FloatArray
    cost: Callable[[FloatArray], FloatArray]
    compiled: CompiledCost | None = None

    def __post_init__(self) -> None:
        if self.lower.shape != self.upper.shape or self.lower.ndim != 1 or not len(self.lower):
            raise TracekitError(
                f"bounds have shapes {self.lower.shape} and {self.upper.shape}",
                hint="give one lower and one upper bound per dimension, at least one",
            )
        wrong = np.flatnonzero(~(self.lower < self.upper))
        if len(wrong):
            at = int(wrong[0])
            raise TracekitError(
                f"dimension {at}: the lower bound {self.lower[at]:g} is not below"
                f" the upper bound {self.upper[at]:g}"
            )

    @property
    def dimensions(self) -> int:
        """The number of dimensions."""
        return len(self.lower)

    def evaluate(self, positions: FloatArray) -> FloatArray:
        """Return costs of positions inside the box, shape (candidates,).

        Raises TracekitError for a cost of NaN.
        """
        costs = np.asarray(self.cost(positions), dtype=np.float64)
        if costs.shape != positions.shape[:1]:
            raise TracekitError(
                f"the objective gave shape {costs.shape} for {len(positions)} positions",
                hint="return one cost per position",
            )
        # the minimum of numbers with a NaN is NaN
        if np.isnan(np.minimum.reduce(costs, initial=np.inf)):
            bad = np.flatnonzero(np.isnan(costs))
            where = ", ".join(f"{value:g}" for value in positions[bad[0]][:5])
            raise TracekitError(
                f"the objective gave NaN at position ({where}{', ...' * (self.dimensions > 5)})",
                hint="give an impossible position a high cost instead",
            )
        return costs


# Test functions; their minimum is 0, at the origin.


@dataclass(frozen=True, kw_only=True)
class BenchFunction:
    """A test function to minimise.

    Parameters
    ----------
    title, formula : str
    bound : float
        Every component is in ``-bound..bound``.
    values : function
        From positions, float64 of shape (candidates, dimensions), to values, shape (candidates,).
    """

    title: str
    formula: str
    bound: float
    values: Callable[[FloatArray], FloatArray]


def _ackley(at: FloatArray) -> FloatArray:
    """20 + e - 20 exp(-0.2 sqrt(mean x^2)) - exp(mean cos(2 pi x)), of each row."""
    far = np.sqrt(np.square(at).mean(axis=1))
    waves = np.cos(2 * np.pi * at).mean(axis=1)
    return np.asarray(20 + np.e - 20 * np.exp(-0.2 * far) - np.exp(waves))


def _griewank(at: FloatArray) -> FloatArray:
    """1 + sum x^2 / 4000 - prod cos(x_i / sqrt(i)), of each row."""
    roots = np.sqrt(np.arange(1, at.shape[1] + 1))
    return np.asarray(1 + np.square(at).sum(axis=1) / 4000 - np.cos(at / roots).prod(axis=1))


def _rastrigin(at: FloatArray) -> FloatArray:
    """Sum (x^2 - 10 cos(2 pi x) + 10), of each row."""
    return np.asarray((np.square(at) - 10 * np.cos(2 * np.pi * at) + 10).sum(axis=1))


def _schwefel_2_22(at: FloatArray) -> FloatArray:
    """Sum |x| + prod |x|, of each row."""
    size = np.abs(at)
    return np.asarray(size.sum(axis=1) + size.prod(axis=1))


def _sphere(at: FloatArray) -> FloatArray:
    """Sum x^2, of each row."""
    return np.asarray(np.square(at).sum(axis=1))


_FUNCTIONS = {
    "ackley": BenchFunction(
        title="Ackley",
        formula="20 + e - 20 exp(-0.2 sqrt(mean x^2)) - exp(mean cos(2 pi x))",
        bound=32.0,
        values=_ackley,
    ),
    "griewank": BenchFunction(
        title="Griewank",
        formula="1 + sum x^2 / 4000 - prod cos(x_i / sqrt(i))",
        bound=600.0,
        values=_griewank,
    ),
    "rastrigin": BenchFunction(
        title="Rastrigin", formula="sum (x^2 - 10 cos(2 pi x) + 10)", bound=5.12, values=_rastrigin
    ),
    "schwefel_2_22": BenchFunction(
        title="Schwefel 2.22", formula="sum |x| + prod |x|", bound=10.0, values=_schwefel_2_22
    ),
    "sphere": BenchFunction(title="Sphere", formula="sum x^2", bound=100.0, values=_sphere),
}


def all_functions() -> dict[str, BenchFunction]:
    """Return every test function, by name."""
    return _FUNCTIONS


def get_function(name: str) -> BenchFunction:
    """Return the test function with a name; raises TracekitError for an unknown name."""
    return registry.pick(all_functions(), name, "test function", listing="tracekit list functions")


# Variants of test functions.

Variant = Literal["original", "shifted", "rotated"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)

#: The distance of a moved optimum from the origin, as a share of the bound.
SHIFT = 0.3

WHAT = {
    "original": "the optimum is the origin",
    "shifted": f"the optimum is moved by {SHIFT:g} of the bound in every component",
    "rotated": "shifted, and rotated about the optimum, so that components depend on each other",
}


def problem(
    function: BenchFunction, variant: Variant, dimensions: int, rng: np.random.Generator
) -> Problem:
    """Return a variant of a test function as a problem; ``rng`` draws the rotation, if any."""
    shift = 0.0 if variant == "original" else SHIFT * function.bound
    turn = turned(dimensions, rng) if variant == "rotated" else None

    def cost(positions: FloatArray) -> FloatArray:
        moved = positions - shift
        return function.values(moved if turn is None else moved @ turn)

    return Problem(
        lower=np.full(dimensions, -function.bound),
        upper=np.full(dimensions, function.bound),
        cost=cost,
    )


def turned(dimensions: int, rng: np.random.Generator) -> FloatArray:
    """Return a random rotation matrix of uniform distribution, (dimensions, dimensions).

    It is the orthogonal factor of a normal matrix with fixed signs (Mezzadri, Notices of the AMS
    2007).
    """
    orthogonal, upper = np.linalg.qr(rng.standard_normal((dimensions, dimensions)))
    return np.asarray(orthogonal * np.sign(np.diag(upper)))


# Rank tests of one search against its rivals, over runs.

#: The level of the test.
LEVEL = 0.05
#: The outcome of a test without a significant difference.
EVEN = "even"


def against(own: FloatArray, rivals: Mapping[str, FloatArray]) -> dict[str, tuple[float, str]]:
    """Test whether one search has lower costs than each of its rivals.

    The two-sided rank-sum test of Mann and Whitney compares final costs; Holm's step-down rule
    corrects for several rivals.

    Parameters
    ----------
    own, rivals : float64, shape (runs,)
        Final costs of the search, and of each rival by name; lower is better.

    Returns
    -------
    By rival: the corrected p-value, and whether ``own`` is 'better', 'worse' or 'even'.
    """
    raw = {name: _rank_sum(own, costs) for name, costs in rivals.items()}
    adjusted = holm(raw)
    return {
        name: (adjusted[name], _outcome(own, costs, adjusted[name]))
        for name, costs in rivals.items()
    }


def holm(probabilities: Mapping[str, float]) -> dict[str, float]:
    """Return p-values corrected for several tests by Holm's rule (1979); none becomes smaller."""
    ordered = sorted(probabilities, key=lambda name: (probabilities[name], name))
    adjusted, least = {}, 0.0
    for at, name in enumerate(ordered):
        least = max(least, min(probabilities[name] * (len(ordered) - at), 1.0))
        adjusted[name] = least
    return adjusted


def mean_ranks(costs: FloatArray) -> FloatArray:
    """Return the mean rank of each search over all runs, 1 for the best; equal costs share a rank.

    Parameters
    ----------
    costs : float64, shape (searches, runs)
    """
    from scipy import stats  # noqa: PLC0415 - slow to import

    ranks = stats.rankdata(costs.ravel()).reshape(costs.shape)
    return np.asarray(ranks.mean(axis=1))


def _rank_sum(own: FloatArray, other: FloatArray) -> float:
    if np.unique(np.concatenate([own, other])).size == 1:
        return 1.0
    from scipy import stats  # noqa: PLC0415 - slow to import

    return float(stats.mannwhitneyu(own, other, alternative="two-sided").pvalue)


def _outcome(own: FloatArray, other: FloatArray, probability: float) -> str:
    if probability >= LEVEL:
        return EVEN
    lower = (own[:, None] < other).sum() > (own[:, None] > other).sum()
    return "better" if lower else "worse"
