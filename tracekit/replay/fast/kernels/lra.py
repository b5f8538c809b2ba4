"""LRA, compiled: the form of the paper."""

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
from tracekit.replay.placement.lra import Lra


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
        asked, size, taken = ask[1, column], state[0, column], state[1, column]
        for at in range(count):
            scores[at] += 10.0 * (size[at] - taken[at] - asked) / size[at]
    for at in range(count):
        scores[at] /= 2.0


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
    bounds[:count] = 0.0
    for column in range(2):
        asked, taken, size = ask[1, column], boxes[0, column], boxes[3, column]
        for at in range(count):
            bounds[at] += 10.0 * (size[at] - taken[at] - asked) / max(size[at], 1)
    for at in range(count):
        bounds[at] /= 2.0


_SCORE, _BOUND = score_pointer(_score), bound_pointer(_bound)


def _make(policy: Lra, resources: Sequence[str], allocatable: IntArray) -> Kernel | None:
    if policy.variant != "paper" or not exact_in_doubles(allocatable[:, :2]):
        return None
    return Kernel(
        score=_SCORE,
        bound=_BOUND,
        parameters=np.zeros(1),
        scored=REQUESTED,
        floats=True,
    )


KERNEL = KernelSource(make=_make)
