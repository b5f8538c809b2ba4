"""Intervals of means cover what they state; corrected p is that of closed testing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from tracekit.analysis.metrics import LEVEL
from tracekit.base.arrays import FloatArray
from tracekit.replay.chance import compare, means, unpaired
from tracekit.replay.chance import judge as judged


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


@pytest.mark.parametrize("rows", [6, 20])
def test_ninety_five_of_a_hundred_intervals_cover_the_truth(rows: int) -> None:
    found = means(rng(1).normal(3.0, 2.0, size=(rows, 2000)))
    covered = ((found.low <= 3.0) & (found.high >= 3.0)).mean()
    assert 0.92 < covered < 0.97


# Holm's correction against what it is defined by, worked out the long way.


ALPHA = 1 - LEVEL


def closed(p: list[float]) -> list[float]:
    """Corrected p by closed testing with Bonferroni: over all sets that a hypothesis is in.

    Of each set the least p times its size; a hypothesis has the largest of these. That is what
    Holm's procedure is a short cut of (Marcus, Peritz and Gabriel, Biometrika 1976, 63(3)).
    """
    every = range(len(p))
    sets = [s for size in range(1, len(p) + 1) for s in itertools.combinations(every, size)]
    return [min(1.0, max(len(s) * min(p[i] for i in s) for s in sets if at in s)) for at in every]


def drawn(seed: int, columns: int = 8, orders: int = 7) -> FloatArray:
    """Differences of which some are far from 0, some near, some at it."""
    rng = np.random.Generator(np.random.PCG64(seed))
    return np.asarray(rng.normal(size=(orders, columns)) + rng.choice([0, 1, 2, 4], size=columns))


@pytest.mark.parametrize("seed", range(20))
def test_corrected_p_is_that_of_closed_testing(seed: int) -> None:
    values = drawn(seed)
    alone = [float(one) for one in stats.ttest_1samp(values, 0).pvalue]
    found = compare(values)
    assert found.p == pytest.approx(alone)
    assert found.p_corrected == pytest.approx(closed(alone))


@pytest.mark.parametrize("seed", range(20))
def test_two_families_share_what_may_go_wrong(seed: int) -> None:
    """Four fifths of it to the columns that answer, a fifth to the others; half for two looks."""
    values = drawn(seed)
    first = np.arange(8) < 3
    alone = [float(one) for one in stats.ttest_1samp(values, 0).pvalue]
    parts = [(closed(alone[:3]), 0.8), (closed(alone[3:]), 0.2)]
    for looks in (1, 2):
        found = compare(values, first=first, looks=looks)
        long_way = [min(1.0, looks * p / of_all) for part, of_all in parts for p in part]
        assert found.p_corrected == pytest.approx(long_way)
        assert not found.separated[np.array(long_way) > ALPHA].any()


@pytest.mark.parametrize("seed", range(10))
def test_runs_that_share_no_orders_are_corrected_as_one_family(seed: int) -> None:
    """Welch's t of each column, then the same correction."""
    base, new = drawn(seed), drawn(seed + 100, orders=9)
    alone = [float(one) for one in stats.ttest_ind(new, base, equal_var=False).pvalue]
    found = judged(unpaired(base, new))
    assert found.p == pytest.approx(alone)
    assert found.p_corrected == pytest.approx(closed(alone))
    assert found.separated.tolist() == [p <= ALPHA for p in closed(alone)]


@pytest.mark.parametrize("seed", range(20))
def test_an_interval_leaves_0_out_just_where_the_difference_is_told(seed: int) -> None:
    found = compare(drawn(seed))
    assert ((found.low > 0) | (found.high < 0)).tolist() == found.separated.tolist()


def test_equal_columns_are_told_no_more_often_than_stated() -> None:
    """Family-wise: 1,000 families of eight equal columns."""
    rng = np.random.Generator(np.random.PCG64(31))
    told = sum(compare(rng.normal(size=(7, 8))).separated.any() for _ in range(1000))
    assert stats.binom.sf(told - 1, 1000, ALPHA) > 0.001
