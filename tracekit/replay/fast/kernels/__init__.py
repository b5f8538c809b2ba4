"""Kernels: scores of policies as compiled code.

A policy that states a formula has its kernel made of that. The files here are the kernels of
policies that state none, one policy per file, named as the policy: ``make(policy, resources,
allocatable)`` gives None for parameters or sizes it does not cover; the engine then goes another
way.

A kernel gives the same bits as the policy's own ``score`` on every node with room, or it is wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tracekit.base.arrays import FloatArray
from tracekit.base.jit import BOUND, PLACED, SCORE, Pointer
from tracekit.policy.view.snapshot import Container, Snapshot

#: Rows of ``state`` and of ``ask``: what of a resource is meant.
ALLOCATABLE, REQUESTED, NONZERO, LIMIT = 0, 1, 2, 3


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A policy's score with its parameters filled in, for one cluster.

    Parameters
    ----------
    score : function(state, positions, count, terms, ask, parameters, scores)
        Write the scores of the first ``count`` nodes of a block. ``state`` is int64, shape (4,
        resources, block): allocatable, and the sums of requests, of requests with defaults, and of
        limits. ``positions`` says which nodes they are, ``ask`` is int64, shape (4, resources): the
        container's, row 0 its limits as stated. Nodes without room are scored too; their scores are
        never read.
    bound : function(boxes, ranges, count, first, ask, parameters, bounds), optional
        Write for each box a number that no score of a node inside exceeds. ``boxes`` is int64,
        shape (4, resources, boxes): least and most scored sum, least and most allocatable;
        ``ranges`` is float64, shape (2, views, boxes): least and most of each view; ``first`` the
        lowest position in each box.
    scored : int
        Which sums the score reads where there is a bound: REQUESTED or NONZERO.
    terms : function(snapshot) -> float64, shape (terms, nodes), optional
        What the score needs of measured usage; asked again when new measurements are known.
    views : int
        How many of the terms, from the first, are views: numbers about 0..1 and never NaN, by which
        nodes are told apart where there is a bound. Without any it is by sums and sizes.
    placed : function(terms, state, node, ask, parameters), optional
        Bring the terms of a node up to date after a container was added to its state.
    recounts : bool
        Whether ``placed`` reads nothing of the container, so that it serves for one that left too.
    window : int
        0, or how many nodes with room are scored: in a block of their own, in the order
        in which the search finds them, so that the policy may be joint.
    each : function(snapshot, container) -> float64, shape (numbers,), optional
        Further parameters, which go before the others, of each shape of container; only where
        there is a window.
    floats : bool
        Whether scores are floats, compared after rounding.
    whole : tuple of int
        Resources whose whole capacity the score is over: the bound holds where nodes reserve
        nothing of them.
    silent : tuple of int
        Resources such that the policy has nothing to say (``skips``) about a container that
        requests none of them; empty where it always has.
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
