"""BRA, compiled: the form of the paper."""

# ruff: noqa: ARG001 - kernels share one signature

from collections.abc import Sequence

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.fast.kernels import REQUESTED, Kernel, KernelSource, pointers
from tracekit.replay.fast.kernels._parts import exact_in_doubles, inside, least_gap
from tracekit.replay.placement._parts.paper import of_ten
from tracekit.replay.placement.bra import Bra


def _score(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    ask: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    for at in range(count):
        cpu = (state[1, 0, at] + ask[1, 0]) / state[0, 0, at]
        memory = (state[1, 1, at] + ask[1, 1]) / state[0, 1, at]
        scores[at] = of_ten(abs(cpu - memory))


def _bound(
    boxes: IntArray,
    ranges: FloatArray,
    count: int,
    first: IntArray,
    ask: IntArray,
    parameters: FloatArray,
    bounds: FloatArray,
) -> None:
    least_gap(boxes, 0, 1, count, ask, np.inf, bounds)
    for at in range(count):
        bounds[at] = of_ten(bounds[at])


_SCORE, _BOUND = pointers(inside(_score), inside(_bound))


def _make(policy: Bra, resources: Sequence[str], allocatable: IntArray) -> Kernel | None:
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
