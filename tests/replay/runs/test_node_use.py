"""How full each node is, against sums over its containers; and use that grows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from replay_support import STEP_MS, changed, widened, workload

from tracekit.base.units import MS_PER_DAY, MS_PER_HOUR
from tracekit.cluster.provenance import set_aside
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.replay.runs.one import by_number
from tracekit.replay.runs.remarks import day_means, growth_facts, span_ms
from tracekit.replay.runs.run import node_use, replay

NODES = [(4000, 8000), (2000, 8000)]
ROWS = [
    (0, 10 * STEP_MS, 500, 1000),
    (0, 2 * STEP_MS, 250, 500),
    (STEP_MS, 10 * STEP_MS, 1000, 100),
    (2 * STEP_MS, 3 * STEP_MS, 100, 800),
    (0, 10 * STEP_MS, 300, 300),
]


def made() -> Workload:
    background = np.arange(2 * 4 * 2, dtype=np.float32).reshape(2, 4, 2)
    return workload(NODES, ROWS, background=background)


def test_every_node_is_as_full_as_its_containers_and_its_background() -> None:
    load = made()
    node = np.arange(load.containers.count, dtype=np.int64) % load.nodes.count
    node[-1] = -1
    placed = by_number(node, np.zeros(load.containers.count, dtype=np.int64))
    result = node_use(load, [("p", placed)])
    steps = [
        at for at, time in enumerate(load.use.times_ms.tolist()) if time >= load.use.settled_ms
    ]
    for position, name in enumerate(load.nodes.ids):
        row = result.filter(policy="p", node=name)
        for resource, column in enumerate(("cpu_mean_fraction", "memory_mean_fraction")):
            total = 0.0
            for step in steps:
                total += float(load.use.background[resource, step, position])
                mask, use = load.present(step), load.use.at(step)
                for container in range(load.containers.count):
                    if node[container] == position and mask[container]:
                        total += float(use[resource, container])
            expected = total / len(steps) / float(load.nodes.capacity[position, resource])
            assert row[column].item() == np.float32(expected)


def test_of_a_further_resource_what_is_requested_or_recorded_is_on_its_nodes() -> None:
    """GPU is requested alone; of network the use is recorded, but for one container at one step."""
    load = made()
    requested = np.array([[1000, 0], [0, 0], [500, 10], [0, 20], [500, 0]])
    used = np.arange(4 * 5, dtype=np.float32).reshape(1, 4, 5)
    used[0, 2, 3] = np.nan
    room = np.column_stack([[2000, 0], [100, 50]])
    load = changed(
        widened(load, room, requested, "gpu_milli", "net_kbit"),
        use={"further_resources": (3,), "further": used},
    )
    node = np.array([0, 1, 0, 1, -1])
    placed = by_number(node, np.zeros(load.containers.count, dtype=np.int64))
    result = node_use(load, [("p", placed)])
    steps = range(len(load.use.times_ms))
    gpu, net = [0.0, 0.0], [0.0, 0.0]
    for step in steps:
        for container in range(load.containers.count):
            if node[container] >= 0 and load.present(step)[container]:
                gpu[node[container]] += float(requested[container, 0])
                its = float(used[0, step, container])
                net[node[container]] += float(requested[container, 1]) if np.isnan(its) else its
    assert result["gpu_milli_mean_fraction"].to_list() == [np.float32(gpu[0] / 4 / 2000), None]
    expected = [np.float32(total / 4 / whole) for total, whole in zip(net, (100, 50), strict=True)]
    assert result["network_mean_fraction"].to_list() == expected
    assert node_use(load, []).columns == result.columns
    assert node_use(made(), []).columns == result.columns[:4], "no larger without further resources"


def test_a_run_has_it_of_every_policy() -> None:
    load = made()
    run = replay(load, [parse_policy("first_fit"), parse_policy("least_allocated")], seed=0)
    assert run.nodes is not None
    counted = run.nodes.group_by("policy", maintain_order=True).agg(pl.len())
    assert counted.rows() == [
        ("first_fit", load.nodes.count),
        ("least_allocated", load.nodes.count),
    ]


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
