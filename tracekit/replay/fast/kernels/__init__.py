"""Kernels: scores of policies as compiled code.

The kernel of a policy with a formula is made of the formula. Each module here is the kernel of a
policy without a formula, and has the policy's name. Its function ``make(policy, resources,
allocatable)`` returns None for parameters or sizes that it does not cover.

A kernel must give the same bits as the policy's own ``score`` on every node with room.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tracekit.base.arrays import FloatArray
from tracekit.base.jit import BOUND, PLACED, SCORE, Pointer
from tracekit.policy.view.snapshot import Container, Snapshot

#: The rows of ``state`` and of ``amounts``.
ALLOCATABLE, REQUESTED, NONZERO, LIMIT = 0, 1, 2, 3


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A policy's score with its parameters filled in, for one cluster.

    Parameters
    ----------
    score : function(state, positions, count, terms, amounts, parameters, scores)
        Writes the scores of the first ``count`` nodes of a block. ``state``, int64, shape (4,
        resources, block), has allocatable, and the sums of requests, of requests with defaults, and
        of limits. ``positions`` are the positions of the nodes. ``amounts``, int64, shape (4,
        resources), has the amounts of the container; row 0 is its stated limits. Nodes without room
        are scored too, and their scores are never read.
    bound : function(boxes, ranges, count, first, amounts, parameters, bounds), optional
        Writes an upper bound of the scores of all nodes in each box. ``boxes``, int64, shape (4,
        resources, boxes), has the least and the largest scored sum, and the least and the largest
        allocatable. ``ranges``, float64, shape (2, views, boxes), has the least and the largest
        value of each view. ``first`` has the lowest position in each box.
    scored : int
        The sums that the score reads, where there is a bound: REQUESTED or NONZERO.
    terms : function(snapshot) -> float64, shape (terms, nodes), optional
        Computes the terms of the score from measured usage, for each new measurement.
    views : int
        The number of views. The first terms are views: numbers around 0..1, never NaN, by which the
        index groups nodes. Without views it groups them by sums and sizes.
    placed : function(terms, state, node, amounts, parameters), optional
        Updates the terms of a node after a container was added to its state.
    recounts : bool
        Whether ``placed`` ignores the container, so that it also serves after a container left.
    window : int
        The number of nodes with room that are scored; 0 for all. They form a block of their own in
        the order of the search, so that the policy may be joint.
    each : function(snapshot, container) -> float64, shape (numbers,), optional
        Parameters of a shape of container, which precede the others; only with a window.
    floats : bool
        Whether scores are floats, which are compared after rounding.
    whole : tuple of int
        Resources whose whole capacity the score uses: the bound holds only where nodes reserve
        nothing of them.
    silent : tuple of int
        Resources of which a container must request at least one; the policy skips all others.
        Empty where the policy skips none.
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
    """A score function, compiled."""
    return Pointer(function, SCORE)


def bound_pointer(function: Callable[..., None]) -> Pointer:
    """A bound function, compiled."""
    return Pointer(function, BOUND)


def pointers(score: Callable[..., None], bound: Callable[..., None]) -> tuple[Pointer, Pointer]:
    """A score function and its bound, compiled."""
    return score_pointer(score), bound_pointer(bound)


def placed_pointer(function: Callable[..., None]) -> Pointer:
    """A function that follows a placement, compiled."""
    return Pointer(function, PLACED)
