"""Best fit by cell: the node with a NUMA cell that has the least cpu left after placing."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.cluster.constraints.constraint import CellChoice
from tracekit.cluster.resources import CPU, amount_text
from tracekit.policy.placement import PlacementPolicy, Reads, Scores
from tracekit.policy.view.snapshot import Container, Snapshot

#: More millicores than any cell has; marks a cell without room.
_NONE = np.int64(2**62)


@dataclass(frozen=True, kw_only=True)
class BestFitCell(PlacementPolicy):
    """Fill the fullest NUMA cell with room, so that other cells stay whole.

    A container of one cell goes to the cell with the least cpu left. For a container of several
    cells, or of none, the whole node counts. Without cells it is best fit by cpu alone.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "cells"})
    source: ClassVar[str] = (
        "best-fit bin packing by cpu on the cells of a host, the baseline of topology-aware VM"
        " placement (dataset huawei_topology25)"
    )
    cell: ClassVar[CellChoice] = "tight"

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Minus the millicores left in the best cell with room, or on the node."""
        if container.numa_cells != 1 or snapshot.free_cells is None:
            free = snapshot.allocatable[nodes, 0] - snapshot.requested[nodes, 0]
            return np.asarray(container.request[0] - free)
        left = snapshot.free_cells[nodes] - container.request[:2]
        fits = ((left >= 0) | (container.request[:2] <= 0)).all(axis=2)
        return np.asarray(-np.where(fits, left[:, :, 0], _NONE).min(axis=1))

    def shown_score(self, score: float) -> float | str:
        """A score in cores."""
        return amount_text(score, CPU)
