"""Sums over the containers of each node: what they use, what they request."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.workload import Workload

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Adder(Protocol):
    """Adds up, in the order of arrival, so that every implementation gives the same bits."""

    def used(
        self, load: Workload, running: BoolArray, node: IntArray, step: int
    ) -> NDArray[np.float64]:
        """Background and running containers at a step, shape (nodes, 2)."""

    def requested(self, load: Workload, running: BoolArray, node: IntArray) -> IntArray:
        """Requests of the running containers, shape (nodes, resources)."""


class PlainAdder:
    """Adds up with numpy."""

    def used(
        self, load: Workload, running: BoolArray, node: IntArray, step: int
    ) -> NDArray[np.float64]:
        """Background and running containers at a step, shape (nodes, 2)."""
        at, use = np.flatnonzero(running), load.use_at(step)
        columns = [
            load.background[resource, step] + np.bincount(node[at], use[resource, at], load.nodes)
            for resource in range(2)
        ]
        return np.stack(columns, axis=1)

    def requested(self, load: Workload, running: BoolArray, node: IntArray) -> IntArray:
        """Requests of the running containers, shape (nodes, resources)."""
        counted = np.zeros((load.nodes, len(load.resources)), dtype=np.int64)
        at = np.flatnonzero(running)
        np.add.at(counted, node[at], load.request[at])
        return counted
