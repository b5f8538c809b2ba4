"""Kernels of policies with a formula, and of first fit.

The functions of a formula are compiled into one loop over the nodes.
"""

# ruff: noqa: ARG001 - kernels share one signature

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.jit import BOUND, SCORE, NotCompiledError, Pointer, inlined
from tracekit.base.units import EXACT_TO
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.placement._parts.formula import Formula, least_apart
from tracekit.policy.placement._parts.requested import of_pair
from tracekit.policy.placement.baselines import FirstFit
from tracekit.policy.placement.node_resources import BalancedAllocation
from tracekit.policy.placement.requested import ALIKE, Bra
from tracekit.replay.fast.kernels import NONZERO, REQUESTED, Kernel, inside, pointers, weight_table

#: Placeholders in the kernels below for the functions of a formula.
_part: Any = None
_total: Any = None


def _score(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    amounts: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    _weighted(state[0], state[int(parameters[0])], False, count, amounts, parameters, scores)


def _bound(
    boxes: IntArray,
    ranges: FloatArray,
    count: int,
    first: IntArray,
    amounts: IntArray,
    parameters: FloatArray,
    bounds: FloatArray,
) -> None:
    """The score at the best corner of each box."""
    fuller = int(parameters[1])
    _weighted(boxes[3 - fuller], boxes[fuller], True, count, amounts, parameters, bounds)


def _weighted(
    sizes: IntArray,
    takens: IntArray,
    cut: bool,
    count: int,
    amounts: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    """The score by sizes and sums; with ``cut`` a sum counts up to the size only."""
    sums, rows = int(parameters[0]), 3 + int(parameters[2])
    constants, weights = parameters[3:rows], 0.0
    scores[:count] = 0.0
    for row in range(rows, len(parameters), 3):
        column, weight = int(parameters[row]), parameters[row + 1]
        amount = amounts[sums, column]
        if parameters[row + 2] == 1.0 and amount == 0:
            continue
        weights += weight
        size, taken = sizes[column], takens[column]
        for at in range(count):
            wanted = taken[at] + amount
            wanted = min(wanted, size[at]) if cut else wanted
            scores[at] += weight * _part(size[at], wanted, constants)
    for at in range(count):
        scores[at] = _total(scores[at], weights)


def _score_alike(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    amounts: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    """As ``_score`` for two resources with the weights 1 and -1, in one pass over the nodes."""
    sums, rows = int(parameters[0]), 3 + int(parameters[2])
    constants = parameters[3:rows]
    one, other = int(parameters[rows]), int(parameters[rows + 3])
    for at in range(count):
        first = _part(state[0, one, at], state[sums, one, at] + amounts[sums, one], constants)
        second = _part(
            state[0, other, at], state[sums, other, at] + amounts[sums, other], constants
        )
        scores[at] = _total(first - second, 0.0)


def _bound_alike(
    boxes: IntArray,
    ranges: FloatArray,
    count: int,
    first: IntArray,
    amounts: IntArray,
    parameters: FloatArray,
    bounds: FloatArray,
) -> None:
    """The score at the least distance between the parts of two resources in each box."""
    sums, rows = int(parameters[0]), 3 + int(parameters[2])
    constants = parameters[3:rows]
    one, other = int(parameters[rows]), int(parameters[rows + 3])
    for at in range(count):
        low = _part(boxes[3, one, at], boxes[0, one, at] + amounts[sums, one], constants)
        high = _part(boxes[2, one, at], boxes[1, one, at] + amounts[sums, one], constants)
        below = _part(boxes[3, other, at], boxes[0, other, at] + amounts[sums, other], constants)
        above = _part(boxes[2, other, at], boxes[1, other, at] + amounts[sums, other], constants)
        bounds[at] = _total(least_apart(low, high, below, above), 0.0)


def formula_kernel(
    policy: PlacementPolicy, formula: Formula, resources: Sequence[str], allocatable: IntArray
) -> Kernel | None:
    """Return the kernel of a policy's formula; None if its integers are too large for doubles.

    Raises
    ------
    TracekitError
        When the formula cannot be compiled.
    """
    table = weight_table(formula.resources, resources, allocatable)
    if table is None or not _exact(table, formula.constants, allocatable):
        return None
    sums = NONZERO if formula.nonzero else REQUESTED
    head = (sums, formula.better == "fuller", len(formula.constants))
    one = np.ones((len(formula.resources), 1), np.int64)
    score, bound = _score, _bound if formula.better else None
    if formula.better == "alike":
        # the kernel of two resources needs both, counted for every container
        both = len(table) == 6 and not table[2::3].any()
        score, bound = (_score_alike, _bound_alike) if both else (_score, None)
    made = functools.partial(_made, formula.part, formula.total, bool(formula.constants))
    try:
        return Kernel(
            score=made(score, SCORE),
            bound=made(bound, BOUND) if bound else None,
            parameters=np.array([*head, *formula.constants, *table], dtype=np.float64),
            scored=sums,
            floats=formula.value(one, one).dtype.kind == "f",
        )
    except NotCompiledError as error:
        raise TracekitError(
            f"policy {policy.name()}: its formula cannot be compiled: {error}",
            hint="a formula is arithmetic of numbers and numpy's functions of them; a policy that"
            " needs more writes 'score' instead",
        ) from error


def _exact(table: FloatArray, constants: tuple[float, ...], allocatable: IntArray) -> bool:
    """Whether weighted amounts and their sum are exact in doubles."""
    columns, weights = table[::3].astype(np.int64), table[1::3]
    largest = allocatable[:, columns].max(axis=0)
    return bool((largest * np.maximum(weights, max(constants, default=1))).sum() < EXACT_TO)


@functools.cache
def _made(part: Any, total: Any, constants: bool, kernel: Any, signature: Any) -> Pointer:
    """A kernel with the functions of a formula in place of the placeholders."""
    given = part if constants else inside(_without_constants, _part=part)
    functions = {"_part": given, "_total": total}
    weighted = inlined(inside(_weighted, **functions))
    return Pointer(inside(kernel, **functions, _weighted=weighted), signature)


def _without_constants(size: int, wanted: int, constants: FloatArray) -> Any:
    return _part(size, wanted)


def bra_kernel(policy: Bra, resources: Sequence[str], allocatable: IntArray) -> Kernel | None:
    """Return the kernel of BRA in the paper's form; None for its integer forms."""
    if policy.variant != "paper":
        return None
    return formula_kernel(policy, ALIKE, resources, allocatable)


def balance_kernel(
    policy: BalancedAllocation, resources: Sequence[str], allocatable: IntArray
) -> Kernel | None:
    """Return the kernel for the form of Kubernetes 1.22 to 1.35 and two resources; else None.

    Both resources must count for every container, whether it requests them or not.
    """
    table = weight_table(policy.resources, resources, allocatable)
    if policy.form != "v1_22" or table is None or len(table) != 6 or table[2::3].any():
        return None
    columns = tuple(table[::3].astype(np.int64).tolist())
    formula = of_pair(*(resources[at] for at in columns))
    made = formula_kernel(policy, formula, resources, allocatable)
    # scores are whole numbers, and containers without requests for both resources are skipped
    return made and dataclasses.replace(made, floats=False, silent=columns)


def _score_first(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    ask: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    scores[:count] = -positions[:count]


def _bound_first(
    boxes: IntArray,
    ranges: FloatArray,
    count: int,
    first: IntArray,
    ask: IntArray,
    parameters: FloatArray,
    bounds: FloatArray,
) -> None:
    for at in range(count):
        bounds[at] = -first[at]


_first_fit = functools.cache(pointers)


def first_fit_kernel(policy: FirstFit, resources: Sequence[str], allocatable: IntArray) -> Kernel:
    """Return the kernel of first fit, which covers every cluster."""
    score, bound = _first_fit(_score_first, _bound_first)
    return Kernel(score=score, bound=bound, parameters=np.zeros(1), scored=REQUESTED)
