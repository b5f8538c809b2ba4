"""Most requested, compiled."""

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
from tracekit.replay.fast.kernels._shares import exact_in_doubles
from tracekit.replay.placement.most_requested import MostRequested


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
        asked, size, taken = ask[2, column], state[0, column], state[2, column]
        for at in range(count):
            amount = (taken[at] + asked) if taken[at] + asked <= size[at] else 0
            scores[at] += np.floor(amount * parameters[0] / size[at])
    for at in range(count):
        scores[at] = np.floor(scores[at] / 2.0)


def _bound(
    boxes: IntArray,
    ranges: FloatArray,
    count: int,
    first: IntArray,
    ask: IntArray,
    parameters: FloatArray,
    bounds: FloatArray,
) -> None:
    """What the fullest node of the least size would score, were it not too full."""
    bounds[:count] = 0.0
    for column in range(2):
        asked = ask[2, column]
        taken, size = boxes[1, column], boxes[2, column]
        for at in range(count):
            amount = taken[at] + asked
            bounds[at] += np.floor(amount * parameters[0] / max(size[at], 1))
    for at in range(count):
        bounds[at] = np.floor(bounds[at] / 2.0)


_SCORE, _BOUND = score_pointer(_score), bound_pointer(_bound)


def _make(policy: MostRequested, resources: Sequence[str], allocatable: IntArray) -> Kernel | None:
    if policy.max_score > 100 or not exact_in_doubles(allocatable[:, :2]):
        return None
    return Kernel(
        score=_SCORE,
        bound=_BOUND,
        parameters=np.array([policy.max_score], dtype=np.float64),
        scored=NONZERO,
    )


KERNEL = KernelSource(make=_make)
