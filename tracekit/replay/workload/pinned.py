"""Containers that a replay leaves where they were observed."""

from __future__ import annotations

import numpy as np

from tracekit.replay.workload.workload import Workload


def requests_respected(load: Workload) -> bool:
    """Whether no node can be asked for more than it has, as long as policies respect requests.

    It can where pinned containers alone are too many, or come after those that policies place.
    """
    if load.pinned is None:
        return True
    pinned = load.pinned >= 0
    return not (np.diff(pinned.astype(np.int8)) > 0).any() and not pinned_over_capacity(load)


def pinned_over_capacity(load: Workload) -> int:
    """How many pinned containers find too little room on their node, full of pinned ones already.

    What a policy placed there, or a rebalancer moved, is not counted: it is no fact of a workload.
    """
    if load.pinned is None:
        return 0
    arriving = np.flatnonzero(load.pinned >= 0)
    leaving = arriving[np.argsort(load.departure_ms[arriving], kind="stable")]
    free, gone, over = load.capacity.copy(), 0, 0
    for index in arriving.tolist():
        now, node, asked = load.arrival_ms[index], load.pinned[index], load.request[index]
        while gone < len(leaving) and load.departure_ms[leaving[gone]] <= now:
            free[load.pinned[leaving[gone]]] += load.request[leaving[gone]]
            gone += 1
        over += bool(((free[node] < asked) & (asked > 0)).any())
        free[node] -= asked
    return over
