"""How many nodes the demand itself needs: what containers use, whatever they request."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import IntArray
from tracekit.replay.runs.node_bound import linear_bound, volume_bound
from tracekit.replay.workload.resources import UNLIMITED
from tracekit.replay.workload.workload import Workload


def demand_bound(workload: Workload, most: tuple[float, float] = (1.0, 1.0)) -> int:
    """A lower bound on nodes that run containers while no node's use exceeds its capacity.

    ``most`` is the share of the capacity that use may reach, of cpu and of memory; infinite where
    any use is fine. Use and background count for cpu and memory, requests for every further
    resource. The volume bound is taken at every settled step (every step where none is settled),
    the linear program at the one where it is largest: demand varies over time, and its peak
    decides.
    """
    settled = np.flatnonzero(workload.times_ms >= workload.settled_ms)
    steps = settled if len(settled) else np.arange(len(workload.times_ms))
    needed = [volume_bound(*_demand(workload, int(step), most)) for step in steps]
    peak = int(steps[int(np.argmax(needed))])
    return max(*needed, linear_bound(*_demand(workload, peak, most)) or 0, 0)


def _demand(workload: Workload, step: int, most: tuple[float, float]) -> tuple[IntArray, IntArray]:
    """What is asked for, rounded down, and the room there is, rounded up."""
    present = workload.present_but_daemons(step)
    use = np.floor(workload.use_at(step)[:, present].T).astype(np.int64)
    own = np.floor(workload.background[:, step].T).astype(np.int64)
    asked = np.hstack([use, workload.request[present, 2:]])
    counted = np.isfinite(most)
    use[:, ~counted] = 0
    share = np.where(counted, most, 1.0)
    limited = np.minimum(np.ceil(workload.capacity[:, :2] * share), UNLIMITED)
    usable = np.maximum(limited.astype(np.int64) - own, 0)
    room = np.hstack([usable, workload.capacity[:, 2:]])
    return asked, room
