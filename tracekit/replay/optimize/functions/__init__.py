"""Test functions, one per file: their least value is 0, at the origin."""

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass

from tracekit import registry
from tracekit.arrays import FloatArray


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


@functools.cache
def all_functions() -> dict[str, BenchFunction]:
    """Every test function, by name."""
    return registry.instances(sys.modules[__name__], BenchFunction)


def get_function(name: str) -> BenchFunction:
    """The test function of that name; TracekitError that lists the near ones."""
    return registry.pick(all_functions(), name, "test function", listing="tracekit list functions")
