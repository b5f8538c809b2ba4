"""Use of a resource on each node: measured if known, else requested.

Workloads measure cpu and memory. Of network and disk most say nothing; then the requests of the
containers on a node stand for their use, which is an assumption of this project.
"""

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.view.snapshot import Container, Snapshot


def measured_fraction(snapshot: Snapshot, column: int) -> FloatArray:
    """Fraction of capacity at the newest sample, shape (nodes,); NaN where nothing is measured."""
    try:
        return snapshot.usage.latest(column)
    except IndexError:  # a history of cpu and memory alone
        return np.full(len(snapshot.capacity), np.nan)


def used_amount(snapshot: Snapshot, column: int) -> FloatArray:
    """Amount used at the newest sample, else the amount requested, shape (nodes,)."""
    measured = measured_fraction(snapshot, column) * snapshot.capacity[:, column]
    return np.where(np.isnan(measured), snapshot.requested[:, column], measured)


def used_fraction(snapshot: Snapshot, column: int) -> FloatArray:
    """``used_amount`` over capacity, shape (nodes,); 0 on a node that has none of the resource."""
    capacity = snapshot.capacity[:, column]
    return ratio(used_amount(snapshot, column), capacity, otherwise=0.0)


def fraction_after(snapshot: Snapshot, column: int, container: Container) -> FloatArray:
    """Fraction used with the container on top, shape (nodes,); 1 where there is no capacity."""
    after = used_amount(snapshot, column) + float(container.request[column])
    return ratio(after, snapshot.capacity[:, column], otherwise=1.0)


def ratio(part: FloatArray, whole: IntArray | FloatArray, *, otherwise: float) -> FloatArray:
    """``part / whole`` where there is a whole, else ``otherwise``."""
    return np.divide(part, whole, out=np.full(np.shape(whole), otherwise), where=whole > 0)


def has_room(snapshot: Snapshot, column: int, container: Container, nodes: IntArray) -> IntArray:
    """Candidates whose measured use plus the container's need stays within capacity.

    Returns
    -------
    int64, shape (valid,)
        Positions in ``nodes``.
    """
    after = used_amount(snapshot, column)[nodes] + container.request[column]
    capacity = snapshot.capacity[nodes, column]
    return np.flatnonzero((after <= capacity) & (capacity > 0))
