"""Holm's correction of many comparisons, in one family or two."""

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray

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
