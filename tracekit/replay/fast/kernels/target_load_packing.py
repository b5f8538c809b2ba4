"""Target load packing, compiled."""

# ruff: noqa: ARG001 - kernels share one signature

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.policy.placement.load_aware import (
    TargetLoadPacking,
    expected_milli,
    packing,
    then_percent,
)
from tracekit.policy.view.snapshot import Snapshot
from tracekit.replay.fast.kernels import (
    REQUESTED,
    SLACK,
    ZERO_FROM,
    ZERO_VIEW,
    Kernel,
    half_away,
    inside,
    nobody,
    placed_pointer,
    pointers,
)

#: The number of views: the fraction of the capacity in use before the container.
_VIEWS = 1


def _expected(amounts: IntArray, parameters: FloatArray) -> Any:
    """The expected CPU of a container, in millicores."""
    return expected_milli(amounts[1, 0], amounts[0, 0], parameters[1], parameters[2])


def _score(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    amounts: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    """The scores of nodes.

    Terms after the view: millicores in use, millicores placed since the measurement, capacity.
    """
    target, pod = parameters[0], _expected(amounts, parameters)
    used, missing, capacity = terms[_VIEWS], terms[_VIEWS + 1], terms[_VIEWS + 2]
    for at in range(count):
        percent = then_percent(used[at], pod, missing[at], capacity[at])
        scores[at] = half_away(packing(percent, target))


def _bound(
    boxes: IntArray,
    ranges: FloatArray,
    count: int,
    first: IntArray,
    amounts: IntArray,
    parameters: FloatArray,
    bounds: FloatArray,
) -> None:
    """The score at the end of the range that is nearer to the target, or at the target.

    The score is a straight line on either side of the target.
    """
    target, pod = parameters[0], _expected(amounts, parameters)
    most = 100 * SLACK
    for at in range(count):
        low = 100 * (ranges[0, 0, at] + pod / max(boxes[3, 0, at], 1)) - most
        high = 100 * (ranges[1, 0, at] + pod / max(boxes[2, 0, at], 1)) + most
        best = packing(low, target)
        if low <= target:
            best = max(best, packing(min(high, target), target))
        bounds[at] = np.floor(best + 0.5 + most) if ranges[0, 0, at] < ZERO_FROM else 0.0


def _placed(
    terms: FloatArray, state: IntArray, node: int, amounts: IntArray, parameters: FloatArray
) -> None:
    terms[_VIEWS + 1, node] += _expected(amounts, parameters)
    if not np.isnan(terms[_VIEWS, node]):
        terms[0, node] = (terms[_VIEWS, node] + terms[_VIEWS + 1, node]) / terms[_VIEWS + 2, node]


_SCORE, _BOUND = pointers(inside(_score), inside(_bound))
_PLACED = placed_pointer(inside(_placed))


def _terms(policy: TargetLoadPacking, snapshot: Snapshot) -> FloatArray:
    every = np.arange(len(snapshot.capacity))
    parts = policy.explain(snapshot, nobody(snapshot), every)
    used, missing, capacity = parts["used_milli"], parts["missing_milli"], snapshot.capacity[:, 0]
    view = np.where(np.isnan(used), ZERO_VIEW, (used + missing) / capacity)
    return np.stack([view, used, missing, capacity])


def make(
    policy: TargetLoadPacking, resources: Sequence[str], allocatable: IntArray
) -> Kernel | None:
    """Return the kernel; None where some node has no CPU."""
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
        bound=_BOUND,
        scored=REQUESTED,
        terms=functools.partial(_terms, policy),
        views=_VIEWS,
        placed=_PLACED,
        whole=(0,),
    )
