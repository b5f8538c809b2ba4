"""The recommender against the answers of the real one, and against itself in a simulation."""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sizing_support import PERIOD_MS, set_of
from tests_support import SHARED

from tracekit.base.arrays import FloatArray
from tracekit.base.units import BYTES_PER_GIB
from tracekit.cluster.request_table import nothing_fixed
from tracekit.sizing.policies import Given, simulate
from tracekit.sizing.policies.vertical_pod_autoscaler import Recommender, VerticalPodAutoscaler
from tracekit.sizing.use import RecordedUse
from tracekit.sizing.world.simset import Settings
from tracekit.sizing.world.simulation import Simulation

#: 94 of 160 services made up and answered by kubernetes/autoscaler @55c37cd5 with its flags at
#: their defaults; where all are at hand, all are compared.
CARRIED = Path(__file__).parents[2] / "golden" / "vpa_recommender.jsonl.gz"
WHOLE = SHARED / "golden" / "real" / "vpa.jsonl.gz"


def recorded(values: FloatArray, times_ms: Any, service: Any, services: int = 1) -> RecordedUse:
    """Use of containers without requests; values of shape (2, steps, containers)."""
    count, times = values.shape[2], np.asarray(times_ms, dtype=np.int64)
    nothing = np.full((count, 2), np.nan)
    return RecordedUse(
        services=tuple(map(str, range(services))),
        service=np.asarray(service, dtype=np.int64),
        request=nothing,
        limit=nothing,
        reserved=nothing,
        fixed=nothing_fixed(count),
        arrival_ms=np.full(count, times[0]),
        departure_ms=np.full(count, times[-1]),
        times_ms=times,
        step_ms=60_000,
        values=values.astype(np.float32),
        measured=np.arange(count),
    )


def test_equals_the_real_one_to_the_digit() -> None:
    with gzip.open(WHOLE if WHOLE.is_file() else CARRIED, "rt") as lines:
        for case in map(json.loads, lines):
            samples = [[pod[name] for pod in case["pods"]] for name in ("cpu", "memory")]
            values = np.array(samples, dtype=np.float64).swapaxes(1, 2)
            pods = len(case["pods"])
            use = recorded(values, case["times_ms"], [0] * pods)
            advice = VerticalPodAutoscaler().recommend(use)
            for name, (milli, memory_bytes) in case["real"].items():
                amounts = advice.request if name == "target" else getattr(advice, name)
                assert amounts[0].tolist() == [milli / 1000, memory_bytes], (case["name"], name)


def made(containers: int, **changed: Any) -> Recommender:
    given_to = Given(
        containers=containers,
        period_ms=PERIOD_MS,
        settings=Settings(),
        rng=np.random.default_rng(0),
    )
    return VerticalPodAutoscaler(**changed).start(given_to)


@pytest.mark.slow
@pytest.mark.parametrize("periods", [1, 60, 6000])
def test_a_simulation_recommends_what_recorded_use_does(periods: int) -> None:
    rng = np.random.default_rng(periods)
    use = (rng.uniform(0.0, 4.0, (periods, 3, 2)) ** 2 / 4).astype(np.float32).astype(float)
    recommender = made(3)
    for row in use:
        recommender.add(row)
    values = use.transpose(2, 0, 1) * np.array([1, BYTES_PER_GIB])[:, None, None]
    times = np.arange(periods) * PERIOD_MS
    advice = VerticalPodAutoscaler().recommend(recorded(values, times, range(3), services=3))
    gib = np.array([1, BYTES_PER_GIB])
    amounts = recommender.target(), *recommender.bounds()
    for one, other in zip(amounts, (advice.request, advice.lower, advice.upper), strict=True):
        assert one * gib == pytest.approx(other)


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


def of_hours(cpu: dict[float, float]) -> RecordedUse:
    """One container with its CPU by hour, and 500 MiB."""
    values = np.array([[[one] for one in cpu.values()], [[500.0 * 2**20]] * len(cpu)])
    return recorded(values, [round(hour * 3_600_000) for hour in cpu], [0])


def test_within_its_bounds_a_request_stays() -> None:
    use = of_hours({hour / 60: 0.1 for hour in range(25)})
    for present, request in ((0.15, 0.15), (0.05, 0.126)):
        asks = dataclasses.replace(use, request=np.array([[present, 9e9]]))
        recommended = VerticalPodAutoscaler(apply="bounds").recommend(asks).request[0]
        assert recommended.tolist() == [request, 9e9]


def test_without_a_sample_the_least_is_recommended_within_bounds_that_are_the_least() -> None:
    use = recorded(np.full((2, 3, 1), np.nan), [0, 60_000, 120_000], [0])
    for amounts in VerticalPodAutoscaler().recommend(use):
        assert amounts is not None
        assert amounts.tolist() == [[0.025, 250 * 2**20]]
