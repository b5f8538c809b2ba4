"""How full each node is: against the use of a node's containers, added up one by one."""

from __future__ import annotations

import numpy as np
import polars as pl
from replay_support import STEP_MS, workload

from tracekit.replay.policy.parse import parse_policy
from tracekit.replay.runs.node_use import node_use
from tracekit.replay.runs.placements import by_number
from tracekit.replay.runs.run import replay
from tracekit.replay.workload.workload import Workload

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
    node = np.arange(load.containers, dtype=np.int64) % load.nodes
    node[-1] = -1
    placed = by_number(node, np.zeros(load.containers, dtype=np.int64))
    found = node_use(load, [("p", placed)])
    steps = [at for at, time in enumerate(load.times_ms.tolist()) if time >= load.settled_ms]
    for position, name in enumerate(load.node_ids):
        row = found.filter(policy="p", node=name)
        for resource, column in enumerate(("cpu_mean_fraction", "memory_mean_fraction")):
            total = 0.0
            for step in steps:
                total += float(load.background[resource, step, position])
                there, use = load.present(step), load.use_at(step)
                for container in range(load.containers):
                    if node[container] == position and there[container]:
                        total += float(use[resource, container])
            expected = total / len(steps) / float(load.capacity[position, resource])
            assert row[column].item() == np.float32(expected)


def test_a_run_has_it_of_every_policy() -> None:
    load = made()
    run = replay(load, [parse_policy("first_fit"), parse_policy("least_allocated")], seed=0)
    assert run.nodes is not None
    counted = run.nodes.group_by("policy", maintain_order=True).agg(pl.len())
    assert counted.rows() == [("first_fit", load.nodes), ("least_allocated", load.nodes)]
