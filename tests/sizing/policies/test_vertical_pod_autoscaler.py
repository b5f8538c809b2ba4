"""The recommender against one written sample by sample, and its released defaults."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as runs
from hypothesis import strategies as some
from plain_requests import PlainHistogram
from sizing_support import PERIOD_MS, set_of

from tracekit.replay.workload.requests.reserved import nothing_fixed
from tracekit.sizing.policies.vertical_pod_autoscaler import (
    CPU_BUCKETS,
    MEMORY_BUCKETS,
    Buckets,
    Recommender,
    VerticalPodAutoscaler,
)
from tracekit.sizing.policy import Given
from tracekit.sizing.simulate import simulate
from tracekit.sizing.use import RecordedUse
from tracekit.sizing.world.settings import Settings
from tracekit.sizing.world.simulation import Simulation
from tracekit.units import BYTES_PER_GIB


def plain_target(
    cpu: list[float], memory: list[float], request: list[float]
) -> tuple[float, float]:
    """Target of one container from its samples, days of 24 hours, no out-of-memory kill."""
    cores, peaks = PlainHistogram(0.01, 1000.0), PlainHistogram(1e7, 1e12)
    day_ends, peak = 0.0, 0.0
    day = 24 * 3600_000
    for at, (c, m, r) in enumerate(zip(cpu, memory, request, strict=True)):
        now = at * PERIOD_MS
        cores.add(c, max(r, 0.1) * 2 ** (now / day))
        value = m * BYTES_PER_GIB
        if now >= day_ends:
            day_ends += (now - day_ends) // day * day + day
            peak = value
            peaks.add(value, 2 ** (day_ends / day))
        elif value > peak:
            if peak:
                peaks.subtract(peak, 2 ** (day_ends / day))
            peak = value
            peaks.add(value, 2 ** (day_ends / day))
    return (
        max(cores.percentile(0.9) * 1.15, 0.025),
        max(peaks.percentile(0.9) * 1.15 / BYTES_PER_GIB, 250 / 1024),
    )


@given(some.integers(0, 10_000), some.integers(1, 60))
@runs(max_examples=25)
def test_equals_the_one_written_sample_by_sample(seed: int, periods: int) -> None:
    rng = np.random.default_rng(seed)
    use = rng.uniform(0.0, 4.0, (3, periods, 2)) ** 2 / 4
    request = rng.integers(1, 5, (3, periods)).astype(float)
    recommender = made(3)
    for at in range(periods):
        recommender._add(use[:, at], request[:, at])
    target = recommender.estimate(np.arange(3), 0.9)
    for one in range(3):
        plain = plain_target(
            use[one, :, 0].tolist(), use[one, :, 1].tolist(), request[one].tolist()
        )
        assert target[one] == pytest.approx(plain)


def made(containers: int, **changed: Any) -> Recommender:
    given_to = Given(
        containers=containers,
        period_ms=PERIOD_MS,
        settings=Settings(),
        rng=np.random.default_rng(0),
    )
    return VerticalPodAutoscaler(**changed).start(given_to)


def test_released_defaults() -> None:
    policy = VerticalPodAutoscaler()
    assert (policy.target, policy.lower, policy.upper) == (0.9, 0.5, 0.95)
    assert (policy.margin, policy.half_life_hours) == (0.15, 24.0)
    assert (policy.least_cores, policy.least_mib) == (0.025, 250.0)
    # bucket counts of histogram_options.go for (1000, 0.01) and (1e12, 1e7) at ratio 1.05
    assert (CPU_BUCKETS.count, MEMORY_BUCKETS.count) == (176, 176)


def test_buckets_grow_by_five_percent() -> None:
    buckets = Buckets(0.01, 1000.0)
    assert buckets.starts[:3] == pytest.approx([0.0, 0.01, 0.0205])
    assert np.diff(buckets.starts[1:])[1:] / np.diff(buckets.starts[1:])[:-1] == pytest.approx(1.05)
    assert buckets.starts[-1] >= 1000.0
    assert buckets.find(np.array([0.0, 0.0099, 0.0101, 5000.0])).tolist() == [0, 0, 1, 175]


def test_memory_is_the_days_peak() -> None:
    recommender = made(1)
    for memory in (0.5, 2.0, 0.4, 1.0):
        recommender._add(np.array([[0.1, memory]]), np.ones(1))
    found = recommender.estimate(np.array([0]), 0.5)[0, 1]
    end = MEMORY_BUCKETS.starts[MEMORY_BUCKETS.find(np.array([2.0 * BYTES_PER_GIB]))[0] + 1]
    assert found == pytest.approx(end * 1.15 / BYTES_PER_GIB)


def test_a_new_day_has_a_peak_of_its_own() -> None:
    recommender = made(1)
    day = round(24 * 3600_000 / PERIOD_MS)
    for at in range(2 * day):
        recommender._add(np.array([[0.1, 3.0 if at < day else 1.0]]), np.ones(1))
    # yesterday's peak weighs half of today's: the median is today's, the 90th percentile is not
    assert recommender.estimate(np.array([0]), 0.5)[0, 1] < 1.3
    assert recommender.estimate(np.array([0]), 0.9)[0, 1] > 3.0


def test_running_out_of_memory_raises_the_peak() -> None:
    need = np.full((1, 3, 2), 0.3)
    need[0, :, 1] = 2.5
    simulation = Simulation(set_of(need), Settings(cycle_periods=1))
    simulate(simulation, VerticalPodAutoscaler(), rng=np.random.default_rng(0))
    # killed at 1 GB: 1.2 GB, and 15 % more, is two sizes' worth; killed at 2 GB: three
    assert simulation.arrays.limits[0, :, 1].tolist() == [1, 2, 3]


def test_bounds_are_wide_while_the_history_is_short() -> None:
    recommender = made(1)
    spans = []
    for _ in range(200):
        recommender._add(np.array([[1.0, 1.0]]), np.ones(1))
        low, high = recommender.bounds(np.array([0]))
        spans.append((float(low[0, 0]), float(high[0, 0])))
    target = float(recommender.estimate(np.array([0]), 0.9)[0, 0])
    assert all(low <= target <= high for low, high in spans)
    assert spans[10][0] < spans[199][0]
    assert spans[10][1] > spans[199][1]
    # recommender.go: after an hour the lower bound is at 0.95 of what it will be
    assert spans[120][0] / target == pytest.approx(0.95, abs=0.01)


def test_bounds_change_less_often_than_the_target() -> None:
    rng = np.random.default_rng(3)
    need = np.clip(rng.normal(1.4, 0.4, (6, 300, 2)), 0, 4)
    changed = []
    for apply in ("target", "bounds"):
        simulation = Simulation(set_of(need), Settings(nodes=6))
        policy = VerticalPodAutoscaler(apply=apply)
        simulate(simulation, policy, rng=np.random.default_rng(0))
        changed.append(int(simulation.changed_cycles.sum()))
    assert changed[1] <= changed[0]


def one_service(cpu: dict[float, float], memory_bytes: float) -> RecordedUse:
    """One container without a request, with its CPU by hour and one memory."""
    times = np.array([round(hour * 3_600_000) for hour in cpu], dtype=np.int64)
    values = np.array([[[one] for one in cpu.values()], [[memory_bytes]] * len(cpu)])
    return RecordedUse(
        services=("web",),
        service=np.zeros(1, dtype=np.int64),
        request=np.full((1, 2), np.nan),
        limit=np.full((1, 2), np.nan),
        reserved=np.full((1, 2), np.nan),
        fixed=nothing_fixed(1),
        arrival_ms=times[:1],
        departure_ms=times[-1:] + 60_000,
        times_ms=times,
        step_ms=60_000,
        values=values.astype(np.float32),
        measured=np.zeros(1, dtype=np.int64),
    )


@pytest.mark.parametrize(
    ("cpu", "memory_mib", "cores", "memory_bytes"),
    [
        # 0.1 cores are in bucket 8, which ends at 0.2 (1.05**9 - 1); 500 MiB in bucket 26
        ({0: 0.1, 1: 0.1}, 500, 0.110265643 * 1.15, 546_691_265 * 1.15),
        # less than 25m and 250 MiB are never recommended
        ({0: 0.001}, 9, 0.025, 250 * 2**20),
        # after three half-lives the old sample has a ninth of the weight, after four a 17th
        ({0: 1.0, 72: 0.1}, 500, 1.01628138 * 1.15, 546_691_265 * 1.15),
        ({0: 1.0, 96: 0.1}, 500, 0.110265643 * 1.15, 546_691_265 * 1.15),
    ],
)
def test_a_request_by_hand(
    cpu: dict[float, float], memory_mib: float, cores: float, memory_bytes: float
) -> None:
    found = VerticalPodAutoscaler().recommend(one_service(cpu, memory_mib * 2**20))
    assert found.request[0] == pytest.approx([cores, memory_bytes], rel=1e-6)


def test_bounds_of_a_request_by_hand() -> None:
    use = one_service({hour / 60: 0.1 for hour in range(25)}, 500 * 2**20)
    found = VerticalPodAutoscaler().recommend(use)
    assert found.lower is not None
    assert found.upper is not None
    # 25 samples a minute apart: 24 minutes of history
    days = 24 / 60 / 24
    target = 0.110265643 * 1.15
    assert found.lower[0, 0] == pytest.approx(target * (1 + 0.001 / days) ** -2)
    assert found.upper[0, 0] == pytest.approx(target * (1 + 1 / days))
    asks = dataclasses.replace(use, request=np.array([[0.15, 9e9]]))
    kept = VerticalPodAutoscaler(apply="bounds").recommend(asks).request[0]
    # within its bounds a request stays: the upper one is far above all after so short a time
    assert kept.tolist() == [0.15, 9e9]
    asks = dataclasses.replace(use, request=np.array([[0.05, 9e9]]))
    moved = VerticalPodAutoscaler(apply="bounds").recommend(asks).request
    assert moved[0, 0] == pytest.approx(target)


def test_very_old_samples_are_still_numbers() -> None:
    use = one_service({0: 1.0, 24 * 2_000: 0.1}, 500 * 2**20)
    found = VerticalPodAutoscaler().recommend(use).request[0, 0]
    assert found == pytest.approx(0.110265643 * 1.15)
