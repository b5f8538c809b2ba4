"""One rule judges every claim: by its interval, its samples and what it depends on."""

from __future__ import annotations

import numpy as np
import pytest

from tracekit.answer.claims.every import judged
from tracekit.answer.claims.reading import (
    Reading,
    correlation_of,
    difference_of_shares,
    mean_of,
    ratio_of,
    share_of,
)
from tracekit.answer.claims.table import Claim, all_claims
from tracekit.base.facts import Followup
from tracekit.report.sentences import short
from tracekit.sizing.measures import interval


def claim(**given: object) -> Claim:
    plain = {
        "name": "node_cpu",
        "source": "",
        "experiment": "trace",
        "title": "",
        "text": "",
        "number": "",
        "unit": "fraction",
        "of": "nodes",
        "fewest": 10,
        "followup": Followup(question="claim", command="query"),
    }
    return Claim(**{**plain, **given})  # type: ignore[arg-type]


NUMBER = claim(printed=0.3, tolerance=0.1)
CASES = {
    "inside": (NUMBER, Reading(value=0.3, low=0.21, high=0.39, samples=10), "holds", ""),
    "at the edge": (NUMBER, Reading(value=0.3, low=0.2, high=0.4, samples=10), "holds", ""),
    "outside": (
        NUMBER,
        Reading(value=0.6, low=0.5, high=0.7, samples=10),
        "does_not_hold",
        "",
    ),
    "across the edge": (
        NUMBER,
        Reading(value=0.35, low=0.3, high=0.45, samples=10),
        "cannot_tell",
        "within_chance",
    ),
    "wider than all that agrees": (
        NUMBER,
        Reading(value=0.3, low=0.1, high=0.5, samples=10),
        "cannot_tell",
        "within_chance",
    ),
    "too few": (
        NUMBER,
        Reading(value=0.3, low=0.3, high=0.3, samples=9),
        "cannot_tell",
        "few_samples",
    ),
    "no sample": (NUMBER, Reading(), "cannot_tell", "few_samples"),
    "not run": (NUMBER, None, "cannot_tell", "not_run"),
    "above": (claim(above=0), Reading(value=1, low=0.1, high=2, samples=10), "holds", ""),
    "not above": (
        claim(above=0),
        Reading(value=-1, low=-2, high=0, samples=10),
        "does_not_hold",
        "",
    ),
    "on either side": (
        claim(below=0),
        Reading(value=-1, low=-2, high=0, samples=10),
        "cannot_tell",
        "within_chance",
    ),
    "exactly the printed number": (
        claim(printed=0, tolerance=0),
        Reading(value=0, low=0, high=0, samples=10),
        "holds",
        "",
    ),
    "exactly at a direction's edge": (
        claim(above=0),
        Reading(value=0, low=0, high=0, samples=10),
        "does_not_hold",
        "",
    ),
    "a gain that less of the need is served for": (
        claim(above=0, if_met="served as well"),
        Reading(value=1, low=0.5, high=2, samples=10, met=False),
        "does_not_hold",
        "not_met",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_verdicts(case: str) -> None:
    what, read, verdict, because = CASES[case]
    fact = judged(what, read)
    assert (fact.verdict, fact.because) == (verdict, because)
    assert short(fact)


def test_every_claim_can_hold_and_can_fail() -> None:
    for one in all_claims().values():
        assert (one.tolerance is None) != (one.above is None and one.below is None)
        assert one.tolerance is None or one.printed is not None
        first, last = one.agreeing()
        inside = first if np.isfinite(first) else last - 2
        inside = inside + (1 if one.tolerance is None else 0)
        enough = {"samples": one.fewest}
        assert judged(one, Reading(value=inside, **enough)).verdict == "holds"  # type: ignore[arg-type]
        outside = last + 1 if np.isfinite(last) else first - 1
        assert judged(one, Reading(value=outside, **enough)).verdict == "does_not_hold"  # type: ignore[arg-type]


def test_intervals_of_known_numbers() -> None:
    values = np.array([0.1, 0.4, 0.2, 0.7])
    read = mean_of([*values, np.nan])
    assert (read.value, read.low, read.high) == pytest.approx(interval(values))
    assert read.samples == 4
    # Wilson 1927: 8 of 10
    shown = share_of(8, 10)
    assert (shown.value, shown.low, shown.high) == pytest.approx((0.8, 0.4902, 0.9433), abs=1e-4)
    assert share_of(8, 10, scale=13_000).value == pytest.approx(10_400)
    # Newcombe 1998, table II (a): 56 of 70 less 48 of 80
    apart = difference_of_shares((56, 70), (48, 80))
    assert (apart.low, apart.high) == pytest.approx((0.0524, 0.3339), abs=1e-4)
    # of equal weights a ratio is a mean; a unit of weight 0 has no share in it
    assert ratio_of(values, np.ones(4)) == mean_of(values)
    assert ratio_of(np.array([2.0, 6.0]), np.array([1.0, 3.0])).value == 2.0


def test_an_interval_of_a_correlation_holds_it_as_often_as_it_says() -> None:
    rng, held = np.random.default_rng(0), 0
    for _ in range(400):
        one = rng.normal(size=60)
        read = correlation_of(one, 0.5 * one + np.sqrt(0.75) * rng.normal(size=60))
        held += (read.low or 0) <= 0.5 <= (read.high or 0)
    assert 0.92 <= held / 400 <= 0.98
