"""Best fit, compiled."""

# ruff: noqa: ARG001 - kernels share one signature

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.fast.kernels import (
    REQUESTED,
    Kernel,
    KernelSource,
    bound_pointer,
    score_pointer,
)
from tracekit.replay.fast.kernels._shares import exact_in_doubles
from tracekit.replay.placement.best_fit import BestFit


def _score(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    ask: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    scores[:count] = 0.0
    for column in range(2):
        scale, asked = parameters[1 + column], ask[1, column]
        size, taken = state[0, column], state[1, column]
        for at in range(count):
            left = size[at] - taken[at] - asked
            scores[at] -= left / size[at] if parameters[0] == 1.0 else left * scale


def _bound(
    boxes: IntArray,
    ranges: FloatArray,
    count: int,
    first: IntArray,
    ask: IntArray,
    parameters: FloatArray,
    bounds: FloatArray,
) -> None:
    """The least that a node of a box with room could have left over."""
    bounds[:count] = 0.0
    for column in range(2):
        scale, asked = parameters[1 + column], ask[1, column]
        taken, size = boxes[1, column], boxes[2, column]
        for at in range(count):
            left = max(size[at] - taken[at] - asked, 0)
            share = left / max(size[at], 1)
            bounds[at] -= share if parameters[0] == 1.0 else left * scale


_SCORE, _BOUND = score_pointer(_score), bound_pointer(_bound)


def _make(policy: BestFit, resources: Sequence[str], allocatable: IntArray) -> Kernel | None:
    small = allocatable[:, 0].max() < 2**32 and exact_in_doubles(allocatable[:, :2])
    if not small:
        return None
    return Kernel(
        score=_SCORE,
        bound=_BOUND,
        parameters=np.array([policy.leftover == "fraction", 2.0**20, 1.0]),
        scored=REQUESTED,
        floats=policy.leftover == "fraction",
    )


KERNEL = KernelSource(make=_make)
