"""Growth of use: only of two weeks and more, and when the cluster would be full."""

from __future__ import annotations

import numpy as np
import pytest
from replay_support import changed, workload

from tracekit.base.units import MS_PER_DAY, MS_PER_HOUR
from tracekit.cluster.provenance import set_aside
from tracekit.cluster.workload import Workload
from tracekit.replay.runs.remarks import day_means, growth_facts, span_ms

CAPACITY = 100


def _load(days: int, per_week: float, *, start: float = 0.4) -> Workload:
    """One node of one container, sampled every hour, whose CPU use grows; its nights are quiet."""
    hours = np.arange(24 * days)
    rng = np.random.default_rng(1)
    level = start + per_week * hours / (24 * 7) + 0.1 * np.sin(2 * np.pi * hours / 24)
    level += 0.003 * rng.normal(size=len(hours))
    plain = workload([(CAPACITY, CAPACITY)], [(0, days * MS_PER_DAY, 1, 1, 0)])
    usage = np.stack([level * CAPACITY, np.full(len(hours), 30.0)])[:, :, None]
    return changed(
        plain,
        use={
            "times_ms": hours * MS_PER_HOUR,
            "step_ms": MS_PER_HOUR,
            "values": usage.astype(np.float32),
            "background": np.zeros((2, len(hours), 1), np.float32),
        },
    )


def test_the_mean_of_each_day_is_that_of_its_samples() -> None:
    load = _load(15, 0.02)
    plain = [
        sum(float(load.use.values[0, 24 * day + hour, 0]) for hour in range(24)) / 24 / CAPACITY
        for day in range(15)
    ]
    assert day_means(load)[0] == pytest.approx(plain, rel=1e-5)


def test_growth_and_its_end() -> None:
    cpu, memory = growth_facts(_load(28, 0.02))
    assert (cpu.because, cpu.about["days"]) == ("grew", 28)
    assert cpu.value == pytest.approx(0.02, abs=0.001)
    assert cpu.low <= cpu.value <= cpu.high  # type: ignore[operator]
    # 0.4 + 3.5 weeks x 0.02 of it in use at the last week's middle
    assert cpu.about["full_weeks"] == pytest.approx(26, abs=1)
    assert 20 <= cpu.about["soonest_weeks"] <= cpu.about["latest_weeks"] < 30  # type: ignore[operator]
    assert (memory.because, "full_weeks" in memory.about) == ("level", False)


@pytest.mark.parametrize(
    ("days", "per_week", "quantities", "because"),
    [
        (28, 0.0, {}, "level"),
        (28, -0.02, {}, "fell"),
        (1, 0.02, {}, "too_short"),
        (13, 0.02, {}, "too_short"),
        (14, 0.02, {}, "grew"),
        (28, 0.02, {"departures": "absent"}, "no_departures"),
        (28, 0.02, {"departures": set_aside("departures=none")}, "departures_set_aside"),
        (28, 0.02, {"use of containers": "assumed"}, "no_use"),
        (1, 0.02, {"use of containers": "assumed"}, "no_use"),
    ],
)
def test_why_growth_is_unknown_or_none(
    days: int, per_week: float, quantities: dict[str, str], because: str
) -> None:
    load = changed(_load(days, per_week), provenance={"quantities": quantities})
    assert next(growth_facts(load)).because == because
    # to the end of the last step, and it is the replay's time: samples may end before
    assert span_ms(load) == days * MS_PER_DAY
