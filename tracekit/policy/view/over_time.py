"""How full each node is over the judged steps of a replay."""

from typing import NamedTuple

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.cluster.series import settled_steps
from tracekit.cluster.workload import Workload

#: Of 100 steps so many count.
PERCENT = 99
#: So many times the rows that count are collected before they are sifted.
_SIFTED = 4


def rank_of(steps: int) -> int:
    """The position of the percentile among so many steps in order of use: the nearest rank."""
    return -(-PERCENT * steps // 100) - 1


class OverTime(NamedTuple):
    """The use of each node over the judged steps, as a share of its capacity.

    Parameters
    ----------
    cpu_p99 : float64, shape (nodes,)
        The 99th percentile of CPU, by nearest rank.
    highest : float64, shape (2, nodes)
        The highest use of CPU and of memory.
    """

    cpu_p99: FloatArray
    highest: FloatArray


class UseOverTime:
    """Collects the highest uses of each node, in memory for one step in a hundred."""

    def __init__(self, load: Workload) -> None:
        self._judged = np.zeros(len(load.use.times_ms), np.bool_)
        self._judged[settled_steps(load.use.times_ms, load.use.settled_ms)] = True
        steps = int(self._judged.sum())
        self._count = steps - rank_of(steps)
        self._memory = np.zeros(load.nodes.count)
        self._parts: list[FloatArray] = []
        self._rows = 0

    def add(self, first: int, by_resource: FloatArray) -> None:
        """Add consecutive steps from ``first`` on, shape (resources, steps, nodes)."""
        judged = self._judged[first : first + by_resource.shape[1]]
        cpu, memory = by_resource[:2, judged]
        if not len(cpu):
            return
        np.maximum(self._memory, memory.max(axis=0), out=self._memory)
        self._parts.append(cpu)
        self._rows += len(cpu)
        if self._rows > (_SIFTED + 1) * self._count:
            self._parts = [self._highest()]
            self._rows = self._count

    def result(self) -> OverTime:
        """What was collected; every judged step must have been added."""
        cpu = self._highest()
        return OverTime(cpu.min(axis=0), np.stack([cpu.max(axis=0), self._memory]))

    def _highest(self) -> FloatArray:
        """The rows that count, in no order."""
        every = np.concatenate(self._parts)
        return np.partition(every, len(every) - self._count, axis=0)[-self._count :]
