"""Load variation risk balancing, compiled."""

# ruff: noqa: ARG001 - kernels share one signature

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.fast.kernels import Kernel, KernelSource, score_pointer
from tracekit.replay.fast.kernels._rounding import half_away
from tracekit.replay.placement._trimaran import mu_sigma
from tracekit.replay.placement.load_variation_risk_balancing import LoadVariationRiskBalancing
from tracekit.replay.snapshot import Snapshot

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


def _score(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    ask: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    """Terms are amount used and risk by deviation, of cpu and then of memory."""
    prose = parameters[0] == 1.0
    for at in range(count):
        lowest = np.inf
        for column in range(2):
            used, sigma = terms[2 * column, at], terms[2 * column + 1, at]
            if not (np.isnan(used) or np.isnan(sigma)):
                mu = min(max((used + ask[1, column]) / state[0, column, at], 0.0), 1.0)
                risk = min(mu + sigma, 1.0) if prose else (mu + sigma) / 2
                lowest = min(lowest, (1 - risk) * 100)
        scores[at] = 0.0 if lowest == np.inf else half_away(lowest)


_SCORE = score_pointer(_score)


def _terms(policy: LoadVariationRiskBalancing, snapshot: Snapshot) -> FloatArray:
    every, rows = np.arange(len(snapshot.allocatable)), []
    root = policy.safe_variance_sensitivity
    for column in range(2):
        capacity = snapshot.allocatable[:, column].astype(np.float64)
        load = policy.load(snapshot, every, column)
        used, deviation = (
            np.clip(one * capacity / 100, 0.0, capacity) for one in (load.average, load.deviation)
        )
        _, sigma = mu_sigma(capacity, 0.0, used, deviation)
        sigma = np.power(sigma, 1 / root if root else math.inf)
        rows += [used, np.clip(policy.safe_variance_margin * sigma, 0.0, 1.0)]
    return np.stack(rows)


def _make(
    policy: LoadVariationRiskBalancing, resources: Sequence[str], allocatable: IntArray
) -> Kernel | None:
    if (allocatable[:, :2] <= 0).any():
        return None
    return Kernel(
        score=_SCORE,
        parameters=np.array([policy.formula == "prose"], dtype=np.float64),
        terms=functools.partial(_terms, policy),
    )


KERNEL = KernelSource(make=_make)
