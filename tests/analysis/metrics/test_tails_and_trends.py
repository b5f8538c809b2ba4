"""Tail indices and slopes, on laws whose index is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import theilslopes

from tracekit.analysis.metrics.load import ccdf_slope, hill_index, theil_sen_slope


def generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


@pytest.mark.parametrize("alpha", [1.5, 3.0])
def test_a_power_law_has_its_index(alpha: float) -> None:
    values = 1 + generator(0).pareto(alpha, 200_000)
    assert hill_index(values, 0.05) == pytest.approx(alpha, rel=0.03)
    assert ccdf_slope(values, 0.05) == pytest.approx(-alpha, rel=0.1)


@pytest.mark.parametrize(
    "values", [[], [0.3], [0.3] * 100, [0.0] * 100, list(np.linspace(0.1, 0.2, 39))]
)
def test_a_tail_that_says_nothing(values: list[float]) -> None:
    assert math.isnan(hill_index(values, 0.05))
    assert math.isnan(ccdf_slope(values, 0.05))


def test_slope_equals_scipy() -> None:
    rng = generator(1)
    times = np.sort(rng.uniform(0, 12, 24))
    series = rng.standard_normal((5, 24)) + np.linspace(0, 2, 24)
    expected = [theilslopes(values, times).slope for values in series]
    assert theil_sen_slope(series, times) == pytest.approx(np.array(expected))


def test_hill_index_by_hand() -> None:
    # of twenty values the upper tenth is 8 and 4, above 2
    values = [8.0, 4.0, 2.0, *[1.0] * 17]
    assert hill_index(values, 0.1) == pytest.approx(1 / ((math.log(4) + math.log(2)) / 2))
    assert ccdf_slope(values, 0.1) == pytest.approx(-1.0)
    assert ccdf_slope([2.0, 2.0, 1.0], 1.0) < 0
    assert math.isnan(ccdf_slope([2.0, 1.0, 0.0], 1.0))


def test_an_outlier_and_a_gap_do_not_move_the_slope() -> None:
    values = 0.5 - 0.02 * np.arange(12.0)
    values[5], values[7] = 40.0, np.nan
    assert float(theil_sen_slope(values, np.arange(12.0))) == pytest.approx(-0.02)


@pytest.mark.parametrize("values", [[], [0.5], [np.nan, 0.5]])
def test_one_sample_has_no_slope(values: list[float]) -> None:
    assert math.isnan(float(theil_sen_slope(values, np.arange(float(len(values))))))
