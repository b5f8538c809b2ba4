"""First fit, compiled."""

# ruff: noqa: ARG001 - kernels share one signature

from collections.abc import Sequence

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.policy.placement.baselines import FirstFit
from tracekit.replay.fast.kernels import REQUESTED, Kernel, pointers


def _score(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    ask: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    scores[:count] = -positions[:count]


def _bound(
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


_SCORE, _BOUND = pointers(_score, _bound)


def make(policy: FirstFit, resources: Sequence[str], allocatable: IntArray) -> Kernel | None:
    """The kernel, which covers every cluster."""
    return Kernel(score=_SCORE, bound=_BOUND, parameters=np.zeros(1), scored=REQUESTED)
