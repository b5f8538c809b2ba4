"""Intervals of means: they cover what they should, and are exact where nothing varies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from tracekit.replay.chance.bootstrap import mean_interval


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


@given(some.lists(some.floats(-100, 100), min_size=2, max_size=12), some.integers(0, 9))
def test_an_interval_holds_its_mean_and_stays_within_the_samples(
    samples: list[float], seed: int
) -> None:
    column = np.array(samples)[:, None]
    found = mean_interval(column, rng(seed))
    assert found.low[0] - 1e-9 <= column.mean() <= found.high[0] + 1e-9
    assert column.min() - 1e-9 <= found.low[0] <= found.high[0] <= column.max() + 1e-9


def test_equal_samples_have_no_width() -> None:
    found = mean_interval(np.full((9, 2), [0.1, 0.0]), rng())
    assert found.low.tolist() == found.high.tolist() == [0.1, 0.0]


@pytest.mark.parametrize("rows", [6, 20])
def test_ninety_five_of_a_hundred_intervals_cover_the_truth(rows: int) -> None:
    draws = rng(1).normal(3.0, 2.0, size=(rows, 2000))
    found = mean_interval(draws, rng(2))
    covered = ((found.low <= 3.0) & (found.high >= 3.0)).mean()
    assert 0.92 < covered < 0.97


def test_rows_are_resampled_whole() -> None:
    """Columns that differ by a constant have intervals that differ by it."""
    one = rng(3).normal(size=(10, 1))
    found = mean_interval(np.hstack([one, one + 5.0]), rng(4))
    assert np.allclose(found.low[1] - found.low[0], 5.0)
    assert np.allclose(found.high[1] - found.high[0], 5.0)
