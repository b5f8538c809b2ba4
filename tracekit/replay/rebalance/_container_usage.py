"""What each container uses, for policies that weigh a move by it."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.view.snapshot import Snapshot
from tracekit.replay.workload.resources import BASE


def measured_amounts(snapshot: Snapshot) -> IntArray:
    """Amounts each running container uses, shape (placed, resources).

    cpu and memory as measured at the newest sample; where a container was not measured, its part of
    what its node uses, by requests. Other resources, pods among them, as requested.
    """
    placed = snapshot.placed
    amounts = placed.request.copy()
    for column in range(len(BASE)):
        use = _share_of_node(snapshot, column)
        if placed.usage is not None:
            own = placed.usage[:, column]
            use = np.where(np.isnan(own), use, own)
        amounts[:, column] = np.rint(use)
    return amounts


def _share_of_node(snapshot: Snapshot, column: int) -> FloatArray:
    placed = snapshot.placed
    requested = snapshot.requested[:, column].astype(np.float64)
    used = np.nan_to_num(snapshot.usage.latest(column), nan=0.0) * snapshot.capacity[:, column]
    per_unit = np.divide(used, requested, out=np.zeros(len(used)), where=requested > 0)
    return np.asarray(placed.request[:, column] * per_unit[placed.node])
