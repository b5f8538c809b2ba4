"""When containers depart and nodes are lost, as the workload says."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import IntArray
from tracekit.replay.workload.workload import Workload


class Calendar:
    """Departures and losses of nodes in order of time; each is returned once.

    Parameters
    ----------
    workload : Workload
        Its ``departure_ms`` and, where nodes are lost, its ``losses``.
    """

    def __init__(self, workload: Workload) -> None:
        self._departures = np.argsort(workload.departure_ms, kind="stable")
        self._leaves_ms = workload.departure_ms[self._departures]
        self._losses = workload.losses
        self._departed, self._lost = 0, 0

    def next_ms(self) -> int | None:
        """When the next container departs or the next node is lost; None: neither is to come."""
        times = []
        if self._departed < len(self._leaves_ms):
            times.append(int(self._leaves_ms[self._departed]))
        if self._losses is not None and self._lost < len(self._losses.node):
            times.append(int(self._losses.time_ms[self._lost]))
        return min(times, default=None)

    def departing(self, now: int) -> IntArray:
        """The containers that depart up to this time and were not returned before."""
        end = int(np.searchsorted(self._leaves_ms, now, side="right"))
        leaving, self._departed = self._departures[self._departed : end], end
        return leaving

    def lost(self, now: int) -> IntArray:
        """The nodes that are lost up to this time and were not returned before."""
        if self._losses is None:
            return np.empty(0, dtype=np.int64)
        end = int(np.searchsorted(self._losses.time_ms, now, side="right"))
        nodes, self._lost = self._losses.node[self._lost : end], end
        return nodes
