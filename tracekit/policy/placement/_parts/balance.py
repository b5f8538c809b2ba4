"""How evenly resources are requested, in the forms kubernetes has had.

Sources: kubernetes noderesources/balanced_allocation.go of v1.35 and, for v1_36, the text of its
pull request 135573; priorities/balanced_resource_allocation.go of v1.17. Fractions have shape
(resources, candidates), NaN where a resource does not count.
"""

from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.policy.placement._parts.formula import Formula


def balance(fractions: FloatArray) -> IntArray:
    """``trunc(100 * (1 - deviation))``, 50..100."""
    return np.asarray(of_deviation(deviation(fractions))).astype(np.int64)


def balance_change(fractions: FloatArray, before: FloatArray) -> IntArray:
    """``50 + (50 + S - S0) div 2`` with the scores S with and S0 without the container."""
    return 50 + (50 + balance(fractions) - balance(before)) // 2


def deviation(fractions: FloatArray) -> FloatArray:
    """Population deviation over the resources that count; half the distance where two do.

    The two forms are equal in exact arithmetic; upstream takes the short one, and its last bit
    decides where truncation falls.
    """
    if len(fractions) == 2:
        apart = half(fractions[0] - fractions[1])
        if not np.isnan(apart).any():
            return np.asarray(apart)
    counted = ~np.isnan(fractions)
    number = counted.sum(axis=0)
    values = np.where(counted, fractions, 0.0)
    mean = np.divide(values.sum(axis=0), number, out=np.zeros(number.shape), where=number > 0)
    squares = np.where(counted, np.square(values - mean), 0.0).sum(axis=0)
    general = np.sqrt(squares / np.maximum(number, 1))
    high = np.where(counted, fractions, -np.inf).max(axis=0, initial=-np.inf)
    low = np.where(counted, fractions, np.inf).min(axis=0, initial=np.inf)
    pair = np.where(number == 2, half(high - low), 0.0)
    return np.where(number == 2, pair, np.where(number > 2, general, 0.0))


def legacy_balance(
    cpu: FloatArray, memory: FloatArray, volumes: FloatArray, max_score: int
) -> IntArray:
    """``trunc((1 - |cpu - memory|) * max_score)``; 0 where a fraction is 1 or more.

    Where volumes count, the variance of the three stands for the distance.
    """
    three = ~np.isnan(volumes)
    third = np.where(three, volumes, 0.0)
    mean = (cpu + memory + third) / 3
    variance = (np.square(cpu - mean) + np.square(memory - mean) + np.square(third - mean)) / 3
    apart = np.where(three, variance, np.abs(cpu - memory))
    full = (cpu >= 1) | (memory >= 1) | (third >= 1)
    kept = np.where(full, 0.0, (1 - apart) * max_score)
    return np.trunc(kept).astype(np.int64)


# The formulas, for arrays and, compiled, for numbers: see ``placement/_parts/formula.py``.


def of_deviation(deviation: Any) -> Any:
    """The score, 50..100, by the deviation of the fractions."""
    return np.trunc((1.0 - deviation) * 100.0)


def half(apart: Any) -> Any:
    """The deviation of two fractions by their difference."""
    return np.abs(apart) / 2


def pair_balance(apart: Any, weights: Any) -> Any:  # noqa: ARG001
    """The score of two fractions by their difference."""
    return of_deviation(half(apart))


def requested_share(size: Any, wanted: Any) -> Any:
    """Requested of a resource with the container, as a fraction of a size above 0; 1 at most."""
    return np.minimum(wanted / size, 1.0)


def of_pair(one: str, other: str) -> Formula:
    """The balance of two resources of which each node has something, as a formula."""
    return Formula(
        part=requested_share,
        resources=((one, 1), (other, -1)),
        total=pair_balance,
        better="alike",
    )
