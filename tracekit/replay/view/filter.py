"""Which nodes a container fits on: requests against what is left, nothing else.

Source: NodeResourcesFit of kubernetes v1.34. Real requests count, never the non-zero defaults;
limits never matter; a container that requests nothing only needs a free place in ``pods``.
"""

from __future__ import annotations

import numpy as np

from tracekit.arrays import BoolArray, IntArray
from tracekit.replay.view.snapshot import Container, Snapshot

#: Of so few nodes all resources are compared at once.
_FEW = 64


def lacking(snapshot: Snapshot, container: Container, nodes: IntArray | None = None) -> BoolArray:
    """Where a node has too little of a resource left, shape (nodes, resources); of all or some."""
    chosen = slice(None) if nodes is None else nodes
    left = snapshot.allocatable[chosen] - snapshot.requested[chosen]
    return np.asarray((left < container.request) & (container.request > 0))


def fits(snapshot: Snapshot, container: Container, nodes: IntArray | None = None) -> BoolArray:
    """Which nodes have room for the container, shape (nodes,); of all nodes or of some."""
    if nodes is not None and len(nodes) <= _FEW:
        return np.asarray(~lacking(snapshot, container, nodes).any(axis=1))
    chosen = slice(None) if nodes is None else nodes
    room: BoolArray = np.ones(len(snapshot.allocatable[chosen]), dtype=np.bool_)
    for column in np.flatnonzero(container.request > 0):
        # resource by resource: so many rows are too short to be compared whole
        free = snapshot.allocatable[chosen, column] - snapshot.requested[chosen, column]
        room &= free >= container.request[column]
    return room
