"""Use of containers over their requests, and containers whose requests differ between workloads."""

from collections.abc import Mapping

import numpy as np

from tracekit.base.arrays import BoolArray
from tracekit.cluster.provenance import ASSUMED, CHOSEN
from tracekit.cluster.resources import BASE
from tracekit.cluster.workload import Workload
from tracekit.store.quantities import ABSENT, RECORDED

#: The resources of which use is recorded, in the order of ``BASE``, as facts and studies call them.
MEASURED = ("cpu", "memory")


def use_over_requested(load: Workload) -> Mapping[str, float]:
    """Mean use of containers over what they request, by resource.

    Use and requests are summed over the settled steps and over the containers that run then,
    daemons too, where use is recorded. A container that requests nothing counts with its use.

    Returns
    -------
    mapping of str to float
        ``cpu`` and ``memory``. A resource is left out if its use is not recorded, or if its
        requests are neither recorded nor recommended.
    """
    judged = [at for at, name in enumerate(MEASURED) if _is_judged(load, name, BASE[at])]
    if not judged:
        return {}
    used, requested = np.zeros(len(BASE)), np.zeros(len(BASE))
    settled = load.use.times_ms >= load.use.settled_ms
    for step in np.flatnonzero(settled if settled.any() else ~settled).tolist():
        there = np.flatnonzero(load.present(step))
        column = load.use.columns_of(there)
        values, request = (
            load.use.values[:, step, column],
            load.containers.request[there, : len(BASE)].T,
        )
        known = np.isfinite(values)
        if load.use.recorded is not None:
            known &= load.use.recorded[:, column]
        used += np.where(known, values, 0.0).sum(axis=1, dtype=np.float64)
        requested += np.where(known, request, 0).sum(axis=1, dtype=np.float64)
    return {MEASURED[at]: float(used[at] / requested[at]) for at in judged if requested[at] > 0}


def _is_judged(load: Workload, name: str, column: str) -> bool:
    """Whether use is recorded, and requests are recorded or recommended, of a resource."""
    known = load.provenance.quantities
    use = {known.get(one, RECORDED) for one in ("use of containers", f"use of containers: {name}")}
    requests = {known.get(one, RECORDED) for one in ("requests", f"requests: {column}")}
    return not use & {ASSUMED, ABSENT} and requests <= {RECORDED, CHOSEN}


def request_changes(before: Workload, after: Workload) -> BoolArray:
    """Containers that restart: they run at the end, and their request of CPU or memory changes.

    A container that is not in both workloads is not counted.

    Returns
    -------
    bool, shape (containers of ``before``,)
    """
    at = {name: row for row, name in enumerate(after.containers.ids)}
    rows = np.array([at.get(name, -1) for name in before.containers.ids], dtype=np.int64)
    own = slice(0, len(BASE))
    differ = (before.containers.request[:, own] != after.containers.request[rows, own]).any(axis=1)
    return np.asarray(differ & (rows >= 0) & before.present(len(before.use.times_ms) - 1))
