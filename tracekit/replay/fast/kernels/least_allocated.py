"""Least allocated, compiled."""

# ruff: noqa: ARG001 - kernels share one signature

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.fast.kernels import (
    NONZERO,
    Kernel,
    KernelSource,
    bound_pointer,
    score_pointer,
)
from tracekit.replay.fast.kernels._shares import weight_table
from tracekit.replay.placement.least_allocated import LeastAllocated


def _score(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    ask: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    weights = 0.0
    scores[:count] = 0.0
    for row in range(len(parameters) // 3):
        column, weight = int(parameters[3 * row]), parameters[3 * row + 1]
        asked = ask[2, column]
        if parameters[3 * row + 2] == 1.0 and asked == 0:
            continue
        weights += weight
        size, taken = state[0, column], state[2, column]
        for at in range(count):
            amount = max(size[at] - taken[at] - asked, 0)
            scores[at] += weight * np.floor(amount * 100.0 / size[at])
    for at in range(count):
        scores[at] = np.floor(scores[at] / max(weights, 1.0))


def _bound(
    boxes: IntArray,
    ranges: FloatArray,
    count: int,
    first: IntArray,
    ask: IntArray,
    parameters: FloatArray,
    bounds: FloatArray,
) -> None:
    """The score of the emptiest node of the largest size a box could hold."""
    weights = 0.0
    bounds[:count] = 0.0
    for row in range(len(parameters) // 3):
        column, weight = int(parameters[3 * row]), parameters[3 * row + 1]
        asked = ask[2, column]
        if parameters[3 * row + 2] == 1.0 and asked == 0:
            continue
        weights += weight
        taken, size = boxes[0, column], boxes[3, column]
        for at in range(count):
            amount = max(size[at] - taken[at] - asked, 0)
            bounds[at] += weight * np.floor(amount * 100.0 / max(size[at], 1))
    for at in range(count):
        bounds[at] = np.floor(bounds[at] / max(weights, 1.0))


_SCORE, _BOUND = score_pointer(_score), bound_pointer(_bound)


def _make(policy: LeastAllocated, resources: Sequence[str], allocatable: IntArray) -> Kernel | None:
    table = weight_table(policy.resources, resources, allocatable)
    if table is None:
        return None
    return Kernel(score=_SCORE, bound=_BOUND, parameters=table, scored=NONZERO)


KERNEL = KernelSource(make=_make)
