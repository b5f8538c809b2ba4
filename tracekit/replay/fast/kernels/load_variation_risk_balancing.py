"""Load variation risk balancing, compiled."""

# ruff: noqa: ARG001 - kernels share one signature

import functools
from collections.abc import Sequence

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.policy.placement._parts.load import portion
from tracekit.policy.placement.load_aware import (
    LoadVariationRiskBalancing,
    balanced,
    spread,
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
    pointers,
)

#: The number of views: the sum of mean and deviation, of cpu and of memory.
_VIEWS = 2

#: The view of a resource without a measurement where the other resource has one.
_NO_MATTER = -1.0


def _score(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    amounts: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    """The scores. Terms after the views: use and risk by deviation, of cpu, then of memory."""
    prose = parameters[0] == 1.0
    for at in range(count):
        lowest = np.nan
        for column in range(2):
            row = _VIEWS + 2 * column
            mu = portion(terms[row, at] + amounts[1, column], state[0, column, at])
            lowest = np.fmin(lowest, balanced(mu, terms[row + 1, at], prose))
        scores[at] = half_away(lowest)


def _bound(
    boxes: IntArray,
    ranges: FloatArray,
    count: int,
    first: IntArray,
    amounts: IntArray,
    parameters: FloatArray,
    bounds: FloatArray,
) -> None:
    """The score of a node with the least load in both resources and the largest size.

    The load is limited to the capacity.
    """
    prose = parameters[0] == 1.0
    bounds[:count] = 100.0
    for column in range(2):
        view, largest, amount = ranges[0, column], boxes[3, column], amounts[1, column]
        for at in range(count):
            load = min(max(view[at] + amount / max(largest[at], 1) - SLACK, 0.0), 1.0)
            best = balanced(load, 0.0, prose) if view[at] < ZERO_FROM else 0.0
            bounds[at] = min(bounds[at], best)
    for at in range(count):
        bounds[at] = np.floor(bounds[at] + 0.5)


_SCORE, _BOUND = pointers(inside(_score), inside(_bound))


def _terms(policy: LoadVariationRiskBalancing, snapshot: Snapshot) -> FloatArray:
    every, rows = np.arange(len(snapshot.allocatable)), []
    for column in range(2):
        capacity = snapshot.allocatable[:, column].astype(np.float64)
        load = policy.load(snapshot, every, column)
        used, deviation = load.amounts(capacity)
        sigma = spread(
            *(capacity, deviation),
            margin=policy.safe_variance_margin,
            sensitivity=policy.safe_variance_sensitivity,
        )
        rows += [np.clip(used, 0.0, capacity), sigma]
    return np.stack([*_views(rows, snapshot.allocatable), *rows])


def _views(rows: Sequence[FloatArray], allocatable: IntArray) -> FloatArray:
    """The sum of mean and deviation of each resource, as a fraction of the capacity."""
    views = np.stack([rows[2 * at] / allocatable[:, at] + rows[2 * at + 1] for at in range(2)])
    unknown = np.isnan(views)
    views[unknown] = _NO_MATTER
    views[:, unknown.all(axis=0)] = ZERO_VIEW
    return views


def make(
    policy: LoadVariationRiskBalancing, resources: Sequence[str], allocatable: IntArray
) -> Kernel | None:
    """Return the kernel; None where some node lacks cpu or memory."""
    if (allocatable[:, :2] <= 0).any():
        return None
    return Kernel(
        score=_SCORE,
        parameters=np.array([policy.formula == "prose"], dtype=np.float64),
        bound=_BOUND,
        scored=REQUESTED,
        terms=functools.partial(_terms, policy),
        views=_VIEWS,
    )
