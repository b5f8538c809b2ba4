"""Running containers service by service, and whether other nodes would take them."""

from collections.abc import Sequence

import numpy as np

from tracekit.arrays import BoolArray, IntArray
from tracekit.replay.view.snapshot import Snapshot
from tracekit.replay.workload.workload import UNKNOWN


def members_by_service(snapshot: Snapshot) -> list[IntArray]:
    """Positions of the running containers of each known service that has several."""
    names, of = np.unique(np.array(snapshot.placed.service, dtype=object), return_inverse=True)
    order = np.argsort(of, kind="stable")
    edges = np.searchsorted(of[order], np.arange(len(names) + 1))
    rows = [order[edges[at] : edges[at + 1]] for at in range(len(names))]
    return [row for name, row in zip(names, rows, strict=True) if name != UNKNOWN and len(row) > 1]


def evictable_last(snapshot: Snapshot, members: IntArray) -> IntArray:
    """Members with those that go first at the end: the lowest priority; daemons never go."""
    placed = snapshot.placed
    rank = np.zeros(len(members)) if placed.priority is None else placed.priority[members]
    if placed.daemon is not None:
        rank = np.where(placed.daemon[members], np.inf, rank)
    return np.asarray(members[np.argsort(-rank, kind="stable")])


def fitting(snapshot: Snapshot, chosen: Sequence[int], *, asked: bool) -> IntArray:
    """The chosen less daemons and, where that is asked, less what fits no other node now."""
    found = np.array(list(chosen), dtype=np.int64)
    placed = snapshot.placed
    if placed.daemon is not None:
        found = found[~placed.daemon[found]]
    if not asked:
        return found
    left = snapshot.allocatable - snapshot.requested
    kept = []
    for at in found.tolist():
        fits = ((left >= placed.request[at]) | (placed.request[at] == 0)).all(axis=1)
        fits &= nodes_there(snapshot)
        if int(fits.sum()) > int(fits[placed.node[at]]):
            kept.append(at)
    return np.array(kept, dtype=np.int64)


def nodes_there(snapshot: Snapshot) -> BoolArray:
    """Which nodes are not lost, shape (nodes,)."""
    lost = snapshot.lost
    return np.ones(len(snapshot.capacity), dtype=np.bool_) if lost is None else ~lost
