"""Combined-weight TOPSIS, compiled: all nodes with room are scored together.

The formulas are those of ``placement/_parts/weights``, which take sums and extremes of columns.
This kernel takes them block by block, in one pass over the nodes. Its sums have another order than
numpy's, and its logarithms another series. Both change the sixteenth digit; scores are compared
after rounding to the twelfth.
"""

from collections.abc import Sequence

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.jit import compiled, compiled_in_any_order
from tracekit.cluster.resources import column_of
from tracekit.policy.placement._parts.load import (
    left_of,
    measured_fraction,
    measured_or_requested,
    ratio,
)
from tracekit.policy.placement._parts.weights import (
    CRITERIA,
    combine,
    gain_of,
    nearness,
    of_gains,
    present,
)
from tracekit.policy.placement.several_resources import Cwt
from tracekit.policy.view.snapshot import Snapshot
from tracekit.replay.fast.kernels import Kernel, inside, score_pointer

#: The bits of a double: the length of the fraction, its mask, and the exponent of 0.5.
_FRACTION_BITS = 52
_FRACTION = (1 << _FRACTION_BITS) - 1
_HALF = np.int64(1022) << _FRACTION_BITS
_ROOT = 0.7071067811865476

#: ln 2 in two parts; whole multiples of the first are exact.
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10


@compiled
def logarithms(values: FloatArray) -> FloatArray:
    """Return the natural logarithm of each value, to about one unit in the last place.

    The result is 0 for values up to 1e-300. A value is ``2**e * m`` with m in 0.707..1.414, and
    ``ln m = 2 atanh((m - 1)/(m + 1))``, whose series has a ratio below 0.03.
    """
    bits = values.view(np.int64)
    logs = np.empty(len(values))
    fractions = np.empty(len(values), np.int64)
    exponents = np.empty(len(values))
    for at in range(len(values)):
        exponents[at] = (bits[at] >> _FRACTION_BITS) - 1022
        fractions[at] = (bits[at] & _FRACTION) | _HALF
    halves = fractions.view(np.float64)
    for at in range(len(values)):
        low = halves[at] < _ROOT
        m = halves[at] * 2.0 if low else halves[at]
        e = exponents[at] - 1.0 if low else exponents[at]
        s = (m - 1.0) / (m + 1.0)
        z = s * s
        series = 1.0 / 21.0
        series = series * z + 1.0 / 19.0
        series = series * z + 1.0 / 17.0
        series = series * z + 1.0 / 15.0
        series = series * z + 1.0 / 13.0
        series = series * z + 1.0 / 11.0
        series = series * z + 1.0 / 9.0
        series = series * z + 1.0 / 7.0
        series = series * z + 1.0 / 5.0
        series = series * z + 1.0 / 3.0
        value = e * _LN2_HIGH + (2.0 * s + (2.0 * s * z * series + e * _LN2_LOW))
        logs[at] = value if values[at] > 1e-300 else 0.0
    return logs


# ruff: noqa: ARG001 - kernels share one signature


#: The number of nodes in a block, so that its intermediate numbers stay in the cache.
_BLOCK = 512

_nearness = compiled_in_any_order(inside(nearness))


def _score(
    state: IntArray,
    positions: IntArray,
    count: int,
    terms: FloatArray,
    amounts: IntArray,
    parameters: FloatArray,
    scores: FloatArray,
) -> None:
    """The scores. Parameters: the judged weights, 1 for linear, and the columns of the criteria.

    Terms: the use of the resource of each criterion, then the capacity of nodes for each.
    """
    criteria = len(terms) // 2
    free, weights = np.empty((criteria, count)), np.zeros(criteria)
    ends = np.empty((criteria, 3))
    for criterion in range(criteria):
        column, row = int(parameters[criteria + 1 + criterion]), free[criterion]
        amount, total, x_ln_x = amounts[1, column], 0.0, 0.0
        ends[criterion] = 0.0, -np.inf, np.inf
        for start in range(0, count, _BLOCK):
            part = slice(start, min(start + _BLOCK, count))
            _free(
                terms[criteria + criterion, part],
                state[1, column, part],
                terms[criterion, part],
                amount,
                row[part],
            )
            total += row[part].sum()
            x_ln_x += _x_ln_x(row[part])
            _widen(row[part], ends[criterion])
        # of shares s = x / total the sum of s ln s is that of x ln x over total, less ln total
        if total > 0:
            weights[criterion] = gain_of(x_ln_x / total - np.log(total), count)
    weights = combine(parameters[:criteria], of_gains(weights), parameters[criteria] == 1.0)
    _closeness(free, weights, ends, scores)


def _free(
    size: FloatArray, requested: IntArray, used: FloatArray, amount: int, free: FloatArray
) -> None:
    """The fraction left after the placement; requests stand in for use without a measurement."""
    for at in range(len(free)):
        free[at] = left_of(
            ratio(measured_or_requested(used[at], requested[at]) + amount, size[at], 1.0)
        )


@compiled_in_any_order
def _x_ln_x(values: FloatArray) -> float:
    """Sum of ``x ln x``."""
    logs, total = logarithms(values), 0.0
    for at in range(len(values)):
        total += values[at] * logs[at]
    return total


@compiled_in_any_order
def _widen(values: FloatArray, ends: FloatArray) -> None:
    """Add values to the sum of squares, the highest and the lowest value so far.

    Numbers from 0 on have the order of their bits, and integers are compared many at once.
    """
    squares, bits = 0.0, values.view(np.int64)
    for at in range(len(values)):
        squares += values[at] * values[at]
    extremes = np.empty(2)
    extreme_bits = extremes.view(np.int64)
    high, low = bits[0], bits[0]
    for at in range(len(values)):
        high, low = max(high, bits[at]), min(low, bits[at])
    extreme_bits[0], extreme_bits[1] = high, low
    ends[0] += squares
    ends[1], ends[2] = max(ends[1], extremes[0]), min(ends[2], extremes[1])


@compiled
def _closeness(
    values: FloatArray, weights: FloatArray, ends: FloatArray, scores: FloatArray
) -> None:
    """The distance to the worst over the sum of the distances to the worst and to the best."""
    for start in range(0, values.shape[1], _BLOCK):
        part = slice(start, min(start + _BLOCK, values.shape[1]))
        _close_block(values[:, part], weights, ends, scores[part])


@compiled_in_any_order
def _close_block(
    values: FloatArray, weights: FloatArray, ends: FloatArray, scores: FloatArray
) -> None:
    to_best, to_worst = np.zeros(len(scores)), np.zeros(len(scores))
    for criterion in range(len(values)):
        row, squares = values[criterion], ends[criterion, 0]
        scale = weights[criterion] / np.sqrt(squares) if squares > 0 else weights[criterion]
        high, low = ends[criterion, 1], ends[criterion, 2]
        for at in range(len(row)):
            down, up = scale * (row[at] - high), scale * (row[at] - low)
            to_best[at] += down * down
            to_worst[at] += up * up
    for at in range(len(scores)):
        scores[at] = _nearness(np.sqrt(to_best[at]), np.sqrt(to_worst[at]))


_SCORE = score_pointer(inside(_score))


def _terms(snapshot: Snapshot) -> FloatArray:
    columns = list(present(snapshot).values())
    sizes = [snapshot.capacity[:, at].astype(np.float64) for at in columns]
    used = [measured_fraction(snapshot, at) * size for at, size in zip(columns, sizes, strict=True)]
    return np.stack([*used, *sizes])


def make(policy: Cwt, resources: Sequence[str], allocatable: IntArray) -> Kernel | None:
    """Return the kernel of CWT if its parameter ``ideal`` is 'observed', else None."""
    if policy.ideal != "observed":
        return None
    columns = [column_of(resources, name) for name in CRITERIA.values()]
    numbers = [policy.combine == "linear", *(column for column in columns if column is not None)]
    return Kernel(
        score=_SCORE,
        parameters=np.array(numbers, dtype=np.float64),
        terms=_terms,
        window=len(allocatable) + 1,
        each=policy.judged,
        floats=True,
    )
