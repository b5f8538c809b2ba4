"""Who is better over runs: a rank test of one search against each of its rivals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import stats

from tracekit.arrays import FloatArray

#: The probability of seeing such ranks by chance below which one is called better.
LEVEL = 0.05
#: What is said of two that the runs do not tell apart.
EVEN = "even"


def against(own: FloatArray, rivals: Mapping[str, FloatArray]) -> dict[str, tuple[float, str]]:
    """For each rival the probability and what the test says of ``own``.

    The rank-sum test of Mann and Whitney on final costs, two-sided, over all rivals by Holm's
    step-down rule; 'better', 'worse', or 'even' where the runs do not tell.

    Parameters
    ----------
    own, rivals : float64, shape (runs,)
        Lower is better.
    """
    raw = {name: _rank_sum(own, costs) for name, costs in rivals.items()}
    adjusted = holm(raw)
    return {
        name: (adjusted[name], _said(own, costs, adjusted[name])) for name, costs in rivals.items()
    }


def holm(probabilities: Mapping[str, float]) -> dict[str, float]:
    """Probabilities adjusted for being several (Holm 1979); never smaller than they were."""
    ordered = sorted(probabilities, key=lambda name: (probabilities[name], name))
    adjusted, least = {}, 0.0
    for at, name in enumerate(ordered):
        least = max(least, min(probabilities[name] * (len(ordered) - at), 1.0))
        adjusted[name] = least
    return adjusted


def mean_ranks(costs: FloatArray) -> FloatArray:
    """Mean rank of each search over all runs, 1 for the best; equal costs share a rank.

    Parameters
    ----------
    costs : float64, shape (searches, runs)
    """
    ranks = stats.rankdata(costs.ravel()).reshape(costs.shape)
    return np.asarray(ranks.mean(axis=1))


def _rank_sum(own: FloatArray, other: FloatArray) -> float:
    if np.unique(np.concatenate([own, other])).size == 1:
        return 1.0
    return float(stats.mannwhitneyu(own, other, alternative="two-sided").pvalue)


def _said(own: FloatArray, other: FloatArray, probability: float) -> str:
    if probability >= LEVEL:
        return EVEN
    lower = (own[:, None] < other).sum() > (own[:, None] > other).sum()
    return "better" if lower else "worse"
