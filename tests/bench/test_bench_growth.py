"""The fit finds exponents that were planted, and the verdict fails on one out of its band."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from bench_growth import BANDS, CASES, LEFT_OUT, NOT_GROWN, Case, Run, verdicts
from growth_fit import LEAST_S, TIMES_SEEN, exponent, noise

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


def test_growth_by_less_than_runs_of_one_size_differ_is_none() -> None:
    """A fixed part of 1.7 s with a neighbour's noise, seen; and a part that is linear beside it."""
    flat, again = [1.73, 1.59, 1.66, 1.58, 1.92], [1.73, 1.61, 1.79]
    assert noise(again, LEAST_S) == pytest.approx(TIMES_SEEN * 0.18)
    assert exponent(SIZES, flat, noise(again, LEAST_S)) == 0.0
    noisy = [cost + size / 400 for cost, size in zip(flat, SIZES, strict=True)]
    assert exponent(SIZES, noisy, noise(again, LEAST_S)) == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("sizes", [[1, 2, 3], [1, 2, 2, 3, 4], [5, 4, 3, 2, 1]])
def test_too_few_sizes_are_no_fit(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="five sizes"):
        exponent(sizes, [1.0] * len(sizes), 0.0)


def runs(cost: Callable[[float], float], start: float = 1.0, spread: float = 0.02) -> list[Run]:
    """Runs of five sizes, and two more of the smallest; ``cost`` is 1 at the smallest size."""
    sizes = [SIZES[0], SIZES[0], *SIZES]
    return [
        Run(size=size, cpu_s=start + spread * (at % 3) + cost(size / 100), memory_mib=100.0)
        for at, size in enumerate(sizes)
    ]


def test_a_quadratic_cost_leaves_its_band_and_a_linear_one_does_not() -> None:
    case = Case(verb="ingest", grows="containers")
    assert all(one.holds for one in verdicts(case, runs(lambda size: size)))
    seconds, memory = verdicts(case, runs(lambda size: size**2))
    assert not seconds.holds
    assert memory.holds
    assert "OUT OF BAND" in seconds.text()


@pytest.mark.parametrize("start", [0.5, 5.0])
def test_a_quadratic_part_as_large_as_the_linear_one_is_seen(start: float) -> None:
    """As large at the largest size, beside a start that is larger than both at the smallest."""
    case = Case(verb="analyze", grows="nodes")
    linear, _ = verdicts(case, runs(lambda size: 0.1 * size, start))
    both, _ = verdicts(case, runs(lambda size: 0.1 * size + 0.1 * size**2 / 16, start))
    quadratic, _ = verdicts(case, runs(lambda size: 0.02 * size**2, start))
    assert linear.holds
    assert not quadratic.holds
    assert both.exponent > linear.exponent + 0.2


def test_what_must_grow_and_does_not_leaves_its_band() -> None:
    flat = runs(lambda _: 0.0)
    assert not verdicts(Case(verb="ingest", grows="containers"), flat)[0].holds
    assert verdicts(Case(verb="plan", grows="containers"), flat)[0].holds


def test_what_is_not_grown_of_a_verb_has_a_reason() -> None:
    grown: dict[str, set[str]] = {}
    for case in CASES:
        grown.setdefault(case.verb, set()).add(case.grows)
    for verb, found in grown.items():
        whole = {"nodes", "containers", "steps", "calls"} <= found
        assert whole != (verb in NOT_GROWN), verb


def test_every_verb_is_measured_or_left_out_for_a_reason() -> None:
    known = {name for _, name, _ in iter_modules(verbs.__path__) if not name.startswith("_")}
    assert {case.verb for case in CASES} | set(LEFT_OUT) == known
    assert not {case.verb for case in CASES} & set(LEFT_OUT)


def test_every_band_is_stated_with_its_reason() -> None:
    for case in CASES:
        time, memory = BANDS.get((case.verb, case.grows), BANDS["", case.grows])
        assert time.reason
        assert memory.reason
