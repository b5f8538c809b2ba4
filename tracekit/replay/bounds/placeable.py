"""Containers that no policy can place within requests: no bound may count them.

A container that is larger than every node; and a gang of which fewer than must start at once are
ever there together, or fit on empty nodes together (``replay.engine.queueing.Gangs.needed``). The
latter is proven by requests alone: of every member as much is counted as of the least of each
resource. Of a gang that states no minimum all that are left must start at once.
"""

import numpy as np

from tracekit.base.arrays import BoolArray
from tracekit.cluster.gangs import enough_of, in_order_of, most_together
from tracekit.cluster.workload import Workload
from tracekit.replay.bounds.nodes import fit_counts


def placeable(load: Workload) -> Workload:
    """The workload without those who can never be placed; the same where there are none, or all."""
    never = never_placed(load)
    if not never.any() or never.all():
        return load
    return in_order_of(load, np.flatnonzero(~never), load.containers.arrival_ms)


def never_placed(load: Workload) -> BoolArray:
    """Containers that no policy can place which respects requests, shape (containers,)."""
    never = np.zeros(load.containers.count, dtype=np.bool_)
    never[load.too_large()] = True
    if load.rules.pinned is not None:
        never &= load.rules.pinned < 0
    if load.rules.gang is None:
        return never
    for gang in np.unique(load.rules.gang[load.rules.gang >= 0]).tolist():
        members = load.rules.gang == gang
        if load.rules.pinned is None or not (load.rules.pinned[members] >= 0).any():
            never[members] |= _never_starts(load, members, never)
    return never


def _never_starts(load: Workload, members: BoolArray, never: BoolArray) -> bool:
    """Whether a gang needs more than are there at one time, or than empty nodes have room for."""
    able = members & ~never
    if not able.any():
        return True
    least = load.containers.request[able].min(axis=0)[None]
    room = float(fit_counts(least, load.nodes.allocatable).astype(np.float64).sum())
    together = most_together(load.containers.arrival_ms[able], load.containers.departure_ms[able])
    enough = enough_of(load, np.flatnonzero(members))
    if load.rules.gang_minimum is None or not load.rules.gang_minimum[members][0]:
        # it states no minimum: those that are left are enough
        departure = load.containers.departure_ms[members]
        return min(enough, int((departure == departure.max()).sum())) > min(room, float(able.sum()))
    return enough > min(room, together)
