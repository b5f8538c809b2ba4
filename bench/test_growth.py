"""The fit finds exponents that were planted, and the verdict fails on one out of its band."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tracekit import commands

sys.path.insert(0, str(Path(__file__).parent))

from bench_growth import (
    BANDS,
    CASES,
    LEFT_OUT,
    NOT_GROWN,
    Case,
    Run,
    cheapest,
    judge_kept,
    kept,
    line,
    verdicts,
)
from growth_fit import LEAST_S, TIMES_SEEN, exponent, noise, squared_share

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
    """A fixed part of 1.6 s with a neighbour's noise, seen; and a part that is linear beside it."""
    flat, again = [1.61, 1.59, 1.66, 1.58, 1.82], [1.73, 1.61, 1.89]
    assert noise(again, LEAST_S) == pytest.approx(TIMES_SEEN * 0.12)
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


@pytest.mark.parametrize("start", [0.5, 5.0, 20.0])
def test_a_squared_part_of_more_than_half_the_linear_one_fails(start: float) -> None:
    """At the largest size, 16 times the smallest, beside a fixed part of up to 20 s."""
    case = Case(verb="analyze", grows="nodes")

    def holds(squared: float) -> bool:
        seconds, _ = verdicts(case, runs(lambda size: size + squared * size**2 / 16, start, 0.0))
        return seconds.holds

    assert holds(0.0)
    assert holds(0.45)
    assert not holds(0.55)
    assert not holds(1.0)


def test_a_squared_part_is_found_beside_noise_of_the_machine() -> None:
    rng = np.random.default_rng(0)
    linear = [3.0 + size / 100 * rng.uniform(0.98, 1.02) for size in SIZES]
    both = [cost + size**2 / 160_000 for cost, size in zip(linear, SIZES, strict=True)]
    assert squared_share(SIZES, linear, LEAST_S) < 0.1
    assert squared_share(SIZES, both, LEAST_S) == pytest.approx(1.0, abs=0.25)


def test_a_squared_part_alone_is_beyond_any_share_and_a_logarithm_is_not() -> None:
    assert squared_share(SIZES, [1 + (size / 100) ** 2 for size in SIZES], LEAST_S) > 1e3
    sizes = Case(verb="ingest", grows="containers").sizes
    assert squared_share(sizes, [size * np.log(size) / 5_000 for size in sizes], LEAST_S) < 0.5


def test_many_containers_over_five_times_the_size_show_a_squared_part() -> None:
    case = Case(verb="replay", grows="many_containers")
    ratios = [size / case.sizes[-1] for size in case.sizes]
    seen = [squared_share(case.sizes, [3 + 10 * r + most * r**2 for r in ratios], 0.15)
            for most in (0.0, 6.0)]  # fmt: skip
    assert seen == pytest.approx([0.0, 0.6], abs=0.01)


def test_runs_that_others_slowed_down_do_not_hide_growth() -> None:
    """One of three runs of the smallest size took 9 s more: it is neither its cost nor noise."""
    case = Case(verb="analyze", grows="nodes")
    slowed = [Run(size=SIZES[0], cpu_s=11.0, memory_mib=100.0), *runs(lambda size: 0.1 * size**2)]
    assert cheapest(slowed)[0].cpu_s == pytest.approx(1.1, abs=0.05)
    assert not verdicts(case, slowed)[0].holds


def test_rows_of_runs_in_pieces_are_judged_together(capsys: pytest.CaptureFixture[str]) -> None:
    case = Case(verb="ingest", grows="containers")
    steep = line(case, runs(lambda size: size**2), verdicts(case, runs(lambda size: size**2)))
    even = line(case, runs(lambda size: size), verdicts(case, runs(lambda size: size)))
    assert [run.cpu_s for run in kept(even)[case]] == [
        run.cpu_s for run in cheapest(runs(lambda size: size))
    ]
    assert judge_kept(f"machine\n{steep}\n{even}\n") == 1
    told = capsys.readouterr().out.splitlines()
    assert "ingest by nodes: no row" in told
    assert told[-1] == f"0 out of their band, {len(CASES) - 1} of {len(CASES)} cases without a row"
    judge_kept(steep)
    assert capsys.readouterr().out.splitlines()[-1].startswith("1 out of their band")


def test_what_must_grow_and_does_not_leaves_its_band() -> None:
    flat = runs(lambda _: 0.0)
    assert not verdicts(Case(verb="ingest", grows="containers"), flat)[0].holds
    assert verdicts(Case(verb="estimate", grows="containers"), flat)[0].holds


def test_what_is_not_grown_of_a_verb_has_a_reason() -> None:
    grown: dict[str, set[str]] = {}
    for case in CASES:
        grown.setdefault(case.verb, set()).add(case.grows)
    for verb, found in grown.items():
        whole = {"nodes", "containers", "steps", "calls"} <= found
        assert whole != (verb in NOT_GROWN), verb


def test_every_verb_is_measured_or_left_out_for_a_reason() -> None:
    known = set(commands.function_names())
    assert {case.verb for case in CASES} | set(LEFT_OUT) == known
    assert not {case.verb for case in CASES} & set(LEFT_OUT)


def test_every_band_is_stated_with_its_reason() -> None:
    for case in CASES:
        time, memory = BANDS.get((case.verb, case.grows), BANDS["", case.grows])
        assert time.reason
        assert memory.reason
