"""TBESK: the nodes and the pod of its worked example, and a small workload."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracekit.cluster.named import Paper000
from tracekit.cluster.source import drawn_workload
from tracekit.policy.parse import parse_policy
from tracekit.policy.placement._parts.fitness import FitnessPolicy
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.snapshot import Snapshot
from tracekit.policy.view.usage import SeriesUsage

FOUR = ("cpu_milli", "memory_bytes", "net_kbit", "disk_bytes")
GOLDEN = {  # total, used at the peak, fitness by hand
    "n1": ((32, 64, 1000, 1000), (16, 20, 300, 400), 1.25268398268398),
    "n2": ((48, 96, 2000, 1500), (30, 70, 500, 900), 1.15139423076923),
    "n3": ((16, 64, 1000, 500), (13, 16, 200, 100), None),
}
POD = (4, 4, 120, 50)


def cluster(
    total: Any, requested: Any, *, used: Any = None, resources: tuple[str, ...] = FOUR
) -> Snapshot:
    """Nodes with requests on them; measured fractions, shape (samples, nodes, 2), at time 0."""
    room, taken = np.array(total, dtype=np.int64), np.array(requested, dtype=np.int64)
    made = Cluster(resources=resources, capacity=room, allocatable=room)
    for node, amounts in enumerate(taken):
        made.change(node, amounts, amounts, amounts, sign=1)
    samples = np.empty((0, len(room), 2)) if used is None else np.asarray(used, np.float64)
    seen = SeriesUsage(samples, 0 if len(samples) else None)
    return made.snapshot(1, usage=seen)


def fitness_policy(text: str = "tbesk_exact") -> FitnessPolicy:
    """A policy that scores by fitness."""
    policy = parse_policy(text)
    assert isinstance(policy, FitnessPolicy)
    return policy


def golden() -> Snapshot:
    """The nodes of the worked example."""
    return cluster([row[0] for row in GOLDEN.values()], [row[1] for row in GOLDEN.values()])


def small(*assume: str, **given: Any) -> Any:
    """Sixty containers for six nodes, always the same."""
    drawn = Paper000(containers=60, nodes=6, target_alloc_fraction=0.4, **given)
    return drawn_workload(drawn, np.random.default_rng(1), *assume)
