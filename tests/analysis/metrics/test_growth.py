"""Growth per week: the slope of plain formulas, and an interval that covers at its stated rate."""

from __future__ import annotations

import numpy as np
import pytest

from tracekit.analysis.metrics.load import growth, theil_sen_slope


def _alike(rng: np.random.Generator, series: int, days: int, share: float) -> np.ndarray:
    """Noise of which each day keeps a share of the day before, value by value."""
    shocks = rng.normal(size=(series, days + 50))
    noise = np.zeros_like(shocks)
    for day in range(1, days + 50):
        noise[:, day] = share * noise[:, day - 1] + shocks[:, day]
    return noise[:, 50:]


def test_it_is_the_slope_of_whole_weeks_and_near_that_of_theil_and_sen() -> None:
    """Of whole weeks without noise the week's shape leaves the slope alone, whatever it is."""
    days = np.arange(28)
    week = np.tile([5.0, 6, 6, 5, 4, 0, -1], 4)
    slope, low, high = growth(0.3 * days / 7 + week)
    assert slope == pytest.approx(0.3)
    assert low <= slope <= high
    # mean of one week against that of the week before, where all weeks differ by as much
    noisy = 0.3 * days / 7 + week + np.random.default_rng(3).normal(size=28) * 0.05
    weeks = noisy.reshape(4, 7)
    plain = np.polyfit(np.arange(28), (noisy - np.tile(weeks.mean(axis=0), 4)), 1)[0] * 7
    result = growth(noisy)
    centred = noisy - week
    robust = float(theil_sen_slope(centred, days * 24.0)) * 24 * 7
    assert result[1] <= robust <= result[2]
    # leaving out the week's shape takes a share of the slope: it is no more than that
    assert abs(plain) <= abs(result[0]) + 1e-9


@pytest.mark.parametrize("days", [14, 20, 35, 60])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6])
def test_without_growth_the_interval_holds_zero_as_often_as_it_says(
    days: int, share: float
) -> None:
    """An interval that took all days as independent held it in 0.70 of the cases with 0.6."""
    series = _alike(np.random.default_rng(days), 2000, days, share)
    result = growth(series)
    held = float(((result[:, 1] <= 0) & (result[:, 2] >= 0)).mean())
    assert held >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 2000)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("days", [2, 3, 7])
def test_by_hours_of_a_day_it_holds_zero_as_often_too(days: int, share: float) -> None:
    shape = 5 * np.sin(2 * np.pi * np.arange(24 * days) / 24)
    series = _alike(np.random.default_rng(days), 2000, 24 * days, share) + shape
    for level in (0.95, 0.999):
        result = growth(series, 24, level)
        held = float(((result[:, 1] <= 0) & (result[:, 2] >= 0)).mean())
        assert held >= level - 2 * np.sqrt(level * (1 - level) / 2000)


def test_less_than_two_weeks_tell_nothing() -> None:
    assert np.isnan(growth(np.arange(13.0))).all()
    assert [growth(np.zeros((2, days))).shape for days in (13, 14)] == [(2, 3)] * 2


def test_growth_that_was_put_in_is_found() -> None:
    series = _alike(np.random.default_rng(9), 500, 35, 0.3) + 2.0 * np.arange(35) / 7
    result = growth(series)
    assert (result[:, 1] > 0).mean() > 0.95
    assert result[:, 0].mean() == pytest.approx(2.0, abs=0.05)
