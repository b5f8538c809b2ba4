"""Which nodes cannot be drained, because a budget of disruption bars the eviction of who is there.

A drain evicts every container of the node but daemons, and waits for those whose eviction a budget
refuses. Where the budget allows one at a time, the drain goes on once the evicted one runs
elsewhere; where it allows none, the drain waits for ever.
"""

from __future__ import annotations

import numpy as np

from tracekit.replay.workload.workload import Workload


def barred_by(load: Workload) -> tuple[str, ...] | None:
    """The budgets that bar each node from being drained, as it was at the last sample.

    Returns
    -------
    tuple of str, shape (nodes,), optional
        Names of budgets, with a comma between them; empty where none does. None where no container
        is under a budget, or where it is not recorded on which node one of them runs.
    """
    if load.budgets is None:
        return None
    now = load.times_ms[-1]
    present = (load.arrival_ms <= now) & (now < load.departure_ms)
    runs = present & (load.recorded_node >= 0)
    under = (load.budgets.of >= 0).any(axis=1)
    if not (runs & under).any():
        return None
    evicted = np.flatnonzero(runs if load.daemon is None else runs & ~load.daemon)
    held = evicted[load.budgets.barred(evicted, load.budgets.allowed(runs, present))]
    at = load.recorded_node[held]
    return tuple(", ".join(load.budgets.names_of(held[at == node])) for node in range(load.nodes))
