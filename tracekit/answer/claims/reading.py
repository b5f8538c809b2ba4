"""Readings: a number for a claim, with its interval and its number of samples."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tracekit.analysis.metrics import NORMAL_95
from tracekit.base.arrays import FloatArray
from tracekit.replay.chance import errors_of


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A measured number by which a claim is judged, with its 95 % interval.

    Parameters
    ----------
    value, low, high : float, optional
        The number and the ends of its interval. The value is None where it is unknown; the ends are
        None where nothing is random.
    samples : int
        The number of samples; the claim says what a sample is.
    met : bool
        Whether the claim's precondition is met.
    worse : float, optional
        For a share of won comparisons: the share of lost ones.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    samples: int = 0
    met: bool = True
    worse: float | None = None


def mean_of(values: ArrayLike, *, met: bool = True) -> Reading:
    """Return the mean of values with its 95 % interval by Student's t; NaN values are left out."""
    given = np.asarray(values, np.float64)
    finite = given[np.isfinite(given)]
    return ratio_of(finite, np.ones(len(finite)), met=met)


def ratio_of(totals: FloatArray, weights: FloatArray, *, met: bool = True) -> Reading:
    """Return the sum of ``totals`` over the sum of ``weights``, with its 95 % interval.

    Parameters
    ----------
    totals, weights : float64, shape (units,)
        For each unit, such as a node, the sum and the number of its values; units are the samples.
    """
    units, whole = len(weights), float(weights.sum())
    if not whole:
        return Reading()
    value = float(totals.sum()) / whole
    if units < 2:
        return Reading(value=value, samples=units, met=met)
    off = totals - value * weights
    error = float(np.sqrt(units / (units - 1) * np.square(off).sum())) / whole
    half = errors_of(units, 1) * error
    return Reading(value=value, low=value - half, high=value + half, samples=units, met=met)


def share_of(hits: int, units: int, *, scale: float = 1.0) -> Reading:
    """Return ``scale * hits / units``, with Wilson's 95 % interval.

    With no units the reading has no value.
    """
    if not units:
        return Reading()
    value, low, high = (scale * one for one in _wilson(hits, units))
    return Reading(value=value, low=low, high=high, samples=units)


def difference_of_shares(first: tuple[int, int], second: tuple[int, int]) -> Reading:
    """Return the difference of two shares, each (hits, units), with Newcombe's 95 % interval."""
    fewest = min(first[1], second[1])
    if not fewest:
        return Reading(samples=fewest)
    (p, p_low, p_high), (q, q_low, q_high) = _wilson(*first), _wilson(*second)
    return Reading(
        value=p - q,
        low=p - q - float(np.hypot(p - p_low, q_high - q)),
        high=p - q + float(np.hypot(p_high - p, q - q_low)),
        samples=fewest,
    )


def difference_of_means(first: FloatArray, second: FloatArray) -> Reading:
    """Return the first mean less the second, with a 95 % interval by Welch's t.

    The degrees of freedom are those of the smaller group.
    """
    one, other = mean_of(first), mean_of(second)
    fewest = min(one.samples, other.samples)
    if one.value is None or other.value is None:
        return Reading(samples=fewest)
    apart = one.value - other.value
    if one.high is None or other.high is None:
        return Reading(value=apart, samples=fewest)
    half = float(np.hypot(one.high - one.value, other.high - other.value))
    return Reading(value=apart, low=apart - half, high=apart + half, samples=fewest)


def correlation_of(one: FloatArray, other: FloatArray, *, by_rank: bool = False) -> Reading:
    """Return the correlation of two arrays, with its 95 % interval by Fisher's z.

    It is Pearson's, or with ``by_rank`` Spearman's.
    """
    finite = np.isfinite(one) & np.isfinite(other)
    one, other = one[finite], other[finite]
    if len(one) < 4 or not np.ptp(one) or not np.ptp(other):
        return Reading(samples=len(one))
    if by_rank:
        one, other = _ranks(one), _ranks(other)
    value = float(np.corrcoef(one, other)[0, 1])
    half = NORMAL_95 / np.sqrt(len(one) - 3)
    z = np.arctanh(np.clip(value, -1 + 1e-12, 1 - 1e-12))
    low, high = float(np.tanh(z - half)), float(np.tanh(z + half))
    return Reading(value=value, low=low, high=high, samples=len(one))


def _ranks(values: FloatArray) -> FloatArray:
    from scipy.stats import rankdata  # noqa: PLC0415 - slow to import

    return np.asarray(rankdata(values), np.float64)


def _wilson(hits: int, units: int) -> tuple[float, float, float]:
    z2 = NORMAL_95**2
    share = hits / units
    middle = (share + z2 / (2 * units)) / (1 + z2 / units)
    half = np.sqrt(z2 * (share * (1 - share) + z2 / (4 * units)) / units) / (1 + z2 / units)
    return share, max(float(middle - half), 0.0), min(float(middle + half), 1.0)
