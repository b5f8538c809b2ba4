"""Clusters with running containers, for rebalance policies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.snapshot import Placed, Snapshot
from tracekit.policy.view.usage import SeriesUsage

#: node, cpu_milli, memory_bytes; optionally the use of both
Running = tuple[int, int, int] | tuple[int, int, int, float, float]


def running(
    nodes: Sequence[tuple[int, ...]],
    containers: Sequence[Running],
    *,
    limits: Sequence[tuple[int, int]] | None = None,
    resources: tuple[str, ...] = ("cpu_milli", "memory_bytes"),
) -> Snapshot:
    """Nodes of these sizes with containers on them; a container uses its request unless said.

    With a third resource, pods, every container takes one.
    """
    room = np.array(nodes, dtype=np.int64)
    cluster = Cluster(resources=resources, capacity=room, allocatable=room)
    extra = [1] * (len(resources) - 2)
    request = np.array([[*row[1:3], *extra] for row in containers], dtype=np.int64)
    request = request.reshape(len(containers), len(resources))
    node = np.array([row[0] for row in containers], dtype=np.int64)
    limit = np.zeros_like(request)
    if limits is not None:
        limit[:, :2] = limits
    for at, taken in zip(node.tolist(), request, strict=True):
        cluster.change(at, taken, taken, taken, sign=1)
    own = np.array([row[3:] or row[1:3] for row in containers], dtype=np.float64).reshape(-1, 2)
    used = np.zeros((len(nodes), 2))
    np.add.at(used, node, own)
    placed = Placed(
        node=node,
        time_ms=np.zeros(len(node), dtype=np.int64),
        request=request,
        limit=limit,
        service=("s",) * len(node),
        usage=own,
    )
    history = SeriesUsage((used / room[:, :2])[None], 0)
    return cluster.snapshot(0, usage=history, placed=placed)
