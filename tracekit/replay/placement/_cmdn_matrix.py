"""Decision matrices of CMDN: what each node uses, as the original sees it and as repaired."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import BoolArray, FloatArray, IntArray
from tracekit.replay.placement._measured import (
    fraction_after,
    measured_fraction,
    used_amount,
    used_fraction,
)
from tracekit.replay.view.snapshot import Container, Snapshot
from tracekit.replay.workload.resources import BASE, DISK_IO, NET


def faithful_matrix(snapshot: Snapshot, nodes: IntArray, limit_fraction: float) -> FloatArray:
    """Columns cpu %, memory %, network %, disk bytes/s, bandwidth kbit/s; shape (nodes, 5).

    A value over the limit, in percent whatever the column's unit, becomes 0, and so does a missing
    one. A column of a resource that the workload lacks is 0 throughout and tells no nodes apart.
    """
    net, disk = snapshot.column(NET), snapshot.column(DISK_IO)
    columns = [_percent(measured_fraction(snapshot, at)) for at in range(len(BASE))]
    nothing = np.zeros(len(snapshot.capacity))
    columns.append(nothing if net is None else _percent(used_fraction(snapshot, net)))
    columns.append(nothing if disk is None else used_amount(snapshot, disk))
    usage = np.nan_to_num(np.stack(columns, axis=1)[nodes], nan=0.0)
    usage[usage > 100.0 * limit_fraction] = 0.0
    bandwidth = nothing if net is None else snapshot.capacity[:, net].astype(np.float64)
    return np.column_stack([usage, bandwidth[nodes]])


def fixed_matrix(
    snapshot: Snapshot, container: Container, nodes: IntArray
) -> tuple[FloatArray, BoolArray]:
    """Fractions used after placing, at most 1, then bandwidth; and which columns are use.

    Returns
    -------
    float64, shape (nodes, columns); bool, shape (columns,)
        Resources that the workload lacks have no column.
    """
    columns = [np.minimum(fraction_after(snapshot, at, container), 1.0) for at in _known(snapshot)]
    usage = [True] * len(columns)
    net = snapshot.column(NET)
    if net is not None:
        columns.append(snapshot.capacity[:, net].astype(np.float64))
        usage.append(False)
    return np.stack(columns, axis=1)[nodes], np.array(usage)


def within_limit(snapshot: Snapshot, nodes: IntArray, limit_fraction: float) -> BoolArray:
    """Which nodes use no resource beyond the limit, shape (nodes,)."""
    used = np.stack([used_fraction(snapshot, at) for at in _known(snapshot)], axis=1)
    return np.asarray((used[nodes] <= limit_fraction).all(axis=1))


def _known(snapshot: Snapshot) -> list[int]:
    extra = (snapshot.column(name) for name in (NET, DISK_IO))
    return [*range(len(BASE)), *(at for at in extra if at is not None)]


def _percent(fraction: FloatArray) -> FloatArray:
    return np.floor(100.0 * fraction + 0.5)
