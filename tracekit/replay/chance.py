"""Student's intervals of means, and tests of many differences at once with Holm's correction.

A bootstrap is no alternative: with few orders of arrival, an extreme percentile of the resamples is
the largest or the smallest value, and cannot be corrected for many comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracekit.analysis.metrics import LEVEL
from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.base.constants import MATERIAL
from tracekit.replay.measures import Measure

#: The fewest repeats that may prove a difference: n repeats have one sign by chance in 2 / 2^n of
#: cases.
FEWEST = 6

#: Numbers that differ by less than this part of the larger one are equal: use has 32 bits.
DUST = 1e-6

#: Means are rounded to so many decimals, because sums of equal numbers differ by their order.
DECIMALS = 12


@dataclass(frozen=True, kw_only=True)
class Means:
    """Means with the limits of their 95 % intervals, shape (columns,) each; NaN where unknown."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, kw_only=True)
class Compared(Means):
    """Mean differences and the results of their tests, shape (columns,) each.

    The interval ``low`` to ``high`` of a column has the level of its corrected test.

    Parameters
    ----------
    p : float64
        The p of Student's two-sided t-test of each difference alone; NaN where nothing differs.
    p_corrected : float64
        The p after Holm's correction.
    separated : bool
        Whether the difference is beyond chance: significant after Holm's correction, and of one
        sign in nearly all repeats.
    """

    p: FloatArray
    p_corrected: FloatArray
    separated: BoolArray

    def part(self, at: slice, *, turned: bool = False) -> Compared:
        """Return the comparison of some columns; with ``turned`` all differences change sign."""
        mean, low, high = self.mean[at], self.low[at], self.high[at]
        if turned:
            # a unary minus would turn 0.0 into -0.0
            mean, low, high = 0.0 - mean, 0.0 - high, 0.0 - low
        return Compared(
            mean=mean,
            low=low,
            high=high,
            p=self.p[at],
            p_corrected=self.p_corrected[at],
            separated=self.separated[at],
        )


def means(samples: FloatArray, *, comparisons: int = 1) -> Means:
    """Return each column's mean with its 95 % interval after Student.

    For few repeats the interval covers the true mean in 0.82 to 0.87 of lognormal samples, in 0.89
    to 0.95 of bounded ones and in 0.94 to 0.96 of others. No other method tried covers 0.93 of all
    three (docs/benchmarks/chance.txt, made by bench/chance.py).

    Parameters
    ----------
    samples : float64, shape (repeats, columns)
    comparisons : int
        The number of intervals that must hold together (Bonferroni).

    Returns
    -------
    Means
        The limits are NaN for a single repeat.
    """
    count = len(samples)
    middle = samples.mean(axis=0)
    error = _error(samples, counted=False)
    reach = error * errors_of(count, comparisons)
    # the mean of values that are never negative is not below 0
    low = np.maximum(middle - reach, np.minimum(samples.min(axis=0), 0.0))
    return Means(mean=_round(middle), low=_round(low), high=_round(middle + reach))


def errors_of(count: int, comparisons: int) -> float:
    """Return half the width of a mean's 95 % interval, in standard errors (Student's t).

    The mean is of ``count`` repeats. ``comparisons`` intervals hold together (Bonferroni).
    """
    return float(quantile(count - 1, (1 - LEVEL) / max(comparisons, 1)))


@dataclass(frozen=True, kw_only=True)
class DifferenceStatistics:
    """Statistics of differences, from which ``judge`` tests them; shape (columns,) each.

    Parameters
    ----------
    mean, error : float64
        The mean difference and its standard error; NaN where unknown.
    freedom : float64
        Degrees of freedom of the error.
    differs : bool
        Whether any repeat has a difference.
    steady : bool
        Whether the test may call the difference significant: there are at least ``FEWEST`` repeats,
        and nearly all of paired ones have the same sign.
    """

    mean: FloatArray
    error: FloatArray
    freedom: FloatArray
    differs: BoolArray
    steady: BoolArray


def apart(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return ``one - other``, and 0 where they differ by rounding only (``DUST``)."""
    difference = one - other
    size = np.maximum(np.abs(one), np.abs(other))
    return np.where(np.abs(difference) <= DUST * size, 0.0, difference)


def paired(differences: FloatArray, once: BoolArray | None = None) -> DifferenceStatistics:
    """Return the statistics of differences that were taken repeat by repeat.

    Parameters
    ----------
    differences : float64, shape (repeats, columns)
        At least one repeat.
    once : bool, shape (columns,), optional
        Columns where all repeats are compared with one single value, as with production. This value
        varies by chance too, so the standard error is s * sqrt(1 + 1 / n), that of a prediction,
        and not s / sqrt(n). Here s is the standard deviation of the n repeats.
    """
    count, columns = differences.shape
    error = _error(differences, counted=True)
    return DifferenceStatistics(
        mean=differences.mean(axis=0),
        error=error if once is None else np.where(once, error * np.sqrt(count + 1.0), error),
        freedom=np.full(columns, count - 1.0),
        differs=np.asarray((np.abs(differences) > 0).any(axis=0)),
        steady=np.asarray((count >= FEWEST) & _of_one_sign(differences)),
    )


def unpaired(base: FloatArray, new: FloatArray) -> DifferenceStatistics:
    """Return the statistics of the new means minus the base means, without pairs (Welch 1947).

    Parameters
    ----------
    base, new : float64, shape (repeats, columns)
        The numbers of repeats may differ.
    """
    parts = [_error(one, counted=True) ** 2 for one in (base, new)]
    both = parts[0] + parts[1]
    below = sum(
        part**2 / max(len(one) - 1, 1) for part, one in zip(parts, (base, new), strict=True)
    )
    mean = new.mean(axis=0) - base.mean(axis=0)
    freedom = np.divide(both**2, below, out=np.full(len(mean), 1.0), where=np.asarray(below) > 0)
    enough = min(len(base), len(new)) >= FEWEST
    return DifferenceStatistics(
        mean=mean,
        error=np.sqrt(both),
        freedom=freedom,
        differs=np.asarray(mean != 0),
        steady=np.full(len(mean), enough),
    )


def compare(
    differences: FloatArray,
    *,
    first: BoolArray | None = None,
    once: BoolArray | None = None,
    looks: int = 1,
    left_out: tuple[int, int] = (0, 0),
) -> Compared:
    """Test which paired differences, shape (repeats, columns), are beyond chance.

    ``paired`` explains ``once``, ``judge`` explains ``first`` and ``looks``, ``holm`` explains
    ``left_out``.
    """
    if not len(differences):
        differences = np.zeros((1, differences.shape[1]))
    return judge(paired(differences, once), first=first, looks=looks, left_out=left_out)


def judge(
    *samples: DifferenceStatistics,
    first: BoolArray | None = None,
    looks: int = 1,
    left_out: tuple[int, int] = (0, 0),
) -> Compared:
    """Test which differences are beyond chance; the columns of all samples form one family.

    A difference is beyond chance if Student's t-test finds it after Holm's correction (Scandinavian
    Journal of Statistics 1979, 6(2)). A paired difference must also pass a sign test, so that a few
    outlying repeats do not make a difference. A column without any difference is not tested.

    Parameters
    ----------
    first : bool, shape (columns,), optional
        Columns that answer the question. They form a family of their own with four fifths of the
        error probability, so that many details do not hide the answer.
    looks : int
        The number of times that the test is made while repeats are added. Each look has an equal
        part of the error probability (Bonferroni).
    left_out : (int, int)
        See ``holm``.
    """
    mean, error, freedom = (
        np.concatenate([getattr(one, name) for one in samples])
        for name in ("mean", "error", "freedom")
    )
    differs, steady = (
        np.concatenate([getattr(one, name) for one in samples]) for name in ("differs", "steady")
    )
    tested = differs & np.isfinite(error)
    p = np.full(len(mean), np.nan)
    p[tested] = _tail(mean[tested], error[tested], freedom[tested])
    corrected, share = holm(p, tested, first, (1 - LEVEL) / looks, left_out)
    corrected = np.minimum(corrected * looks, 1.0)
    # a column without differences has an interval of width 0; one without a test has none
    reach = np.where(~differs & np.isfinite(mean), 0.0, error * quantile(freedom, share))
    separated = np.asarray(tested & (corrected <= 1 - LEVEL) & steady)
    # the interval excludes 0 exactly where the difference is beyond chance
    open_ = differs & ~separated
    low, high = mean - reach, mean + reach
    return Compared(
        mean=_round(mean),
        low=_round(np.where(open_, np.minimum(low, 0.0), low)),
        high=_round(np.where(open_, np.maximum(high, 0.0), high)),
        p=p,
        p_corrected=corrected,
        separated=separated,
    )


def quantile(freedom: FloatArray | float, outside: FloatArray | float) -> FloatArray:
    """Return Student's t quantile: half the width of an interval, in standard errors.

    ``outside`` is the probability to miss the true mean, ``freedom`` the degrees of freedom.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import

    degrees = np.asarray(freedom, dtype=np.float64)
    return np.asarray(stdtrit(np.where(degrees > 0, degrees, np.nan), 1 - np.asarray(outside) / 2))


def _error(samples: FloatArray, *, counted: bool) -> FloatArray:
    """The standard error of each mean; NaN for a single repeat.

    With ``counted`` the variance of whole numbers is at least 1/6: a count is exact to half a unit,
    and 1/6 is the variance of two roundings. Otherwise six equal counts would have no error.
    """
    count = len(samples)
    if count < 2:
        return np.full(samples.shape[1], np.nan)
    same = np.ptp(samples, axis=0) <= DUST * np.abs(samples).max(axis=0)
    variance = np.where(same, 0.0, samples.var(axis=0, ddof=1))
    if counted:
        variance = np.where(_whole(samples), np.maximum(variance, 1 / 6), variance)
    return np.asarray(np.sqrt(variance / count))


def _whole(samples: FloatArray) -> BoolArray:
    return np.asarray((samples == np.round(samples)).all(axis=0))


def _tail(mean: FloatArray, error: FloatArray, freedom: FloatArray) -> FloatArray:
    """The two-sided p of Student's t-test; 0 where all repeats have the same difference."""
    from scipy.special import stdtr  # noqa: PLC0415 - slow to import

    t = np.divide(np.abs(mean), error, out=np.full(len(mean), np.inf), where=error > 0)
    return np.asarray(2 * stdtr(freedom, -t))


def _of_one_sign(differences: FloatArray) -> BoolArray:
    """Whether the p of the sign test is at most 0.05; a repeat without a difference has no sign."""
    from scipy.special import bdtr  # noqa: PLC0415 - slow to import

    count = len(differences)
    ahead = np.maximum((differences > 0).sum(axis=0), (differences < 0).sum(axis=0))
    return np.asarray(2 * bdtr(count - ahead, count, 0.5) <= 1 - LEVEL)


def _round(values: FloatArray) -> FloatArray:
    return np.asarray(np.round(values, DECIMALS))


# Holm's correction of many comparisons, in one family or two.

#: The part of the error probability for the measures that answer the question.
_TO_ANSWERS = 0.8


def holm(
    p: FloatArray,
    tested: BoolArray,
    first: BoolArray | None,
    alpha: float,
    left_out: tuple[int, int] = (0, 0),
) -> tuple[FloatArray, FloatArray]:
    """Correct p for many comparisons by Holm's method, in one family or two.

    Parameters
    ----------
    tested : bool, shape (columns,)
        The columns that are comparisons.
    first : bool, shape (columns,), optional
        The columns that answer the question. They form a family, and the others form the second.
    alpha : float
        The error probability of both families together.
    left_out : (int, int)
        The number of comparisons that were dropped after earlier repeats, in the family of
        ``first`` and in the other one. They still count as comparisons, so that dropping some does
        not make the others significant.

    Returns
    -------
    float64, shape (columns,)
        The corrected p, to be compared with alpha in either family.
    float64, shape (columns,)
        The probability with which the interval of each column may miss.
    """
    if first is None:
        return _holm(p, tested, alpha, sum(left_out))
    corrected, share = np.full(len(p), np.nan), np.full(len(p), alpha)
    shares = (_TO_ANSWERS, 1 - _TO_ANSWERS)
    for part, of_all, more in zip((first, ~first), shares, left_out, strict=True):
        of_part, left = _holm(p, np.asarray(tested & part), alpha * of_all, more)
        corrected = np.where(tested & part, np.minimum(of_part / of_all, 1.0), corrected)
        share = np.where(part, left, share)
    return corrected, share


def _holm(
    p: FloatArray, tested: BoolArray, alpha: float, more: int
) -> tuple[FloatArray, FloatArray]:
    """Corrected p of one family, and the probability with which each interval may miss.

    The k-th smallest p of m is tested at alpha / (m - k + 1), up to the first that fails. All after
    it have the level of that one, so that an interval excludes 0 exactly where its test succeeds.
    ``more`` comparisons count in m.
    """
    corrected, share = np.full(len(p), np.nan), np.full(len(p), alpha)
    at = np.flatnonzero(tested)
    if len(at):
        order = at[np.argsort(p[at], kind="stable")]
        left = len(order) + more - np.arange(len(order))
        corrected[order] = np.minimum(np.maximum.accumulate(p[order] * left), 1.0)
        missed = np.flatnonzero(corrected[order] > alpha)
        stop = left[missed[0]] if len(missed) else 1 + more
        share[order] = alpha / np.maximum(left, stop)
    return corrected, share


# The least difference that counts, however certain it is.

#: Shares that differ by less are equal: a tenth of a percentage point; for measures of a resource
#: half a point.
_LEAST_SHARE, _LEAST_OF_RESOURCE = 0.001, 0.005


def too_near(measure: Measure, middles: Sequence[float]) -> str:
    """Return why ``middles``, one value a policy, differ too little to matter; '' if enough."""
    apart, least = max(middles) - min(middles), least_apart(measure)
    if apart < MATERIAL * max(map(abs, middles)):
        return f"policies differ by less than {MATERIAL:.0%}"
    return (
        f"policies differ by less than {100 * least:g} percentage points" if apart < least else ""
    )


def least_apart(measure: Measure) -> float:
    """Return the smallest difference of a share that matters; 0 for a measure that is no share."""
    if not measure.share:
        return 0.0
    return _LEAST_OF_RESOURCE if measure.per_resource else _LEAST_SHARE
