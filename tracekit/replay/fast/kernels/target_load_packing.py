"""Target load packing, compiled."""

# ruff: noqa: ARG001 - kernels share one signature

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.fast.jit import compiled
from tracekit.replay.fast.kernels import Kernel, KernelSource, placed_pointer, score_pointer
from tracekit.replay.fast.kernels._rounding import half_away
from tracekit.replay.placement.target_load_packing import TargetLoadPacking
from tracekit.replay.snapshot import Container, Snapshot

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@compiled
def _expected(ask: IntArray, parameters: FloatArray) -> float:
    """CPU a container is expected to use: its limit, else its request times the factor."""
    if ask[0, 0] > 0:
        return float(ask[0, 0])
    return half_away(ask[1, 0] * parameters[2]) if ask[1, 0] > 0 else parameters[1]


def _score(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    ask: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    """Terms are millicores used, millicores placed too lately to show, and capacity."""
    target, pod = parameters[0], _expected(ask, parameters)
    above = 100.0 - target if target != 100.0 else 1.0
    for at in range(count):
        percent = 100 * (terms[0, at] + pod + terms[1, at]) / terms[2, at]
        if percent > 100:
            value = 0.0
        elif percent > target:
            value = target * (100 - percent) / above
        else:
            value = (100 - target) * percent / target + target
        scores[at] = half_away(value)


def _placed(
    terms: FloatArray, state: IntArray, node: int, ask: IntArray, parameters: FloatArray
) -> None:
    terms[1, node] += _expected(ask, parameters)


_SCORE, _PLACED = score_pointer(_score), placed_pointer(_placed)


def _terms(policy: TargetLoadPacking, snapshot: Snapshot) -> FloatArray:
    every, nothing = np.arange(len(snapshot.capacity)), np.zeros(len(snapshot.resources), np.int64)
    nobody = Container(id="", service="", request=nothing, nonzero_request=nothing, limit=nothing)
    parts = policy.explain(snapshot, nobody, every)
    return np.stack([parts["used_milli"], parts["missing_milli"], snapshot.capacity[:, 0]])


def _make(
    policy: TargetLoadPacking, resources: Sequence[str], allocatable: IntArray
) -> Kernel | None:
    if (allocatable[:, 0] <= 0).any():
        return None
    numbers = (
        policy.target_utilization,
        policy.default_requests_cpu_milli,
        policy.requests_multiplier,
    )
    return Kernel(
        score=_SCORE,
        parameters=np.array(numbers, dtype=np.float64),
        terms=functools.partial(_terms, policy),
        placed=_PLACED,
    )


KERNEL = KernelSource(make=_make)
