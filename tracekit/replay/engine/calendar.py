"""When containers depart and nodes are lost or come, as the workload says."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import IntArray
from tracekit.replay.workload.workload import Losses, Workload


class Calendar:
    """Departures of containers, and nodes lost and come, in order of time; each is returned once.

    Parameters
    ----------
    workload : Workload
        Its ``departure_ms`` and, where there are any, its ``losses`` and ``joins``.
    """

    def __init__(self, workload: Workload) -> None:
        self._departures = np.argsort(workload.departure_ms, kind="stable")
        self._leaves_ms = workload.departure_ms[self._departures]
        self._departed = 0
        self._losses, self._joins = _Nodes(workload.losses), _Nodes(workload.joins)

    def next_ms(self) -> int | None:
        """When the next container departs or node is lost or comes; None: nothing is to happen."""
        times = [self._losses.next_ms(), self._joins.next_ms()]
        if self._departed < len(self._leaves_ms):
            times.append(int(self._leaves_ms[self._departed]))
        return min((time for time in times if time is not None), default=None)

    def departing(self, now: int) -> IntArray:
        """The containers that depart up to this time and were not returned before."""
        end = int(np.searchsorted(self._leaves_ms, now, side="right"))
        leaving, self._departed = self._departures[self._departed : end], end
        return leaving

    def lost(self, now: int) -> IntArray:
        """The nodes that are lost up to this time and were not returned before."""
        return self._losses.until(now)

    def joined(self, now: int) -> IntArray:
        """The nodes that come up to this time and were not returned before."""
        return self._joins.until(now)


class _Nodes:
    """Nodes in the order of their times; each is returned once."""

    def __init__(self, nodes: Losses | None) -> None:
        none = np.empty(0, dtype=np.int64)
        self._node, self._time_ms = (none, none) if nodes is None else (nodes.node, nodes.time_ms)
        self._done = 0

    def next_ms(self) -> int | None:
        return int(self._time_ms[self._done]) if self._done < len(self._node) else None

    def until(self, now: int) -> IntArray:
        if self._done == len(self._node):
            return self._node[:0]
        end = int(np.searchsorted(self._time_ms, now, side="right"))
        nodes, self._done = self._node[self._done : end], end
        return nodes
