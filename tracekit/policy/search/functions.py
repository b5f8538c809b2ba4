"""Test functions: their least value is 0, at the origin."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tracekit.base import registry
from tracekit.base.arrays import FloatArray


@dataclass(frozen=True, kw_only=True)
class BenchFunction:
    """A function to be minimised.

    Parameters
    ----------
    title, formula : str
    bound : float
        Every component lies in ``-bound..bound``.
    values : function
        float64, shape (candidates, dimensions) to shape (candidates,).
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


_ACKLEY = BenchFunction(
    title="Ackley",
    formula="20 + e - 20 exp(-0.2 sqrt(mean x^2)) - exp(mean cos(2 pi x))",
    bound=32.0,
    values=_ackley,
)


def _griewank(at: FloatArray) -> FloatArray:
    """1 + sum x^2 / 4000 - prod cos(x_i / sqrt(i)), of each row."""
    roots = np.sqrt(np.arange(1, at.shape[1] + 1))
    return np.asarray(1 + np.square(at).sum(axis=1) / 4000 - np.cos(at / roots).prod(axis=1))


_GRIEWANK = BenchFunction(
    title="Griewank",
    formula="1 + sum x^2 / 4000 - prod cos(x_i / sqrt(i))",
    bound=600.0,
    values=_griewank,
)


def _rastrigin(at: FloatArray) -> FloatArray:
    """Sum (x^2 - 10 cos(2 pi x) + 10), of each row."""
    return np.asarray((np.square(at) - 10 * np.cos(2 * np.pi * at) + 10).sum(axis=1))


_RASTRIGIN = BenchFunction(
    title="Rastrigin", formula="sum (x^2 - 10 cos(2 pi x) + 10)", bound=5.12, values=_rastrigin
)


def _schwefel_2_22(at: FloatArray) -> FloatArray:
    """Sum |x| + prod |x|, of each row."""
    size = np.abs(at)
    return np.asarray(size.sum(axis=1) + size.prod(axis=1))


_SCHWEFEL_2_22 = BenchFunction(
    title="Schwefel 2.22", formula="sum |x| + prod |x|", bound=10.0, values=_schwefel_2_22
)


def _sphere(at: FloatArray) -> FloatArray:
    """Sum x^2, of each row."""
    return np.asarray(np.square(at).sum(axis=1))


_SPHERE = BenchFunction(title="Sphere", formula="sum x^2", bound=100.0, values=_sphere)


_FUNCTIONS = {
    "ackley": _ACKLEY,
    "griewank": _GRIEWANK,
    "rastrigin": _RASTRIGIN,
    "schwefel_2_22": _SCHWEFEL_2_22,
    "sphere": _SPHERE,
}


def all_functions() -> dict[str, BenchFunction]:
    """Every test function, by name."""
    return _FUNCTIONS


def get_function(name: str) -> BenchFunction:
    """The test function of that name; TracekitError that lists the near ones."""
    return registry.pick(all_functions(), name, "test function", listing="tracekit list functions")
