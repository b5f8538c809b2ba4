"""Use of a resource on each node: measured if known, else requested.

Workloads measure cpu and memory. Of network and disk most say nothing; then the requests of the
containers on a node stand for their use, which is an assumption of this project.
"""

from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.policy.placement._parts.formula import either
from tracekit.policy.view.snapshot import Container, Snapshot


def measured_fraction(snapshot: Snapshot, column: int) -> FloatArray:
    """Fraction of capacity at the newest sample, shape (nodes,); NaN where nothing is measured."""
    try:
        return snapshot.usage.latest(column)
    except IndexError:  # a history of cpu and memory alone
        return np.full(len(snapshot.capacity), np.nan)


def used_amount(snapshot: Snapshot, column: int) -> FloatArray:
    """Amount used at the newest sample, else the amount requested, shape (nodes,)."""
    measured = measured_fraction(snapshot, column) * snapshot.capacity[:, column]
    return np.asarray(measured_or_requested(measured, snapshot.requested[:, column]))


def used_fraction(snapshot: Snapshot, column: int) -> FloatArray:
    """``used_amount`` over capacity, shape (nodes,); 0 on a node that has none of the resource."""
    capacity = snapshot.capacity[:, column]
    return np.asarray(ratio(used_amount(snapshot, column), capacity, otherwise=0.0))


def fraction_after(snapshot: Snapshot, column: int, container: Container) -> FloatArray:
    """Fraction used with the container on top, shape (nodes,); 1 where there is no capacity."""
    after = used_amount(snapshot, column) + float(container.request[column])
    return np.asarray(ratio(after, snapshot.capacity[:, column], otherwise=1.0))


# The formulas, for arrays and, compiled, for numbers: see ``formula.py``.


def measured_or_requested(measured: Any, requested: Any) -> Any:
    """The amount measured, or the amount requested where none is."""
    return either(np.isnan(measured), requested, measured)


def ratio(part: Any, whole: Any, otherwise: float) -> Any:
    """``part / whole`` where there is a whole, else ``otherwise``."""
    some = whole > 0
    return either(some, part / either(some, whole, 1.0), otherwise)


def left_of(used: Any) -> Any:
    """The fraction that is left; 0 where more than all is used."""
    return np.maximum(1.0 - used, 0.0)


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
