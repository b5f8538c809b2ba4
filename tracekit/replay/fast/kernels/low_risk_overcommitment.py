"""Low risk overcommitment, compiled; the risk by load is cached by node: no pod changes it."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from scipy.special import cython_special

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.jit import compiled, get_cython_function_address, intrinsic, types
from tracekit.policy.placement._parts.load import mu_sigma, portion
from tracekit.policy.placement.low_risk_overcommitment import (
    NAMES,
    LowRiskOvercommitment,
    as_score,
    beyond_request,
    by_limit,
    load_shape,
    sample_deviation,
    together,
    within,
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

# The regularised incomplete beta function of scipy, called from compiled code. It is scipy's own
# machine code, so that the bits are those of ``scipy.special.betainc``.

_SIGNATURE = "double (double, double, double, int"


def betainc_address() -> int | None:
    """Return the address of scipy's ``betainc``; None where this scipy does not export it."""
    for name, capsule in cython_special.__pyx_capi__.items():
        if name.endswith("betainc") and _SIGNATURE in repr(capsule):
            return int(get_cython_function_address("scipy.special.cython_special", name))
    return None


@intrinsic  # type: ignore[misc]
def call_betainc(
    typing_context: Any,
    address: Any,
    alpha: Any,
    beta: Any,
    at: Any,
) -> Any:
    """Compile a call of ``betainc(alpha, beta, at)``, whose machine code is at ``address``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double, flag = ir.DoubleType(), ir.IntType(32)
        kind = ir.FunctionType(double, [double, double, double, flag])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        return builder.call(function, [*arguments[1:], ir.Constant(flag, 0)])

    return types.float64(types.int64, types.float64, types.float64, types.float64), generate


# ruff: noqa: ARG001 - kernels share one signature


#: The number of views: risk by load, limits and requests over capacity, of cpu, then of memory.
_VIEWS = 6


def _score(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    amounts: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    """The score of each node from its larger risk.

    Terms after the views: risk by load, mean and deviation of both resources; then 1 for a node
    with metrics.
    """
    if not (amounts[1, :2].any() or amounts[3, :2].any()):
        scores[:count] = 0.0
        return
    for at in range(count):
        scores[at] = -1.0
    for column in range(2):
        request, promised, weight = amounts[1, column], amounts[3, column], parameters[column]
        size, taken, limits = state[0, column], state[1, column], state[3, column]
        for at in range(count):
            wanted = within(taken[at] + request, size[at])
            limit = by_limit(wanted, limits[at] + promised, size[at])
            risk = together(limit, terms[_VIEWS + 3 * column, at], weight)
            scores[at] = max(scores[at], risk)
    for at in range(count):
        scores[at] = half_away(as_score(scores[at])) if terms[_VIEWS + 6, at] == 1.0 else 0.0


def _bound(
    boxes: IntArray,
    ranges: FloatArray,
    count: int,
    first: IntArray,
    amounts: IntArray,
    parameters: FloatArray,
    bounds: FloatArray,
) -> None:
    """The score of a node with the least value of every view and the largest size.

    The risk by limits rises with limits and requests, and falls with the size.
    """
    if not (amounts[1, :2].any() or amounts[3, :2].any()):
        bounds[:count] = 0.0
        return
    bounds[:count] = 0.0
    for column in range(2):
        request, promised, weight = amounts[1, column], amounts[3, column], parameters[column]
        loads, limits, takens = ranges[0, 3 * column : 3 * column + 3]
        largest = boxes[3, column]
        for at in range(count):
            size = float(max(largest[at], 1))
            wanted = min(takens[at] + request / size - SLACK, 1.0)
            limit = by_limit(wanted, limits[at] + promised / size - SLACK, 1.0)
            risk = together(limit, loads[at], weight) - SLACK
            risk = risk if loads[at] < ZERO_FROM else 1.0
            bounds[at] = max(bounds[at], risk)
    for at in range(count):
        bounds[at] = np.floor(as_score(min(bounds[at], 1.0)) + 0.5)


def _placed(
    terms: FloatArray, state: IntArray, node: int, amounts: IntArray, parameters: FloatArray
) -> None:
    """Compute the terms and views of a node anew from its present requests and limits."""
    measured = terms[_VIEWS + 6, node] == 1.0
    for column in range(2):
        row, view = _VIEWS + 3 * column, 3 * column
        size, limit = float(state[0, column, node]), float(state[3, column, node])
        terms[view + 1, node] = limit / size
        terms[view + 2, node] = state[1, column, node] / size
        if not np.isnan(terms[row, node]):
            taken = within(float(state[1, column, node]), size)
            mu, sigma = terms[row + 1, node], terms[row + 2, node]
            terms[row, node] = _load_risk(mu, sigma, taken, limit, size, parameters)
            if measured:
                terms[view, node] = terms[row, node]


def _load_risk(
    mu: float, sigma: float, taken: float, limit: float, size: float, parameters: FloatArray
) -> Any:
    """The risk by load of one node."""
    address = int(parameters[3])
    threshold, share = portion(taken, size), portion(limit, size)
    spread = sample_deviation(mu, sigma, parameters[2])
    alpha, beta = load_shape(mu, spread)
    below = _cumulative(address, alpha, beta, threshold)
    possible = _cumulative(address, alpha, beta, share)
    tied = (limit < size) & (taken <= limit)
    return beyond_request(mu, spread, alpha, threshold, below, share, possible, tied)


@compiled
def _cumulative(address: int, alpha: float, beta: float, at: float) -> float:
    if not (alpha > 0 and beta > 0 and np.isfinite(alpha) and np.isfinite(beta) and 0 <= at <= 1):
        return 0.0
    value: float = call_betainc(address, alpha, beta, at)
    return 0.0 if np.isnan(value) else value


_SCORE, _BOUND = pointers(inside(_score), inside(_bound))
_PLACED = placed_pointer(inside(_placed))


def _terms(policy: LowRiskOvercommitment, snapshot: Snapshot) -> FloatArray:
    every = np.arange(len(snapshot.capacity))
    parts, measured = (
        policy.explain(snapshot, nobody(snapshot), every),
        policy.has_metrics(snapshot, every),
    )
    views: list[FloatArray] = []
    rows: list[FloatArray] = []
    for column, name in enumerate(NAMES):
        capacity = snapshot.allocatable[:, column].astype(np.float64)
        load = policy.load(snapshot, every, column)
        used, deviation = load.amounts(capacity)
        risk = parts[f"{name}_by_load"]
        views += [np.where(measured, np.nan_to_num(risk), ZERO_VIEW)]
        views += [one[:, column] / capacity for one in (snapshot.limits, snapshot.requested)]
        rows += [risk, *mu_sigma(capacity, 0.0, used, deviation)]
    return np.stack([*views, *rows, measured.astype(np.float64)])


def make(
    policy: LowRiskOvercommitment, resources: Sequence[str], allocatable: IntArray
) -> Kernel | None:
    """Return the kernel; None if a node lacks cpu or memory, or scipy exports no ``betainc``."""
    address = betainc_address()
    if address is None or (allocatable[:, :2] <= 0).any():
        return None
    weights = [policy.limit_weight(name) for name in NAMES]
    # an address has 47 bits, which a double holds
    numbers = [*weights, policy.smoothing_window_size, address]
    return Kernel(
        score=_SCORE,
        parameters=np.array(numbers, dtype=np.float64),
        bound=_BOUND,
        scored=REQUESTED,
        terms=functools.partial(_terms, policy),
        views=_VIEWS,
        placed=_PLACED,
        recounts=True,
    )
