"""The fit finds exponents that were planted, and the verdict fails on one out of its band."""

from __future__ import annotations

import sys
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from bench_growth import BANDS, CASES, LEFT_OUT, Case, Run, verdicts
from growth_fit import LEAST_S, exponent, noise

from tracekit import verbs

SIZES = [100, 200, 400, 800, 1600]


@pytest.mark.parametrize("planted", [0.5, 1.0, 1.5, 2.0])
def test_a_planted_exponent_is_found_beside_a_start_and_noise(planted: float) -> None:
    rng = np.random.default_rng(0)
    costs = [3.0 + 1e-3 * size**planted * rng.uniform(0.97, 1.03) for size in SIZES]
    assert exponent(SIZES, costs, 0.0) == pytest.approx(planted, abs=0.2)


def test_proportion_is_exactly_one_whatever_the_start() -> None:
    assert exponent(SIZES, [7.0 + 0.25 * size for size in SIZES], LEAST_S) == pytest.approx(
        1.0, abs=0.01
    )


def test_what_does_not_grow_has_exponent_zero() -> None:
    assert exponent(SIZES, [2.0, 2.05, 1.98, 2.01, 2.03], LEAST_S) == 0.0


def test_growth_by_less_than_two_runs_differ_is_none() -> None:
    """A fixed part of 1.7 s with a neighbour's noise, seen; and a part that is linear beside it."""
    flat = [1.73, 1.59, 1.66, 1.58, 1.92]
    assert exponent(SIZES, flat, noise(flat, LEAST_S)) == 0.0
    noisy = [cost + size / 400 for cost, size in zip(flat, SIZES, strict=True)]
    assert exponent(SIZES, noisy, noise(noisy, LEAST_S)) == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("sizes", [[1, 2, 3], [1, 2, 2, 3, 4], [5, 4, 3, 2, 1]])
def test_too_few_sizes_are_no_fit(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="five sizes"):
        exponent(sizes, [1.0] * len(sizes), 0.0)


def runs(power: float) -> list[Run]:
    return [Run(size=size, cpu_s=1 + (size / 100) ** power, memory_mib=100.0) for size in SIZES]


def test_a_quadratic_cost_leaves_its_band_and_a_linear_one_does_not() -> None:
    case = Case(verb="ingest", grows="containers")
    assert all(one.holds for one in verdicts(case, runs(1.0)))
    seconds, memory = verdicts(case, runs(2.0))
    assert not seconds.holds
    assert memory.holds
    assert "OUT OF BAND" in seconds.text()


def test_every_verb_is_measured_or_left_out_for_a_reason() -> None:
    known = {name for _, name, _ in iter_modules(verbs.__path__) if not name.startswith("_")}
    assert {case.verb for case in CASES} | set(LEFT_OUT) == known
    assert not {case.verb for case in CASES} & set(LEFT_OUT)


def test_every_band_is_stated_with_its_reason() -> None:
    for case in CASES:
        time, memory = BANDS.get((case.verb, case.grows), BANDS["", case.grows])
        assert time.reason
        assert memory.reason
