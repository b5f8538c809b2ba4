"""Kernels: scores of policies as compiled code.

The kernel of a policy with a formula is made of the formula. A public module here is the kernel of
a policy without a formula, and has the name of the policy. Its function ``make(policy, resources,
allocatable)`` returns None for parameters or sizes that the kernel does not cover.

A kernel must give the same bits as the policy's own ``score`` on every node with room.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.jit import BOUND, PLACED, SCORE, Pointer, with_functions
from tracekit.cluster.resources import PODS, full_name, is_scalar
from tracekit.policy.placement._parts import requested
from tracekit.policy.placement._parts.formula import NUMBERS, Weights, quotient
from tracekit.policy.placement._parts.requested import rounded
from tracekit.policy.view.snapshot import Container, Snapshot

#: The rows of ``state`` and of ``amounts``.
ALLOCATABLE, REQUESTED, NONZERO, LIMIT = 0, 1, 2, 3


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A policy's score as compiled code for one cluster, with the policy's parameters.

    Parameters
    ----------
    score : function(state, positions, count, terms, amounts, parameters, scores)
        Writes the scores of the first ``count`` nodes of a block, i.e. of some nodes side by side.
        ``state``, int64, shape (4, resources, block), has allocatable, and the sums of requests, of
        requests with defaults, and of limits. ``positions`` are the positions of the nodes.
        ``amounts``, int64, shape (4, resources), has the amounts of the container; row 0 is its
        stated limits. Nodes without room are scored too, and their scores are never read.
    bound : function(boxes, ranges, count, first, amounts, parameters, bounds), optional
        Writes an upper bound of the scores of all nodes in each box. ``boxes``, int64, shape (4,
        resources, boxes), has the least and the largest sum of the kind ``scored``, and the least
        and the largest allocatable. ``ranges``, float64, shape (2, views, boxes), has the least and
        the largest value of each view. ``first`` has the lowest position in each box.
    scored : int
        The sums that the score reads, where there is a bound: REQUESTED or NONZERO.
    terms : function(snapshot) -> float64, shape (terms, nodes), optional
        Computes numbers of each node that the score reads, from each new measurement of usage.
    views : int
        The number of views. The first terms are views: numbers around 0..1, never NaN, by which the
        index groups nodes. Without views it groups them by sums and sizes.
    placed : function(terms, state, node, amounts, parameters), optional
        Updates the terms of a node after a container was added to its state.
    recounts : bool
        Whether ``placed`` ignores the container, so that it also serves after a container left.
    window : int
        The number of nodes with room that are scored; 0 for all. They form one block in the order
        of the search, so that scores may depend on the other nodes.
    each : function(snapshot, container) -> float64, shape (numbers,), optional
        Computes parameters for a shape of container; they precede ``parameters``. Only with a
        window.
    floats : bool
        Whether scores are floats, which are compared after rounding.
    whole : tuple of int
        Resources whose whole capacity the score uses: the bound holds only where nodes reserve
        nothing of them.
    silent : tuple of int
        Resources of which a container must request at least one; the policy skips all others. Empty
        where the policy skips none.
    """

    score: Pointer
    parameters: FloatArray
    bound: Pointer | None = None
    scored: int = NONZERO
    terms: Callable[[Snapshot], FloatArray] | None = None
    views: int = 0
    placed: Pointer | None = None
    recounts: bool = False
    window: int = 0
    each: Callable[[Snapshot, Container], FloatArray] | None = None
    floats: bool = False
    whole: tuple[int, ...] = ()
    silent: tuple[int, ...] = ()


def score_pointer(function: Callable[..., None]) -> Pointer:
    """Compile a function of the form of ``Kernel.score``, and return a pointer to it."""
    return Pointer(function, SCORE)


def bound_pointer(function: Callable[..., None]) -> Pointer:
    """Compile a function of the form of ``Kernel.bound``, and return a pointer to it."""
    return Pointer(function, BOUND)


def nobody(snapshot: Snapshot) -> Container:
    """Return a container without requests, for values of a policy that depend on nodes only."""
    nothing = np.zeros(len(snapshot.resources), np.int64)
    return Container(id="", service="", request=nothing, nonzero_request=nothing, limit=nothing)


def pointers(score: Callable[..., None], bound: Callable[..., None]) -> tuple[Pointer, Pointer]:
    """Compile a score function and its bound function, and return pointers to them."""
    return score_pointer(score), bound_pointer(bound)


def placed_pointer(function: Callable[..., None]) -> Pointer:
    """Compile a function of the form of ``Kernel.placed``, and return a pointer to it."""
    return Pointer(function, PLACED)


#: The largest capacity for which ``amount * 100 / capacity`` in doubles truncates to the exact
#: integer quotient: the product is exact, and rounding never reaches the next whole number.
LARGEST_EXACT = 2**46


def weight_table(
    weights: Weights, resources: Sequence[str], allocatable: IntArray
) -> FloatArray | None:
    """Return a flat table of weighted resources: column, weight, and 0 or 1 for each resource.

    1 means that the resource counts only for containers that request it. None if quotients are not
    exact in doubles, or if some node has none of a resource.
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
    """Return whether amounts are positive, and small enough for exact integer percentages."""
    return bool(((allocatable > 0) & (allocatable < LARGEST_EXACT)).all())


#: Bounds by views assume views that are better by this much, because views and scores differ in
#: their last digits. It is far more than rounding, and far less than differences of scores.
SLACK = 1e-9

#: The view of a node that scores 0 for every container, and the least value with that meaning.
ZERO_VIEW, ZERO_FROM = 3.0, 2.5


def half_away(value: float) -> Any:
    """Return the nearest whole number, halves away from zero; 0 for NaN."""
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
    """Return a copy of a kernel that compiles together with all plain functions that it calls.

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
