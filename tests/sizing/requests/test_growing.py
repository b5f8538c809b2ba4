"""Services whose use grows are named, and keep their requests; those that stand still are not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tracekit.base.arrays import FloatArray
from tracekit.base.units import MS_PER_DAY
from tracekit.cluster.request_table import nothing_fixed
from tracekit.sizing.requests.rows import amount, frame_of, growing, grown, growth_of
from tracekit.sizing.requests.study import every_policy, requests_of
from tracekit.sizing.use import RecordedUse

STEP_MS = 600_000
DAY = 144
WORKLOAD = {"name": "store", "store": "a store", "made_up": False}


def noise(rng: np.random.Generator, shape: tuple[int, ...], keep: float) -> FloatArray:
    """Along the first axis each value resembles the one before by ``keep``."""
    found = rng.standard_normal(shape)
    for at in range(1, shape[0]):
        found[at] = keep * found[at - 1] + math.sqrt(1 - keep**2) * found[at]
    return found


def use_of(
    seed: int, grows: FloatArray, *, days: float = 2.0, keep: float = 0.9, size: float = 0.1
) -> RecordedUse:
    """Two containers of each service, a day as a sine, growing by a share a day; (services, 2)."""
    rng = np.random.default_rng(seed)
    steps, services = round(days * DAY), len(grows)
    day = np.arange(steps)[:, None] / DAY
    values = np.stack(
        [
            (1 + 0.4 * np.sin(2 * np.pi * day))
            * (1 + grows[:, at]) ** day
            * np.exp(size * noise(rng, (steps, services), keep))
            for at in range(2)
        ]
    )
    twice = np.repeat(values, 2, axis=2)
    twice[1] *= 1e9
    containers = 2 * services
    begin = np.zeros(containers, dtype=np.int64)
    return RecordedUse(
        services=tuple(f"s{at}" for at in range(services)),
        service=np.repeat(np.arange(services), 2),
        request=np.tile((4.0, 4e9), (containers, 1)),
        limit=np.full((containers, 2), np.nan),
        reserved=np.tile((4.0, 4e9), (containers, 1)),
        fixed=nothing_fixed(containers),
        arrival_ms=begin,
        departure_ms=begin + steps * STEP_MS,
        times_ms=np.arange(steps) * STEP_MS,
        step_ms=STEP_MS,
        values=twice.astype(np.float32),
        measured=np.arange(containers),
    )


@pytest.mark.parametrize("keep", [0.0, 0.9, 0.98])
@pytest.mark.parametrize("days", [2, 4, 14])
def test_services_that_stand_still_are_not_named(keep: float, days: int) -> None:
    named = 0
    for seed in range(20):
        use = use_of(seed, np.zeros((30, 2)), days=days, keep=keep)
        named += int(growing(use, growth_of(use)).any())
    # a study names one by chance in 5 % at most: of 20 more than 4 in fewer than 1 of 1,000
    assert named <= 4


@pytest.mark.parametrize("days", [2, 3, 15])
def test_a_planted_growth_is_within_its_interval(days: int) -> None:
    planted = np.zeros((8, 2))
    planted[3], planted[5, 0] = 0.1, -0.05
    use = use_of(1, planted, days=days, keep=0.5, size=0.01)
    found = growth_of(use)
    assert (found[..., 1] <= planted).all()
    assert (planted <= found[..., 2]).all()
    assert np.argwhere(growing(use, found)).tolist() == [[3, 0], [3, 1]]
    assert frame_of(use, found).filter("grows")["service"].to_list() == ["s3", "s3"]


def test_with_less_than_two_days_or_a_missing_hour_nothing_is_known() -> None:
    assert np.isnan(growth_of(use_of(1, np.zeros((2, 2)), days=1.9))).all()
    use = use_of(1, np.zeros((2, 2)))
    use.values[0, 60:66, :2] = np.nan
    found = growth_of(use)
    assert np.isnan(found[0, 0]).all()
    assert np.isfinite(found[1]).all()


def test_who_grows_keeps_the_request_and_it_is_known_for_how_long() -> None:
    planted = np.zeros((5, 2))
    planted[2] = 0.1
    study = requests_of(use_of(3, planted, size=0.0002), every_policy(), workload=WORKLOAD)
    rows = study.frames["services"].filter(service="s2")
    assert rows["recommended"].to_list() == [None] * rows.height
    assert set(rows["freed"]) == {0.0}
    assert (study.frames["services"].filter(service="s1", policy="oracle")["freed"] > 0).all()
    (row,) = grown(study).filter(resource="cpu").to_dicts()
    assert row["service"] == "s2"
    assert row["growth_per_day_share"] == pytest.approx(0.1, abs=0.01)
    # from 1.4 x 1.1**1.25, the second day's peak, to 4 there are 9.8 days
    assert row["holds_ms"] / MS_PER_DAY == pytest.approx(9.8, abs=0.5)
    calm = requests_of(use_of(3, np.zeros((5, 2)), size=0.01), every_policy(), workload=WORKLOAD)
    assert grown(calm).is_empty()


def test_who_grows_beyond_the_request_gets_what_is_recommended() -> None:
    planted = np.zeros((2, 2))
    planted[0, 0] = 1.5
    study = requests_of(use_of(3, planted, size=0.01), every_policy(), workload=WORKLOAD)
    row = study.frames["services"].filter(service="s0", resource="cpu", policy="oracle").to_dicts()
    assert row[0]["recommended"] > 4
    assert row[0]["freed"] < 0
    assert grown(study)["holds_ms"].to_list() == [0.0]


def test_an_amount_has_three_digits_and_whole_ones_from_a_hundred_on() -> None:
    given = (None, 0.0, 12345.4, 100.0, 99.95, 10.0, 9.996, 1.0, 0.99951, -0.1234, -0.0001)
    assert [amount(one, "cpu") for one in given] == [
        "-", "0", "12,345", "100", "100.0", "10.0", "10.00", "1.00", "1.000", "-0.123", "0.000"
    ]  # fmt: skip
