"""What is said of growth: only of two weeks and more, and when the cluster would be full."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from replay_support import workload

from tracekit.replay.runs.growth_of_use import day_means, grown, span_ms
from tracekit.replay.workload.workload import Workload
from tracekit.units import MS_PER_DAY, MS_PER_HOUR, duration

CAPACITY = 100


def _load(days: int, per_week: float, *, start: float = 0.4) -> Workload:
    """One node of one container, sampled every hour, whose CPU use grows; its nights are quiet."""
    hours = np.arange(24 * days)
    rng = np.random.default_rng(1)
    level = start + per_week * hours / (24 * 7) + 0.1 * np.sin(2 * np.pi * hours / 24)
    level += 0.003 * rng.normal(size=len(hours))
    plain = workload([(CAPACITY, CAPACITY)], [(0, days * MS_PER_DAY, 1, 1, 0)])
    usage = np.stack([level * CAPACITY, np.full(len(hours), 30.0)])[:, :, None]
    return dataclasses.replace(
        plain,
        times_ms=hours * MS_PER_HOUR,
        step_ms=MS_PER_HOUR,
        usage=usage.astype(np.float32),
        background=np.zeros((2, len(hours), 1), np.float32),
    )


def test_the_mean_of_each_day_is_that_of_its_samples() -> None:
    load = _load(15, 0.02)
    plain = [
        sum(float(load.usage[0, 24 * day + hour, 0]) for hour in range(24)) / 24 / CAPACITY
        for day in range(15)
    ]
    assert day_means(load)[0] == pytest.approx(plain, rel=1e-5)


def test_growth_and_its_end_are_told() -> None:
    said = grown(_load(28, 0.02))
    found = re.match(r"Use grew over 28 days, in points of capacity per week: CPU \+2\.0", said)
    assert found is not None, said
    # 0.4 + 3.5 weeks x 0.02 of it in use at the last week's middle
    assert re.search(r"CPU of all nodes together is used up in 2[56] weeks \(2\d to 2\d\)", said)


def test_what_does_not_grow_is_said_so() -> None:
    assert grown(_load(28, 0.0)).startswith("Use did not grow beyond chance over 28")
    assert grown(_load(28, -0.02)).startswith("Use fell over 28")


@pytest.mark.parametrize(("days", "short"), [(1, True), (13, True), (14, False)])
def test_less_than_two_weeks_are_too_short(days: int, short: bool) -> None:
    load = _load(days, 0.02)
    assert ("is too short to tell growth" in grown(load)) == short
    # to the end of the last step, and it is the replay's time: samples may end before
    assert span_ms(load) == days * MS_PER_DAY
    told = f"A replay of {duration(days * MS_PER_DAY)} is too short to tell growth"
    assert grown(load).startswith(told) == short


def test_where_nothing_departs_nothing_is_told() -> None:
    load = dataclasses.replace(_load(14, 0.02), quantities={"departures": "absent"})
    assert grown(load) == "Growth of use cannot be told, as no departure is recorded"


@pytest.mark.parametrize(
    ("known", "why"),
    [
        ({"departures": "absent"}, "no departure is recorded"),
        (
            {"departures": "recorded, but set aside by departures=none"},
            "departures are recorded, but set aside by departures=none",
        ),
        ({"use of containers": "assumed"}, "no use is recorded"),
    ],
)
def test_what_only_an_assumption_makes_grow_is_not_told(known: dict[str, str], why: str) -> None:
    load = dataclasses.replace(_load(28, 0.02), quantities=known)
    assert grown(load) == f"Growth of use cannot be told, as {why}"


def test_nobody_reads_of_hours_of_use_where_there_is_no_use() -> None:
    load = dataclasses.replace(_load(1, 0.02), quantities={"use of containers": "assumed"})
    assert grown(load) == "Growth of use cannot be told, as no use is recorded"
