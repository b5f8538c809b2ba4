"""Student's intervals of means, and of many paired differences at once, corrected after Holm.

Beyond a few orders of arrival a resampled percentile is no more than the largest or smallest
value, so that it cannot be corrected for many comparisons; Student's interval can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracekit.analysis.metrics import LEVEL
from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.replay.measures import Measure

#: Fewer repeats than this tell nothing: all of one sign happens by chance in 2 / 2^n of cases.
FEWEST = 6

#: Numbers nearer to one another than this part of the larger are the same: use is kept in 32 bits.
DUST = 1e-6

#: Means are rounded to these, so that equal numbers do not differ by the order of their sum.
DECIMALS = 12


@dataclass(frozen=True, kw_only=True)
class Means:
    """Means with the limits of their intervals, shape (columns,) each; NaN where unknown."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, kw_only=True)
class Compared(Means):
    """Mean differences, each with its interval at the level it was tested at.

    Parameters
    ----------
    p : float64
        Of each difference alone: Student's t, two-sided; NaN where nothing differs.
    p_corrected : float64
        After Holm: below 1 - level where the family lets it be told.
    separated : bool
        Where it is told: beyond chance after Holm, and of one sign in nearly all repeats.
    """

    p: FloatArray
    p_corrected: FloatArray
    separated: BoolArray

    def part(self, at: slice, *, turned: bool = False) -> Compared:
        """Some of the columns; ``turned`` the differences the other way round."""
        mean, low, high = self.mean[at], self.low[at], self.high[at]
        if turned:
            # 0 less it, for a minus would give -0.0
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
    """Student's interval of each column's mean.

    Of few repeats that are lognormal it covers 0.82 to 0.87 where 0.95 is stated, of bounded ones
    0.89 to 0.95, of others 0.94 to 0.96; no other way tried covers 0.93 of all (see
    docs/benchmarks/chance.txt, by bench/chance.py).

    Parameters
    ----------
    samples : float64, shape (repeats, columns)
    comparisons : int
        How many intervals are to hold together (Bonferroni).

    Returns
    -------
    Means
        Limits are NaN with one repeat.
    """
    count = len(samples)
    middle = samples.mean(axis=0)
    error = _error(samples, counted=False)
    reach = error * errors_of(count, comparisons)
    # no measure is below 0 whose values are not, whatever few of them say
    low = np.maximum(middle - reach, np.minimum(samples.min(axis=0), 0.0))
    return Means(mean=_round(middle), low=_round(low), high=_round(middle + reach))


def errors_of(count: int, comparisons: int) -> float:
    """How many standard errors the interval of a mean of so many repeats reaches to each side."""
    return float(quantile(count - 1, (1 - LEVEL) / max(comparisons, 1)))


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Differences that are to be judged, shape (columns,) each.

    Parameters
    ----------
    mean, error : float64
        Of the differences, and the standard error of that; NaN where it is not known.
    freedom : float64
        Degrees of freedom of the error.
    differs : bool
        Whether anything differs at all, in any repeat.
    steady : bool
        Whether a difference may be told: repeats are enough, and nearly all of one sign.
    """

    mean: FloatArray
    error: FloatArray
    freedom: FloatArray
    differs: BoolArray
    steady: BoolArray


def apart(one: FloatArray, other: FloatArray) -> FloatArray:
    """One's values less the other's, 0 where they differ by no more than how they are kept."""
    found = one - other
    size = np.maximum(np.abs(one), np.abs(other))
    return np.where(np.abs(found) <= DUST * size, 0.0, found)


def paired(differences: FloatArray, once: BoolArray | None = None) -> Sample:
    """Differences repeat by repeat, shape (repeats, columns); at least one repeat.

    Parameters
    ----------
    once : bool, shape (columns,), optional
        Where the other side is one draw that every repeat is held against, as production is. It
        varies as the repeats do, so that a policy that is production's own is told from it no more
        often than stated: the error is s * sqrt(1 + 1 / n), as of a prediction, not s / sqrt(n).
    """
    count, columns = differences.shape
    error = _error(differences, counted=True)
    return Sample(
        mean=differences.mean(axis=0),
        error=error if once is None else np.where(once, error * np.sqrt(count + 1.0), error),
        freedom=np.full(columns, count - 1.0),
        differs=np.asarray((np.abs(differences) > 0).any(axis=0)),
        steady=np.asarray((count >= FEWEST) & _of_one_sign(differences)),
    )


def unpaired(base: FloatArray, new: FloatArray) -> Sample:
    """The new means less those of the base, of repeats that are not the same (Welch 1947)."""
    parts = [_error(one, counted=True) ** 2 for one in (base, new)]
    both = parts[0] + parts[1]
    below = sum(
        part**2 / max(len(one) - 1, 1) for part, one in zip(parts, (base, new), strict=True)
    )
    mean = new.mean(axis=0) - base.mean(axis=0)
    freedom = np.divide(both**2, below, out=np.full(len(mean), 1.0), where=np.asarray(below) > 0)
    enough = min(len(base), len(new)) >= FEWEST
    return Sample(
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
    """Whether paired differences, shape (repeats, columns), are beyond chance.

    See ``judge`` for ``first`` and ``looks``, ``paired`` for ``once``, ``holm`` for ``left_out``.
    """
    if not len(differences):
        differences = np.zeros((1, differences.shape[1]))
    return judge(paired(differences, once), first=first, looks=looks, left_out=left_out)


def judge(
    *samples: Sample,
    first: BoolArray | None = None,
    looks: int = 1,
    left_out: tuple[int, int] = (0, 0),
) -> Compared:
    """Whether differences are beyond chance, all columns of all samples being one family.

    With ``first`` it is two: four fifths of what may go wrong are left to the columns that answer
    the question, so that many details beside them do not hide the answer.

    A difference is told where Student's t says so after Holm's correction (Scandinavian Journal of
    Statistics 1979, 6(2)), and, if it is paired, where it is of one sign in so many repeats that a
    sign test alone would say so: a few repeats that stand out do not make a difference. Columns in
    which nothing ever differs are no comparisons.

    Where it is looked several times, as repeats are added while nothing is told, each of ``looks``
    has an equal part of what may go wrong (Bonferroni): all of them together are wrong no more
    often than one would be.
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
    # of what never differs there is no doubt; of what is not tested there is no interval
    reach = np.where(~differs & np.isfinite(mean), 0.0, error * quantile(freedom, share))
    told = np.asarray(tested & (corrected <= 1 - LEVEL) & steady)
    # the interval is of both conditions: it leaves 0 out just where the difference is told
    open_ = differs & ~told
    low, high = mean - reach, mean + reach
    return Compared(
        mean=_round(mean),
        low=_round(np.where(open_, np.minimum(low, 0.0), low)),
        high=_round(np.where(open_, np.maximum(high, 0.0), high)),
        p=p,
        p_corrected=corrected,
        separated=told,
    )


def quantile(freedom: FloatArray | float, outside: FloatArray | float) -> FloatArray:
    """How many standard errors an interval reaches that leaves ``outside`` on both sides."""
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import

    known = np.asarray(freedom, dtype=np.float64)
    return np.asarray(stdtrit(np.where(known > 0, known, np.nan), 1 - np.asarray(outside) / 2))


def _error(samples: FloatArray, *, counted: bool) -> FloatArray:
    """The standard error of each mean; NaN with one repeat.

    A count is exact to half a unit, so the difference of two counts has a variance of at least that
    of two roundings, 1/6. Without it, six equal counts would have no error at all.
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
    """Two-sided p of Student's t; 0 where every repeat has the same difference."""
    from scipy.special import stdtr  # noqa: PLC0415 - slow to import

    t = np.divide(np.abs(mean), error, out=np.full(len(mean), np.inf), where=error > 0)
    return np.asarray(2 * stdtr(freedom, -t))


def _of_one_sign(differences: FloatArray) -> BoolArray:
    """True where the sign test alone is below 0.05; equal repeats do not count."""
    from scipy.special import bdtr  # noqa: PLC0415 - slow to import

    count = len(differences)
    ahead = np.maximum((differences > 0).sum(axis=0), (differences < 0).sum(axis=0))
    return np.asarray(2 * bdtr(count - ahead, count, 0.5) <= 1 - LEVEL)


def _round(values: FloatArray) -> FloatArray:
    return np.asarray(np.round(values, DECIMALS))


# Holm's correction of many comparisons, in one family or two.

#: Of the chance to be wrong anywhere, what is left to measures that answer the question.
_TO_ANSWERS = 0.8


def holm(
    p: FloatArray,
    tested: BoolArray,
    first: BoolArray | None,
    alpha: float,
    left_out: tuple[int, int] = (0, 0),
) -> tuple[FloatArray, FloatArray]:
    """P after Holm, of one family or two, and the share outside that each interval may have.

    Corrected p may be held to alpha in both families.

    Parameters
    ----------
    tested : bool
        The columns that are comparisons at all.
    first : bool, optional
        Those that answer the question: a family of their own.
    left_out : (int, int)
        So many more belong to the family of ``first``, and to the other, but were given up for what
        they showed. They count as comparisons that nothing is told of: who is left is not told
        apart more easily because others went.
    """
    if first is None:
        return _holm(p, tested, alpha, sum(left_out))
    corrected, share = np.full(len(p), np.nan), np.full(len(p), alpha)
    shares = (_TO_ANSWERS, 1 - _TO_ANSWERS)
    for part, of_all, more in zip((first, ~first), shares, left_out, strict=True):
        found, left = _holm(p, np.asarray(tested & part), alpha * of_all, more)
        corrected = np.where(tested & part, np.minimum(found / of_all, 1.0), corrected)
        share = np.where(part, left, share)
    return corrected, share


def _holm(
    p: FloatArray, tested: BoolArray, alpha: float, more: int
) -> tuple[FloatArray, FloatArray]:
    """Corrected p, and the share outside that each interval may have.

    The k-th smallest of m is tested at alpha / (m - k + 1), as long as all before it were told;
    what comes after the first that is not is left at the level of that one, so that an interval
    excludes 0 just where its difference is told.
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


# From where on a difference counts at all, however sure it is.

#: A measure by which policies lie closer than this, relative to the larger, decides nothing.
MATERIAL = 0.01
#: Shares that lie closer than this are the same to whoever runs a cluster: a tenth of a point; of
#: a resource of the nodes half a point.
_LEAST_SHARE, _LEAST_OF_RESOURCE = 0.001, 0.005


def too_near(measure: Measure, middles: Sequence[float]) -> str:
    """A sentence if policies differ by too little to count; empty otherwise."""
    apart, least = max(middles) - min(middles), least_apart(measure)
    if apart < MATERIAL * max(map(abs, middles)):
        return f"policies differ by less than {MATERIAL:.0%}"
    return (
        f"policies differ by less than {100 * least:g} percentage points" if apart < least else ""
    )


def least_apart(measure: Measure) -> float:
    """Shares by which policies differ less decide nothing; 0 of what is no share."""
    if not measure.share:
        return 0.0
    return _LEAST_OF_RESOURCE if measure.per_resource else _LEAST_SHARE
