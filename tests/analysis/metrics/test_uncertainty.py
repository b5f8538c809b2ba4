"""Intervals and effective sample sizes, on series whose truth is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.metrics.correlation import (
    FEWEST,
    MANY,
    MIN_BLOCKS,
    bootstrap_interval,
    correlation_error,
    effective_samples,
    resampling_matrix,
    zone,
    zone_doubt,
)
from tracekit.base.arrays import FloatArray


def generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def autoregressive(rng: np.random.Generator, series: int, steps: int, keep: float) -> FloatArray:
    noise = rng.standard_normal((series, steps))
    noise[:, 1:] *= np.sqrt(1 - keep**2)
    for at in range(1, steps):
        noise[:, at] += keep * noise[:, at - 1]
    return noise


def cut(series: FloatArray, blocks: int) -> FloatArray:
    return series.reshape(len(series), blocks, -1)


def correlated(
    rng: np.random.Generator, count: int, r: float, keep: float
) -> tuple[FloatArray, FloatArray]:
    first = autoregressive(rng, count, 1440, keep)
    other = autoregressive(rng, count, 1440, keep)
    return first, r * first + np.sqrt(1 - r**2) * other


def error_of(first: FloatArray, second: FloatArray, blocks: int = 24) -> FloatArray:
    x, y = cut(first, blocks), cut(second, blocks)
    both = (x * y).mean(axis=2) - x.mean(axis=2) * y.mean(axis=2)
    samples = np.full(x.shape[:2], x.shape[2])
    means, variances = (x.mean(axis=2), y.mean(axis=2)), (x.var(axis=2), y.var(axis=2))
    return correlation_error(samples, means, variances, both)


def test_interval_equals_one_draw_at_a_time() -> None:
    rng = generator(1)
    totals, weights = rng.uniform(size=(MANY, 3)), rng.uniform(size=(MANY, 3))
    drawn = resampling_matrix(rng, MANY, 200)
    means = [
        [
            sum(n * t for n, t in zip(row, totals[:, at], strict=True))
            / sum(n * w for n, w in zip(row, weights[:, at], strict=True))
            for at in range(3)
        ]
        for row in drawn
    ]
    result = bootstrap_interval(totals, weights, drawn)
    assert result[:2] == pytest.approx(np.quantile(means, [0.025, 0.975], axis=0))
    assert result[2] == pytest.approx(np.std(means, axis=0))


def test_interval_holds_the_mean_as_often_as_it_says() -> None:
    rng = generator(2)
    samples = rng.exponential(size=(60, 400))
    low, high, error = bootstrap_interval(
        samples, np.ones_like(samples), resampling_matrix(rng, 60, 400)
    )
    assert ((low < 1) & (high > 1)).mean() == pytest.approx(0.95, abs=0.05)
    assert error.mean() == pytest.approx(1 / np.sqrt(60), rel=0.1)


#: Draws of a group's nodes, with their mean.
SHAPES: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], FloatArray], float]] = {
    "normal": (lambda rng, size: rng.normal(5.0, 1.0, size), 5.0),
    "skewed": (lambda rng, size: rng.lognormal(0.0, 0.75, size), float(np.exp(0.75**2 / 2))),
    "shares": (lambda rng, size: rng.beta(0.8, 3.0, size), 0.8 / 3.8),
}


@pytest.mark.parametrize("members", [5, 8, 20, 60])
@pytest.mark.parametrize(("shape", "least"), [("normal", 0.93), ("skewed", 0.89), ("shares", 0.92)])
def test_few_members_of_a_group_are_covered_as_often_as_it_says(
    shape: str, least: float, members: int
) -> None:
    """Percentiles hold the mean of 5 normal draws in 0.90 of cases, and of 2 in 0.52."""
    rng, many = generator(members), 500
    draw, mean = SHAPES[shape]
    weights = np.zeros((members + 30, many))
    weights[:members] = 1
    totals = weights.copy()
    totals[:members] = draw(rng, (members, many))
    low, high, _ = bootstrap_interval(totals, weights, resampling_matrix(rng, len(weights), 600))
    assert least <= ((low <= mean) & (high >= mean)).mean() <= 0.99


def test_containers_are_drawn_with_their_nodes_where_nodes_are_few() -> None:
    rng, many = generator(4), 500
    weights = rng.integers(1, 12, size=(8, many)).astype(float)
    totals = weights * rng.normal(3.0, 1.0, size=(8, many))
    low, high, _ = bootstrap_interval(totals, weights, resampling_matrix(rng, 8, 600))
    assert 0.92 <= ((low <= 3) & (high >= 3)).mean() <= 0.98


def test_below_five_units_there_is_no_interval() -> None:
    totals = np.ones((FEWEST, 2))
    totals[0, 0] = 0
    result = bootstrap_interval(totals, totals > 0, resampling_matrix(generator(0), FEWEST, 50))
    assert np.isnan(result[:, 0]).all()
    assert result[:, 1].tolist() == [1.0, 1.0, 0.0]


def test_a_mean_of_what_is_never_negative_is_not_either() -> None:
    totals = np.array([[0.0], [0.0], [0.0], [0.0], [9.0], [0.1]])
    low, high, _ = bootstrap_interval(
        totals, np.ones((6, 1)), resampling_matrix(generator(0), 6, 500)
    )
    assert low[0] == 0.0
    assert high[0] > 1.5


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.8])
def test_effective_samples_of_a_known_process(keep: float) -> None:
    series = cut(autoregressive(generator(3), 300, 2400, keep), 24)
    result = effective_samples(series.mean(axis=2), series.var(axis=2), np.full((300, 24), 100))
    # the scatter of 24 block means is known to about 30 %, that of its inverse is skewed
    assert np.median(result) == pytest.approx(2400 * (1 - keep) / (1 + keep), rel=0.12)


@pytest.mark.parametrize(("r", "keep"), [(0.25, 0.0), (0.25, 0.7), (-0.6, 0.7)])
def test_error_of_a_correlation_is_the_scatter_of_repeats(r: float, keep: float) -> None:
    first, second = correlated(generator(4), 400, r, keep)
    results = [float(np.corrcoef(a, b)[0, 1]) for a, b in zip(first, second, strict=True)]
    scatter = float(np.std(np.arctanh(results)))
    assert float(np.median(error_of(first, second))) == pytest.approx(scatter, rel=0.12)


@pytest.mark.parametrize("truth", [0.2, 0.28, 0.36])
def test_doubt_is_how_often_the_zone_is_wrong(truth: float) -> None:
    """Over nodes whose true r is spread around an edge, the doubts add up to the errors."""
    rng = generator(6)
    truths = truth + rng.uniform(-0.1, 0.1, 300)
    first = autoregressive(rng, 300, 1440, 0.6)
    other = autoregressive(rng, 300, 1440, 0.6)
    second = truths[:, None] * first + np.sqrt(1 - truths[:, None] ** 2) * other
    values = np.array([float(np.corrcoef(a, b)[0, 1]) for a, b in zip(first, second, strict=True)])
    doubt = zone_doubt(values, error_of(first, second), 23)
    wrong = int((zone(values) != zone(truths)).sum())
    assert float(doubt.sum()) == pytest.approx(wrong, abs=4 * np.sqrt(wrong) + 2)


@given(r=st.floats(-0.99, 0.99), error=st.floats(1e-6, 2), freedom=st.integers(1, 50))
def test_doubt_is_a_probability_and_grows_with_the_error(
    r: float, error: float, freedom: int
) -> None:
    doubt, more = (float(zone_doubt(r, e, freedom)) for e in (error, 2 * error))
    assert 0 <= doubt <= more + 1e-9 <= 1 + 1e-9


def test_every_draw_has_as_many_units() -> None:
    drawn = resampling_matrix(generator(0), 7, 50)
    assert drawn.shape == (50, 7)
    assert set(drawn.sum(axis=1)) == {7}
    assert (drawn == resampling_matrix(generator(0), 7, 50)).all()


def test_effective_samples_at_their_edges() -> None:
    assert np.isnan(effective_samples([0.5] * 8, [0.0] * 8, [10] * 8))
    assert np.isnan(effective_samples([0.1, 0.2, 0.3], [0.1] * 3, [10] * 3))
    assert np.isnan(effective_samples([0.1, 0.2, np.nan, 0.3], [0.1] * 4, [10, 10, 0, 10]))
    # a series that only drifts is as good as a few samples
    assert float(effective_samples(np.arange(8.0), np.zeros(8), [10] * 8)) < 8


def test_error_of_a_constant_series_is_unknown() -> None:
    first, second = correlated(generator(5), 2, 0.5, 0.0)
    second[1] = 0.7
    result = error_of(first, second)
    assert np.isfinite(result[0])
    assert np.isnan(result[1])


def test_doubt_of_what_is_unknown() -> None:
    assert np.isnan(zone_doubt([np.nan, 0.5], [0.1, np.nan], [5, 5])).all()
    assert zone_doubt([0.0, 0.9], [0.0, 0.0], [5, 5]).tolist() == pytest.approx([0, 0])
    assert float(zone_doubt(0.3, 0.1, 23)) == pytest.approx(0.5)


@st.composite
def blocks_of_series(draw: st.DrawFn) -> tuple[list[FloatArray], list[FloatArray]]:
    """Two series in blocks of uneven length, some without a sample."""
    rng = generator(draw(st.integers(0, 2**32)))
    lengths = draw(st.lists(st.integers(0, 6), min_size=6, max_size=12))
    x = [rng.normal(at, 1.0, length) for at, length in enumerate(lengths)]
    return x, [one + rng.normal(0, 1, len(one)) for one in x]


def moment(
    blocks: list[FloatArray], function: Callable[[FloatArray], float], nothing: float
) -> FloatArray:
    return np.array([function(one) if len(one) else nothing for one in blocks])


@given(blocks_of_series(), st.sampled_from([0.0, 7.0, np.nan]))
def test_blocks_are_weighed_by_their_samples_and_one_without_any_says_nothing(
    series: tuple[list[FloatArray], list[FloatArray]], nothing: float
) -> None:
    """Both estimates, from the moments of blocks, beside the samples themselves."""
    x, y = series
    samples = np.array([len(one) for one in x])
    held = [at for at, length in enumerate(samples) if length]
    means = moment(x, np.mean, nothing), moment(y, np.mean, nothing)
    variances = moment(x, np.var, nothing), moment(y, np.var, nothing)
    both = moment([a * b for a, b in zip(x, y, strict=True)], np.mean, nothing)
    result = correlation_error(samples, means, variances, both - means[0] * means[1])
    if len(held) < MIN_BLOCKS:
        assert np.isnan(result)
        assert np.isnan(effective_samples(means[0], variances[0], samples))
        return
    z = []
    for at in held:
        first, second = (np.concatenate(one[:at] + one[at + 1 :]) for one in (x, y))
        z.append(float(np.arctanh(np.corrcoef(first, second)[0, 1])))
    if np.isfinite(z).all():
        spread = sum((one - np.mean(z)) ** 2 for one in z)
        assert float(result) == pytest.approx(np.sqrt(spread * (len(z) - 1) / len(z)), rel=1e-6)
    share = samples / samples.sum()
    off = np.where(samples > 0, means[0] - np.concatenate(x).mean(), 0.0)
    of_mean = float((share**2 * off**2).sum()) * len(held) / (len(held) - 1)
    expected = np.clip(np.concatenate(x).var() / of_mean, 1, samples.sum())
    assert float(effective_samples(means[0], variances[0], samples)) == pytest.approx(expected)
