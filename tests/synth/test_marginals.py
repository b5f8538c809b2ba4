"""The small trace against the statistics of the real one (tolerances are stated per number)."""

from __future__ import annotations

import numpy as np
import pytest

from tracekit.base.arrays import FloatArray
from tracekit.synth.container_usage import noise_states, usage_hour
from tracekit.synth.node_usage import node_blocks, plan_nodes
from tracekit.synth.truth import ContainerSums, hour_sums
from tracekit.synth.world import World

PROBABILITIES = {"p1": 0.01, "p5": 0.05, "p10": 0.10, "p25": 0.25, "p50": 0.50, "p75": 0.75,
                 "p90": 0.90, "p95": 0.95, "p99": 0.99}  # fmt: skip


@pytest.fixture(scope="module")
def usage(small_world: World) -> dict[str, FloatArray]:
    """Printed values; containers as (containers, steps), nodes as (nodes, steps)."""
    sums = ContainerSums(small_world)
    hours = []
    for number, state in enumerate(noise_states(small_world)):
        hour = usage_hour(small_world, number, state)
        sums.add(hour_sums(small_world, hour))
        hours.append(hour)
    plan = plan_nodes(small_world.preset, small_world.seeds)
    below = sums.node_cpu_fraction, sums.node_memory_peak_fraction
    blocks = list(node_blocks(small_world, plan, *below))
    return {
        "container_cpu": np.concatenate([hour.cpu_fraction for hour in hours], axis=1),
        "container_memory": np.concatenate([hour.memory_fraction for hour in hours], axis=1),
        "node_cpu": np.concatenate([block.cpu_fraction for block in blocks]),
        "node_memory": np.concatenate([block.memory_fraction for block in blocks]),
    }


#: What is published about the real trace, and how far the small one may be from it.
QUANTILES: dict[str, dict[str, tuple[float, float]]] = {
    "node_cpu": {"p5": (0.523, 0.06), "p25": (0.660, 0.02), "p50": (0.710, 0.02),
                 "p75": (0.750, 0.02), "p95": (0.793, 0.02), "p99": (0.830, 0.02)},
    "node_memory": {"p5": (0.699, 0.02), "p25": (0.742, 0.01), "p50": (0.761, 0.01),
                    "p75": (0.778, 0.01), "p95": (0.813, 0.01), "p99": (0.837, 0.01)},
    "container_cpu": {"p1": (0.033, 0.01), "p10": (0.063, 0.01), "p25": (0.095, 0.015),
                      "p50": (0.156, 0.02), "p75": (0.250, 0.03), "p90": (0.339, 0.04)},
    "container_memory": {"p5": (0.431, 0.04), "p25": (0.583, 0.03), "p50": (0.666, 0.03),
                         "p75": (0.749, 0.03), "p95": (0.845, 0.04), "p99": (0.899, 0.04)},
}  # fmt: skip
MOMENTS = {
    "node_cpu": (0.689, 0.107, 0.02),
    "node_memory": (0.753, 0.071, 0.015),
    "container_cpu": (0.187, 0.125, 0.015),
    "container_memory": (0.657, 0.132, 0.015),
}


@pytest.mark.parametrize(
    ("series", "name"), [(series, name) for series in QUANTILES for name in QUANTILES[series]]
)
def test_quantiles(usage: dict[str, FloatArray], series: str, name: str) -> None:
    expected, tolerance = QUANTILES[series][name]

    result = np.quantile(usage[series], PROBABILITIES[name])
    assert result == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("series", MOMENTS)
def test_mean_and_spread(usage: dict[str, FloatArray], series: str) -> None:
    mean, sd, tolerance = MOMENTS[series]

    assert usage[series].mean() == pytest.approx(mean, abs=tolerance)
    assert usage[series].std() == pytest.approx(sd, abs=tolerance)


@pytest.mark.parametrize(("level", "expected"), [("node", 0.52), ("container", 0.33)])
def test_cpu_and_memory_go_together(
    usage: dict[str, FloatArray], level: str, expected: float
) -> None:
    cpu, memory = usage[f"{level}_cpu"].ravel(), usage[f"{level}_memory"].ravel()

    assert np.corrcoef(cpu, memory)[0, 1] == pytest.approx(expected, abs=0.12)


@pytest.mark.parametrize(
    ("series", "expected", "tolerance"),
    [("node_cpu", 0.018, 0.003), ("node_memory", 1e-4, 1e-4)],
)
def test_steps_from_sample_to_sample(
    usage: dict[str, FloatArray], series: str, expected: float, tolerance: float
) -> None:
    steps = np.abs(np.diff(usage[series], axis=1))

    assert np.median(steps) == pytest.approx(expected, abs=tolerance)


def test_only_planted_samples_exceed_a_node(usage: dict[str, FloatArray]) -> None:
    assert (usage["node_cpu"] > 1).sum() == 3
    assert usage["node_cpu"].min() > 0
    assert 0 < usage["node_memory"].min() < usage["node_memory"].max() < 1
    assert usage["container_cpu"].max() < 2
    assert usage["container_memory"].max() < 1


@pytest.mark.parametrize(
    ("series", "cv", "tolerance"),
    [("container_cpu", 0.10, 0.03), ("container_memory", 0.010, 0.003)],
)
def test_containers_of_a_service_are_alike(
    small_world: World, usage: dict[str, FloatArray], series: str, cv: float, tolerance: float
) -> None:
    service, values = small_world.containers.service, usage[series]
    groups = [values[service == number] for number in range(small_world.preset.services)]
    within = sum(group.var() * group.size for group in groups) / values.size

    assert 1 - within / values.var() == pytest.approx(0.95, abs=0.05)
    spread = np.median([group.std() / group.mean() for group in groups])
    assert spread == pytest.approx(cv, abs=tolerance)


def test_services_have_a_heavy_tail_of_sizes(small_world: World) -> None:
    share = small_world.services.sizes / small_world.preset.containers

    assert share.sum() == pytest.approx(1)
    # 1300 services act like 214 of equal size; a cap on the largest keeps small traces fairer
    assert 0.1 < 1 / (share**2).sum() / len(share) < 0.5
    assert share.max() > 4 / len(share)
    assert (small_world.services.sizes <= 3).mean() > 0.2


def test_containers_are_spread_evenly(small_world: World) -> None:
    counts = np.bincount(small_world.containers.node, minlength=small_world.preset.nodes)

    assert counts.mean() == pytest.approx(7.4, abs=0.1)
    assert np.quantile(counts, [0.05, 0.95]).tolist() == pytest.approx([5, 10], abs=1.5)
    pairs = np.stack([small_world.containers.service, small_world.containers.node])
    assert np.unique(pairs, axis=1).shape[1] == small_world.preset.containers


def test_zones_and_boundary_nodes(small_world: World) -> None:
    plan = plan_nodes(small_world.preset, small_world.seeds)
    close = np.abs(np.abs(plan.pearson_r) - 0.3) < 0.05

    assert 1 <= close.sum() <= 20
    assert np.nanmin(np.abs(np.abs(plan.pearson_r) - 0.3)) > 1e-4
    for zone, share in {"A": 0.16, "B": 0.35, "C": 0.46, "U": 0.03}.items():
        assert plan.zones.count(zone) / len(plan.zones) == pytest.approx(share, abs=0.05)


def test_bursts_and_the_daily_curve(small_world: World) -> None:
    activity = small_world.activity
    bursty = (activity[:, 1:] > 1.9 * activity[:, :-1]).any(axis=1)

    assert bursty.mean() == pytest.approx(0.27, abs=0.08)
    assert activity.mean(axis=1) == pytest.approx(np.ones(len(activity)))
    calm = np.median(activity, axis=0)
    assert calm.max() / calm.min() > 1.15
    assert (small_world.cpu_per_call_s < 0).mean() == pytest.approx(0.092, abs=0.03)
