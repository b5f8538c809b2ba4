"""Parts that several kernels share: formulas, rounding, columns that count, and room for bounds."""

from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.jit import with_functions
from tracekit.cluster.resources import PODS, full_name, is_scalar
from tracekit.policy.placement._parts import requested
from tracekit.policy.placement._parts.formula import NUMBERS, quotient
from tracekit.policy.placement._parts.requested import rounded
from tracekit.policy.placement._parts.shares import Weights
from tracekit.replay.fast.kernels import bound_pointer, placed_pointer

#: Largest capacity for which ``amount * 100 / capacity`` in doubles cuts to the exact quotient:
#: the product is exact, and a fraction that is not whole lies further from it than doubles round.
LARGEST_EXACT = 2**46


def weight_table(
    weights: Weights, resources: Sequence[str], allocatable: IntArray
) -> FloatArray | None:
    """Rows of (column, weight, whether it counts only when asked for), flattened.

    None where doubles could not tell exact quotients, or some node has nothing of a column.
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
    """Whether every node has something, and integer percentages may be computed in doubles."""
    return bool(((allocatable > 0) & (allocatable < LARGEST_EXACT)).all())


# What bounds by views share: room for rounding, and values that no view can reach. A view and a
# bound by it are computed otherwise than the score, so that they differ from it in the last
# digits. Bounds are worked out from views a little better than they are.

#: By how much a view may be wrong: far more than doubles round, far less than scores tell apart.
SLACK = 1e-9

#: The view of a node that scores 0 whatever the container, and from where on a view is that.
ZERO_VIEW, ZERO_FROM = 3.0, 2.5


def half_away(value: float) -> Any:
    """The nearest whole number, halves away from zero; 0 of what is not a number."""
    return 0.0 if np.isnan(value) else rounded(value)


def _quotient(top: float, bottom: float) -> Any:
    """As ``quotient``, exact in doubles for whole numbers below 2**53."""
    return np.floor(top / max(bottom, 1))


#: Functions of numbers by the functions of arrays that they stand for in compiled code.
INSTEAD: Any = {
    **NUMBERS,
    quotient: _quotient,
    requested.half_away: half_away,
}


def inside(function: Any, **named: Any) -> FunctionType:
    """A kernel, to be compiled with the plain functions that it calls, and those they call.

    Parameters
    ----------
    named : functions
        By the name in the kernel's module that each takes the place of.
    """
    return with_functions(function, named, INSTEAD)


# Placeholders for the parts that a kernel does not have; never called.


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


NO_BOUND, NO_PLACED = bound_pointer(_bound), placed_pointer(_placed)
