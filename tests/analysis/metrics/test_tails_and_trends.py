"""Tail indices and slopes, on laws whose index is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import theilslopes

from tracekit.analysis.metrics.trends import ccdf_slope, hill_index, theil_sen_slope


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
