"""Parts of several kernels: tables of weights, rounding, slack for bounds, and placeholders."""

from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.jit import with_functions
from tracekit.cluster.resources import PODS, full_name, is_scalar
from tracekit.policy.placement._parts import requested
from tracekit.policy.placement._parts.formula import NUMBERS, Weights, quotient
from tracekit.policy.placement._parts.requested import rounded
from tracekit.replay.fast.kernels import bound_pointer, placed_pointer

#: The largest capacity for which ``amount * 100 / capacity`` in doubles truncates to the exact
#: integer quotient: the product is exact, and rounding never reaches the next whole number.
LARGEST_EXACT = 2**46


def weight_table(
    weights: Weights, resources: Sequence[str], allocatable: IntArray
) -> FloatArray | None:
    """Rows of (column, weight, whether it counts only where it is requested), flattened.

    None where quotients are not exact in doubles, or some node has none of a resource.
    """
    rows = [
        (resources.index(full_name(short)), weight, is_scalar(full_name(short)))
        for short, weight in weights
        if full_name(short) in resources and full_name(short) != PODS
    ]
    columns = [column for column, _, _ in rows]
    if (weights and not rows) or not exact_in_doubles(allocatable[:, columns]):
        return None
    return np.array(rows, dtype=np.float64).reshape(-1)


def exact_in_doubles(allocatable: IntArray) -> bool:
    """Whether all amounts are positive, and integer percentages of them are exact in doubles."""
    return bool(((allocatable > 0) & (allocatable < LARGEST_EXACT)).all())


#: Bounds by views assume views that are better by this much, because views and scores differ in
#: their last digits. It is far more than rounding, and far less than differences of scores.
SLACK = 1e-9

#: The view of a node that scores 0 for every container, and the least value with that meaning.
ZERO_VIEW, ZERO_FROM = 3.0, 2.5


def half_away(value: float) -> Any:
    """The nearest whole number, halves away from zero; 0 for NaN."""
    return 0.0 if np.isnan(value) else rounded(value)


def _quotient(top: float, bottom: float) -> Any:
    """The integer quotient; exact for whole numbers below 2**53."""
    return np.floor(top / max(bottom, 1))


#: The functions of arrays, with the functions of numbers that replace them in compiled code.
INSTEAD: Any = {
    **NUMBERS,
    quotient: _quotient,
    requested.half_away: half_away,
}


def inside(function: Any, **named: Any) -> FunctionType:
    """A copy of a kernel that compiles together with all plain functions that it calls.

    Parameters
    ----------
    named : functions
        Replacements of names in the kernel's module.
    """
    return with_functions(function, named, INSTEAD)


def _bound(
    boxes: IntArray,  # noqa: ARG001
    ranges: FloatArray,  # noqa: ARG001
    count: int,
    first: IntArray,  # noqa: ARG001
    ask: IntArray,  # noqa: ARG001
    parameters: FloatArray,  # noqa: ARG001
    bounds: FloatArray,
) -> None:
    bounds[:count] = np.inf


def _placed(
    terms: FloatArray,  # noqa: ARG001
    state: IntArray,  # noqa: ARG001
    node: int,  # noqa: ARG001
    ask: IntArray,  # noqa: ARG001
    parameters: FloatArray,  # noqa: ARG001
) -> None:
    return


#: Placeholders for functions that a kernel does not have; they are never called.
NO_BOUND, NO_PLACED = bound_pointer(_bound), placed_pointer(_placed)
