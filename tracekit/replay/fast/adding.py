"""Sums over the containers of each node, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.fast.jit import compiled
from tracekit.replay.workload import Workload

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


class CompiledAdder:
    """Adds up as ``tracekit.replay.adding.PlainAdder`` does, in the same order."""

    def used(self, load: Workload, running: BoolArray, node: IntArray, step: int) -> FloatArray:
        """Background and running containers at a step, shape (nodes, 2)."""
        columns, use = [], load.use_at(step)
        for resource in range(2):
            column = np.zeros(load.nodes)
            add_use(use[resource], running, node, column)
            columns.append(load.background[resource, step] + column)
        return np.stack(columns, axis=1)

    def requested(self, load: Workload, running: BoolArray, node: IntArray) -> IntArray:
        """Requests of the running containers, shape (nodes, resources)."""
        counted = np.zeros((load.nodes, len(load.resources)), dtype=np.int64)
        add_requests(load.request, running, node, counted)
        return counted


@compiled
def add_use(
    usage: NDArray[np.float32], running: BoolArray, node: IntArray, total: FloatArray
) -> None:
    """Add the use of each running container, shape (containers,), to its node's total."""
    for at in range(len(node)):
        if running[at]:
            total[node[at]] += usage[at]


@compiled
def add_requests(request: IntArray, running: BoolArray, node: IntArray, total: IntArray) -> None:
    """Add each running container's requests to its node's, shape (nodes, resources)."""
    for at in range(len(node)):
        if running[at]:
            for resource in range(total.shape[1]):
                total[node[at], resource] += request[at, resource]
