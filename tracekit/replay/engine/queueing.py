"""Who waits, in which turn, and for whom: priorities and gangs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from tracekit.arrays import IntArray
from tracekit.replay.workload.gangs import runs, spread_gangs
from tracekit.replay.workload.workload import Workload


class Gangs:
    """The gangs of a workload, and what each needs to be admitted."""

    def __init__(self, load: Workload) -> None:
        assert load.gang is not None  # noqa: S101 - as the caller saw
        self._gang, self._arrival, self._departure = load.gang, load.arrival_ms, load.departure_ms
        order = np.argsort(load.gang, kind="stable")
        known, first = np.unique(load.gang[order], return_index=True)
        members = np.split(order, first[1:])
        self._members = dict(zip(known.tolist(), members, strict=True))
        self._minimum = load.gang_minimum
        self._spread = np.isin(load.gang, spread_gangs(load.gang, load.arrival_ms))

    def of(self, index: int) -> int:
        """The gang of a container, -1 for none."""
        return int(self._gang[index])

    def pieces(self, indices: IntArray) -> list[tuple[int, int]]:
        """Stretches of arrivals of one gang, at one time where not all of it arrives at one."""
        gang = self._gang[indices]
        later = np.where(self._spread[indices], self._arrival[indices], 0)
        cuts = 1 + np.flatnonzero((np.diff(gang) != 0) | (np.diff(later) != 0))
        edges = [0, *cuts.tolist(), len(indices)]
        return list(itertools.pairwise(edges))

    def together(self, indices: IntArray) -> list[tuple[int, int]]:
        """Stretches of one gang, or of containers without any."""
        return runs(self._gang[indices])

    def waiting(self, pending: Sequence[int], new: int) -> IntArray:
        """Those of the new container's gang that came at another time and wait."""
        found = (
            [at for at in pending if self._gang[at] == self._gang[new]] if self._spread[new] else []
        )
        return np.array(found, dtype=np.int64)

    def needed(self, some: IntArray, node: IntArray, now: int) -> int:
        """How many of these members of one gang must find a node, that none is sent back.

        As many as are wanting of the gang's minimum, yet never more than are left of the gang.

        Parameters
        ----------
        some : int64, shape (members,)
            None of them ran before they were tried.
        node : int64, shape (containers,)
            Where each was placed last, -1 for never.
        """
        gang = int(self._gang[some[0]])
        if gang < 0:
            return 0
        others = np.setdiff1d(self._members[gang], some, assume_unique=True)
        size = len(some) + len(others)
        minimum = 0 if self._minimum is None else int(self._minimum[some[0]])
        began = int((node[others] >= 0).sum())
        to_come = int(((node[others] < 0) & (self._departure[others] > now)).sum())
        return min((minimum or size) - began, len(some) + to_come)


def turns(load: Workload) -> Callable[[int], int] | None:
    """What waiting containers are sorted by, lowest first; None where all have one priority.

    The priority of a gang is the highest of its members.
    """
    if load.priority is None or not np.ptp(load.priority):
        return None
    priority = load.priority.copy()
    if load.gang is not None:
        highest = np.full(int(load.gang.max(initial=-1)) + 1, np.iinfo(np.int64).min)
        members = np.flatnonzero(load.gang >= 0)
        np.maximum.at(highest, load.gang[members], priority[members])
        priority[members] = highest[load.gang[members]]
    turn: list[int] = (-priority).tolist()
    return turn.__getitem__
