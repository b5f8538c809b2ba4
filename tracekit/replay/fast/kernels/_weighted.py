"""The kernel of a weighted profile: the sum of the kernels of its parts, each times its weight.

The kernel of the first parts and the kernel of the next part are combined into one, part by part.
"""

# ruff: noqa: ARG001 - kernels share one signature

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.jit import PLACED, SCORE, Pointer
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.placement.default_scheduler import DefaultScheduler, nodes_to_find, plugins
from tracekit.policy.profile import FULL, Part, Profile
from tracekit.policy.view.snapshot import Snapshot
from tracekit.replay.fast.kernels import NO_PLACED, Kernel, inside, score_pointer
from tracekit.replay.fast.kernels._formula import balance_kernel, formula_kernel

Terms = Callable[[Snapshot], FloatArray]
Find = Callable[[PlacementPolicy], Kernel | None]

#: Positions of the head of a combined kernel's parameters: the weight; the factor that brings
#: scores to 0..100; the number of parameters of the first parts; whether there are terms; the
#: number of ``Kernel.silent`` columns of the next part, which follow the head.
_WEIGHT, _FACTOR, _BEFORE, _TERMS, _COLUMNS, _HEAD = range(6)

#: Placeholders in the kernels below for the functions of the two kernels.
_before: Any = None
_next: Any = None


def _score(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    amounts: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    """The score of both kernels; the first row of the terms is the number of rows of the first."""
    first = _HEAD + int(parameters[_COLUMNS])
    own = first + int(parameters[_BEFORE])
    cut = 1 + int(terms[0, 0]) if parameters[_TERMS] == 1.0 else 0
    _before(
        state, positions, count, terms[min(cut, 1) : cut], amounts, parameters[first:own], scores
    )
    requested = first == _HEAD
    for at in range(_HEAD, first):
        requested = requested or amounts[1, int(parameters[at])] > 0
    if requested:
        added = np.empty(len(scores))
        _next(state, positions, count, terms[cut:], amounts, parameters[own:], added)
        for at in range(count):
            scores[at] += parameters[_WEIGHT] * (added[at] * parameters[_FACTOR])


def _placed(
    terms: FloatArray, state: IntArray, node: int, amounts: IntArray, parameters: FloatArray
) -> None:
    first = _HEAD + int(parameters[_COLUMNS])
    own, cut = first + int(parameters[_BEFORE]), 1 + int(terms[0, 0])
    _before(terms[1:cut], state, node, amounts, parameters[first:own])
    _next(terms[cut:], state, node, amounts, parameters[own:])


def _no_score(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    amounts: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    scores[:count] = 0.0


_NOTHING = Kernel(score=score_pointer(_no_score), parameters=np.zeros(0))


def weighted_kernel(profile: Profile, find: Find) -> Kernel | None:
    """Return the kernel of a profile.

    None where a part has no kernel, or scores relative to other nodes.

    Parameters
    ----------
    find : function(policy)
        Returns the kernel of a part.
    """
    if profile.filters() or type(profile).candidates is not PlacementPolicy.candidates:
        return None
    kernels = []
    for part in profile.parts:
        kernel = find(part.policy) if not part.together and part.how == "of_hundred" else None
        if kernel is None or kernel.window or not _says_when_silent(part.policy, kernel):
            return None
        kernels.append((part, kernel))
    return weighted_sum(kernels)


def weighted_sum(parts: Sequence[tuple[Part, Kernel]]) -> Kernel:
    """Return the kernel of the weighted sum of parts."""
    made = _NOTHING
    for part, kernel in parts:
        made = _added(made, part, kernel)
    return made


def _says_when_silent(policy: PlacementPolicy, kernel: Kernel) -> bool:
    return bool(kernel.silent) or type(policy).skips is PlacementPolicy.skips


def _added(before: Kernel, part: Part, kernel: Kernel) -> Kernel:
    """The combination of the kernel of the first parts with that of the next part."""
    best = part.policy.best_score or FULL
    terms = _terms(before.terms, kernel.terms)
    follows = [one.recounts for one in (before, kernel) if one.placed is not None]
    head = [part.weight, FULL / best, len(before.parameters), terms is not None]
    return Kernel(
        score=_made(_score, SCORE, before.score, kernel.score),
        parameters=np.array(
            [*head, len(kernel.silent), *kernel.silent, *before.parameters, *kernel.parameters],
            dtype=np.float64,
        ),
        terms=terms,
        placed=_made(_placed, PLACED, before.placed or NO_PLACED, kernel.placed or NO_PLACED)
        if follows
        else None,
        recounts=all(follows),
        floats=before.floats
        or kernel.floats
        or best != FULL
        or not float(part.weight).is_integer(),
    )


@functools.cache
def _made(kernel: Any, signature: Any, before: Pointer, following: Pointer) -> Pointer:
    """A kernel with the functions of the two kernels in place of the placeholders."""
    given = {"_before": before.function, "_next": following.function}
    return Pointer(inside(kernel, **given), signature)


def _terms(before: Terms | None, following: Terms | None) -> Terms | None:
    """The terms of both kernels, below a row with the number of the first's; None without any."""
    if before is None and following is None:
        return None

    def both(snapshot: Snapshot) -> FloatArray:
        nodes = len(snapshot.capacity)
        none = np.zeros((0, nodes))
        parts: Sequence[FloatArray] = [
            none if one is None else one(snapshot) for one in (before, following)
        ]
        return np.concatenate([np.full((1, nodes), float(len(parts[0]))), *parts])

    return both


def default_kernel(
    policy: DefaultScheduler, resources: Sequence[str], allocatable: IntArray
) -> Kernel | None:
    """Return the default scheduler's kernel; None if one of its plugins has no kernel."""
    least, balanced = plugins(policy.balanced_allocation_form)
    one = formula_kernel(least, least.score_formula(), resources, allocatable)
    other = balance_kernel(balanced, resources, allocatable)
    if one is None or other is None:
        return None
    weighed = (
        (policy.least_allocated_weight, least, one),
        (policy.balanced_allocation_weight, balanced, other),
    )
    return dataclasses.replace(
        weighted_sum([(Part(weight, plugin), made) for weight, plugin, made in weighed if weight]),
        window=nodes_to_find(len(allocatable), policy.percentage_of_nodes_to_score),
    )
