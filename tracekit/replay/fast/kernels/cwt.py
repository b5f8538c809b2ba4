"""Combined-weight TOPSIS, compiled: all nodes with room together, by the best and worst found.

Sums over all nodes are taken in another order than numpy takes them, and logarithms by a series of
our own: both change the sixteenth digit, and scores are compared after rounding to the twelfth.
"""

# ruff: noqa: ARG001 - kernels share one signature

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.fast.jit import compiled, compiled_in_any_order
from tracekit.replay.fast.kernels import Kernel, KernelSource, score_pointer
from tracekit.replay.fast.kernels._logarithm import logarithms
from tracekit.replay.placement._criteria import CRITERIA, by_type, given, pod_type, present
from tracekit.replay.placement._measured import measured_fraction
from tracekit.replay.placement._weights import ahp
from tracekit.replay.placement.cwt import Cwt
from tracekit.replay.snapshot import Container, Snapshot

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

#: Entropy gains below this are rounding; closeness of rows that cannot be told apart.
_NOISE, _INDIFFERENT = 1e-12, 0.5


def _score(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    ask: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    """Parameters are the judged weights, 1 for linear, and the columns of the criteria."""
    criteria = len(terms)
    free, weights = np.empty((criteria, count)), np.empty(criteria)
    for criterion in range(criteria):
        column = int(parameters[criteria + 1 + criterion])
        _free(state[0, column], state[1, column], terms[criterion], ask[1, column], free[criterion])
        weights[criterion] = _gain(free[criterion])
    _combine(weights, parameters[:criteria], parameters[criteria] == 1.0)
    _closeness(free, weights, scores)


@compiled
def _free(
    size: IntArray, requested: IntArray, used: FloatArray, asked: int, free: FloatArray
) -> None:
    """The fraction left after placing; what is requested stands for use that was not measured."""
    for at in range(len(free)):
        amount = float(requested[at]) if np.isnan(used[at]) else used[at]
        left = 1.0 - (amount + asked) / size[at] if size[at] > 0 else 0.0
        free[at] = max(0.0, left)


@compiled_in_any_order
def _gain(values: FloatArray) -> float:
    """What a criterion tells by its entropy, 0 where that is rounding."""
    total = values.sum()
    if total <= 0:
        return 0.0
    entropy = 0.0
    shares = values / total
    logs = logarithms(shares)
    for at in range(len(shares)):
        entropy += shares[at] * logs[at]
    gain = 1.0 + entropy / np.log(len(values))
    return gain if gain >= _NOISE else 0.0


@compiled
def _combine(weights: FloatArray, judged: FloatArray, linear: bool) -> None:
    """Turn gains into weights, together with those of the judgements."""
    total = weights.sum()
    for at in range(len(weights)):
        weights[at] = weights[at] / total if total > 0 else 1.0 / len(weights)
    if linear:
        weights[:] = (judged + weights) / 2
        return
    weights *= judged
    total = weights.sum()
    weights[:] = weights / total if total > 0 else judged


@compiled_in_any_order
def _closeness(values: FloatArray, weights: FloatArray, scores: FloatArray) -> None:
    """Distance to the worst over the distances to worst and best; ``values`` is overwritten."""
    to_best, to_worst = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for criterion in range(len(values)):
        row, squares = values[criterion], 0.0
        for at in range(len(row)):
            squares += row[at] * row[at]
        length, high, low = np.sqrt(squares) if squares > 0 else 1.0, -np.inf, np.inf
        for at in range(len(row)):
            row[at] = weights[criterion] * (row[at] / length)
            high, low = max(high, row[at]), min(low, row[at])
        for at in range(len(row)):
            to_best[at] += (row[at] - high) * (row[at] - high)
            to_worst[at] += (row[at] - low) * (row[at] - low)
    for at in range(values.shape[1]):
        best, worst = np.sqrt(to_best[at]), np.sqrt(to_worst[at])
        scores[at] = worst / (best + worst) if best + worst > 0 else _INDIFFERENT


_SCORE = score_pointer(_score)


def _terms(snapshot: Snapshot) -> FloatArray:
    columns = present(snapshot).values()
    return np.stack([measured_fraction(snapshot, at) * snapshot.capacity[:, at] for at in columns])


def _judged(policy: Cwt, snapshot: Snapshot, container: Container) -> FloatArray:
    names = list(present(snapshot))
    if policy.judgements:
        return ahp(given(policy.judgements, names)).weights
    return ahp(by_type(pod_type(snapshot, container), names, policy.dominance)).weights


def _make(policy: Cwt, resources: Sequence[str], allocatable: IntArray) -> Kernel | None:
    if policy.ideal != "observed":
        return None
    columns = [resources.index(name) for name in CRITERIA.values() if name in resources]
    numbers = [policy.combine == "linear", *columns]
    return Kernel(
        score=_SCORE,
        parameters=np.array(numbers, dtype=np.float64),
        terms=_terms,
        window=len(allocatable) + 1,
        each=functools.partial(_judged, policy),
        floats=True,
    )


KERNEL = KernelSource(make=_make)
