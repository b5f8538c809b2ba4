"""Bounds on the nodes in use where containers must not share one, at every step."""

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.cluster.workload import Workload


def apart_bounds(load: Workload) -> IntArray:
    """The nodes that rules alone ask for, shape (steps,): the largest of what each group needs.

    Of containers of which no node takes more than ``most``, ``n`` need ``n / most`` nodes. Daemons
    are on their node whatever a rule says; where others stay where production ran them, rules may
    be broken there, and nothing is proven.
    """
    found = np.zeros(len(load.times_ms), dtype=np.int64)
    counted = np.ones(load.containers, np.bool_) if load.daemon is None else ~load.daemon
    stays = load.pinned is not None and bool((counted & (load.pinned >= 0)).any())
    if load.constraints is None or stays:
        return found
    for part in load.constraints.parts:
        for members, most in part.apart():
            those = members[counted[members]]
            if len(those) > most * int(found.min(initial=len(those))):
                np.maximum(found, -(-_there(load, those) // most), out=found)
    return np.minimum(found, load.nodes)


def _there(load: Workload, some: IntArray) -> IntArray:
    """How many of some containers are there at each step."""
    come = np.searchsorted(np.sort(load.arrival_ms[some]), load.times_ms, side="right")
    return come - np.searchsorted(np.sort(load.departure_ms[some]), load.times_ms, side="right")
