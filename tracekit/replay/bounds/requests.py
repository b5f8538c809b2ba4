"""Lower bounds on use of further resources, and by what is requested on what nodes cost.

They hold for placements of all containers that respect requests.
"""

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.cluster.resources import UNLIMITED
from tracekit.cluster.workload import Workload
from tracekit.policy.view.further import further_use
from tracekit.policy.view.room import measured_columns, measured_names
from tracekit.policy.view.sampled import USED
from tracekit.replay.bounds.nodes import volume_bounds
from tracekit.replay.measures.use import rank_of


def requested_at(workload: Workload, *, but_daemons: bool = False) -> IntArray:
    """Requests of all containers present, added up at every step, shape (steps, resources)."""
    counted = np.ones(workload.containers.count, dtype=np.bool_)
    if but_daemons and workload.rules.daemon is not None:
        counted = ~workload.rules.daemon
    return summed_at(workload, np.flatnonzero(counted))


def summed_at(workload: Workload, some: IntArray) -> IntArray:
    """The same of some containers, by their positions."""
    times, request = workload.use.times_ms, workload.containers.request[some]
    changes = np.zeros((len(times) + 1, len(workload.resources)), dtype=np.int64)
    np.add.at(changes, np.searchsorted(times, workload.containers.arrival_ms[some]), request)
    np.subtract.at(changes, np.searchsorted(times, workload.containers.departure_ms[some]), request)
    return np.asarray(changes[:-1].cumsum(axis=0))


def further_bounds(workload: Workload) -> dict[str, FloatArray]:
    """Bounds on the share of further resources that is used, by column, shape (steps,) each.

    The mean over the nodes that have the resource, of what counts as used (``view.further``); a
    resource that some node has without limit bounds nothing.
    """
    found: dict[str, FloatArray] = {}
    requested = None
    for column, name in zip(measured_columns(workload), measured_names(workload), strict=True):
        capacity = workload.nodes.capacity[:, column]
        if column in USED or (capacity >= UNLIMITED).any():
            continue
        used: FloatArray | IntArray
        if column in workload.use.further_resources:
            used = _used_at(workload, column)
        else:
            requested = requested_at(workload) if requested is None else requested
            used = requested[:, column]
        mean = used / float(capacity.sum(dtype=np.float64))
        there = int((capacity > 0).sum())
        found[f"{name}_max_fraction"] = mean
        found[f"{name}_p99_fraction"] = mean if rank_of(there) == there - 1 else np.zeros(len(mean))
        found[f"{name}_spread_fraction"] = np.zeros(len(mean))
        found[f"{name}_overload_fraction"] = mean - 1.0
    return found


def _used_at(workload: Workload, column: int) -> FloatArray:
    """Recorded use of a further resource that is on nodes which have it, shape (steps,).

    Who asks for none of it may be on a node that has none.
    """
    certain = workload.containers.request[:, column] > 0
    if (workload.nodes.capacity[:, column] > 0).all():
        certain[:] = True
    found = np.zeros(len(workload.use.times_ms))
    for step in range(len(found)):
        there = np.flatnonzero(workload.present(step) & certain)
        found[step] = further_use(workload, column, range(step, step + 1), there).sum()
    return found


def least_cost(asked: IntArray, rooms: IntArray, price: FloatArray) -> FloatArray:
    """The least cost of nodes with room for the requests, shape (steps,).

    By parts of nodes, in order of their price for each unit of a resource; and by the cheapest of
    as many nodes as the volume needs.

    Parameters
    ----------
    asked : int64, shape (steps, resources)
    rooms : int64, shape (nodes, resources)
    price : float64, shape (nodes,)
    """
    least = np.zeros(len(asked))
    for column in range(asked.shape[1]):
        room = rooms[:, column].astype(np.float64)
        if (room >= UNLIMITED).any() or not room.any():
            continue
        there = np.flatnonzero(room)
        order = there[np.argsort(price[there] / room[there], kind="stable")]
        filled = np.concatenate([[0.0], np.cumsum(room[order])])
        paid = np.concatenate([[0.0], np.cumsum(price[order])])
        least = np.maximum(least, np.interp(asked[:, column], filled, paid))
    whole = np.concatenate([[0.0], np.cumsum(np.sort(price))])
    return np.asarray(np.maximum(least, whole[volume_bounds(asked, rooms)]))
