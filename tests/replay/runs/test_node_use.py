"""How full each node is: against the use of a node's containers, added up one by one."""

from __future__ import annotations

import numpy as np
import polars as pl
from replay_support import STEP_MS, changed, widened, workload

from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.replay.runs.one import by_number
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
    found = node_use(load, [("p", placed)])
    steps = [
        at for at, time in enumerate(load.use.times_ms.tolist()) if time >= load.use.settled_ms
    ]
    for position, name in enumerate(load.nodes.ids):
        row = found.filter(policy="p", node=name)
        for resource, column in enumerate(("cpu_mean_fraction", "memory_mean_fraction")):
            total = 0.0
            for step in steps:
                total += float(load.use.background[resource, step, position])
                there, use = load.present(step), load.use.at(step)
                for container in range(load.containers.count):
                    if node[container] == position and there[container]:
                        total += float(use[resource, container])
            expected = total / len(steps) / float(load.nodes.capacity[position, resource])
            assert row[column].item() == np.float32(expected)


def test_of_a_further_resource_what_is_requested_or_recorded_is_on_its_nodes() -> None:
    """GPU is requested alone; of network the use is recorded, but for one container at one step."""
    load = made()
    asked = np.array([[1000, 0], [0, 0], [500, 10], [0, 20], [500, 0]])
    used = np.arange(4 * 5, dtype=np.float32).reshape(1, 4, 5)
    used[0, 2, 3] = np.nan
    room = np.column_stack([[2000, 0], [100, 50]])
    load = changed(
        widened(load, room, asked, "gpu_milli", "net_kbit"),
        use={"further_resources": (3,), "further": used},
    )
    node = np.array([0, 1, 0, 1, -1])
    placed = by_number(node, np.zeros(load.containers.count, dtype=np.int64))
    found = node_use(load, [("p", placed)])
    steps = range(len(load.use.times_ms))
    gpu, net = [0.0, 0.0], [0.0, 0.0]
    for step in steps:
        for container in range(load.containers.count):
            if node[container] >= 0 and load.present(step)[container]:
                gpu[node[container]] += float(asked[container, 0])
                its = float(used[0, step, container])
                net[node[container]] += float(asked[container, 1]) if np.isnan(its) else its
    assert found["gpu_milli_mean_fraction"].to_list() == [np.float32(gpu[0] / 4 / 2000), None]
    expected = [np.float32(total / 4 / whole) for total, whole in zip(net, (100, 50), strict=True)]
    assert found["network_mean_fraction"].to_list() == expected
    assert node_use(load, []).columns == found.columns
    assert node_use(made(), []).columns == found.columns[:4], "no larger without further resources"


def test_a_run_has_it_of_every_policy() -> None:
    load = made()
    run = replay(load, [parse_policy("first_fit"), parse_policy("least_allocated")], seed=0)
    assert run.nodes is not None
    counted = run.nodes.group_by("policy", maintain_order=True).agg(pl.len())
    assert counted.rows() == [
        ("first_fit", load.nodes.count),
        ("least_allocated", load.nodes.count),
    ]
