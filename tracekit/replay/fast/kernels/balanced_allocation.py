"""Balanced allocation, compiled: of two resources, in the form of 1.22 to 1.35."""

# ruff: noqa: ARG001 - kernels share one signature

from collections.abc import Sequence

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.fast.kernels import REQUESTED, Kernel, KernelSource, pointers
from tracekit.replay.fast.kernels._parts import inside, least_gap, weight_table
from tracekit.replay.placement._parts.balance import of_deviation, pair_balance, requested_share
from tracekit.replay.placement.balanced_allocation import BalancedAllocation


def _score(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    ask: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    one, other = int(parameters[0]), int(parameters[1])
    for at in range(count):
        first = requested_share(state[1, one, at] + ask[1, one], state[0, one, at])
        second = requested_share(state[1, other, at] + ask[1, other], state[0, other, at])
        scores[at] = pair_balance(first, second)


def _bound(
    boxes: IntArray,
    ranges: FloatArray,
    count: int,
    first: IntArray,
    ask: IntArray,
    parameters: FloatArray,
    bounds: FloatArray,
) -> None:
    least_gap(boxes, int(parameters[0]), int(parameters[1]), count, ask, 1.0, bounds)
    for at in range(count):
        bounds[at] = of_deviation(bounds[at] / 2)


_SCORE, _BOUND = pointers(inside(_score), inside(_bound))


def _make(
    policy: BalancedAllocation, resources: Sequence[str], allocatable: IntArray
) -> Kernel | None:
    table = weight_table(policy.resources, resources, allocatable)
    if policy.form != "v1_22" or table is None or len(table) != 6 or table[2::3].any():
        return None
    columns = table[::3].copy()
    silent = tuple(columns.astype(np.int64).tolist())
    return Kernel(score=_SCORE, bound=_BOUND, parameters=columns, scored=REQUESTED, silent=silent)


KERNEL = KernelSource(make=_make)
