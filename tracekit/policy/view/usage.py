"""Measured node usage, as far as a policy may know it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.cluster.series import settled_steps
from tracekit.cluster.workload import Workload

if TYPE_CHECKING:
    from tracekit.cluster.workload import Workload


class NodeUsage(Protocol):
    """Data of the monitoring; fractions are of node capacity, NaN where nothing was measured.

    ``column`` is the column of the resource, ``samples`` how many of the newest samples count
    (fewer where the history is shorter). Every answer has shape (nodes,).

    Attributes
    ----------
    requested : int64, shape (nodes, resources), optional
        Sums of requests on each node when the newest sample was taken; None where not known.
    """

    time_ms: int | None
    requested: IntArray | None

    def latest(self, column: int) -> FloatArray:
        """Fraction at the newest sample."""

    def average(self, column: int, samples: int) -> FloatArray:
        """Mean fraction over the newest samples."""

    def deviation(self, column: int, samples: int) -> FloatArray:
        """Population standard deviation of the fraction over the newest samples."""

    def peak(self, column: int, samples: int) -> FloatArray:
        """Largest fraction over the newest samples."""


class SeriesUsage:
    """Usage from series: holds the samples up to the metric time and nothing later.

    Each statistic is computed over the window once, in the order of time, and kept: that a fast
    engine and a plain one ask for different nodes changes no digit of it.

    Parameters
    ----------
    fractions : float64, shape (samples, nodes, resources)
        Use over capacity; the caller cuts at the metric time. What can be written is copied here.
    time_ms : int, optional
        Time of the newest sample; None when there is none yet.
    requested : int64, shape (nodes, resources), optional
        Sums of requests at that time; the caller no longer changes them.
    """

    def __init__(
        self,
        fractions: FloatArray,
        time_ms: int | None,
        requested: IntArray | None = None,
    ) -> None:
        self.requested = requested
        self._fractions = fractions.copy() if fractions.flags.writeable else fractions
        self._fractions.flags.writeable = False
        self._kept: dict[tuple[str, int, int], FloatArray] = {}
        self.time_ms = time_ms

    @property
    def samples(self) -> int:
        """Number of samples known."""
        return int(self._fractions.shape[0])

    def latest(self, column: int) -> FloatArray:
        """Fraction at the newest sample, shape (nodes,)."""
        return self._over(column, 1, "max")

    def average(self, column: int, samples: int) -> FloatArray:
        """Mean fraction over the newest samples, shape (nodes,)."""
        return self._over(column, samples, "mean")

    def deviation(self, column: int, samples: int) -> FloatArray:
        """Population standard deviation over the newest samples, shape (nodes,)."""
        return self._over(column, samples, "std")

    def peak(self, column: int, samples: int) -> FloatArray:
        """Largest fraction over the newest samples, shape (nodes,)."""
        return self._over(column, samples, "max")

    def _over(self, column: int, samples: int, how: str) -> FloatArray:
        asked = (how, column, samples)
        if asked not in self._kept:
            self._kept[asked] = self._compute(column, samples, how)
            self._kept[asked].flags.writeable = False
        return self._kept[asked]

    def _compute(self, column: int, samples: int, how: str) -> FloatArray:
        if not self.samples:
            return np.full(self._fractions.shape[1], np.nan)
        window = np.ascontiguousarray(self._fractions[-samples:, :, column])
        return np.asarray(getattr(window, how)(axis=0), dtype=np.float64)


class Reader(Protocol):
    """A policy that looks back on measurements: of placement or rebalancing."""

    def metric_time_ms(self, now_ms: int) -> int:
        """Newest time whose measurements it may have."""

    def metric_samples(self) -> int:
        """How many of the newest samples it looks back on."""


class History:
    """Node usage sampled so far, as far back as any reader may look; none where nobody reads.

    Samples that every reader has left behind are dropped: a reader's metric time never goes back.
    What a reader was shown is never written again: samples are added behind it, or elsewhere.
    """

    def __init__(self, readers: Sequence[Reader], workload: Workload) -> None:
        self._readers = readers
        self._load = workload
        self._times: list[int] = workload.use.times_ms.tolist()
        self._samples = np.empty((2, 0, workload.nodes.count))
        self._first, self._added, self._steps = 0, 0, 0
        self._requested: dict[int, IntArray] = {}
        self._kept: dict[tuple[int, int], SeriesUsage] = {}

    def note(self, step: int, requested: IntArray) -> None:
        """A step has passed with this much requested, (nodes, resources), which nobody changes."""
        self._steps = step + 1
        if self._readers:
            self._requested[step] = requested
            oldest = self._oldest(step)
            for old in [at for at in self._requested if at < oldest]:
                del self._requested[old]

    def add(self, steps: range, fractions: FloatArray) -> None:
        """Take in the use at steps that were noted, shape (steps, nodes, 2), in their order."""
        oldest = self._oldest(self._steps - 1) if self._readers else steps.stop
        first = max(steps.start, oldest)
        if first < steps.stop:
            self._make_room(oldest, range(first, steps.stop))
            new = fractions[first - steps.start :].transpose(2, 0, 1)
            self._samples[:, first - self._first : steps.stop - self._first] = new
            self._added = steps.stop

    def samples_until(self, now: int, reader: Reader) -> int:
        """How many samples the reader may know: complete steps, up to its metric time."""
        until = min(now - self._load.use.step_ms, reader.metric_time_ms(now))
        return bisect_right(self._times, until, 0, self._steps)

    def usage(self, now: int, reader: Reader) -> SeriesUsage:
        """The measurements that the reader may know at a time, as far back as it looks."""
        known = self.samples_until(now, reader)
        asked = (known, reader.metric_samples())
        if asked not in self._kept:
            oldest = max(known - asked[1], 0)
            newest = int(self._load.use.times_ms[known - 1]) if known else None
            window = self._samples[:, oldest - self._first : known - self._first]
            window.flags.writeable = False
            at_newest = self._requested[known - 1] if known else None
            self._kept = {asked: SeriesUsage(window.transpose(1, 2, 0), newest, at_newest)}
        return self._kept[asked]

    def _oldest(self, step: int) -> int:
        """The oldest sample that a reader may still ask for at a step or later."""
        now = int(self._load.use.times_ms[step])
        return max(
            min(self.samples_until(now, one) - one.metric_samples() for one in self._readers), 0
        )

    def _make_room(self, oldest: int, steps: range) -> None:
        """Go on in another array where this one is full, with what may still be asked for."""
        if steps.stop - self._first <= self._samples.shape[1]:
            return
        begin = max(oldest, self._first)
        kept = self._samples[:, begin - self._first : max(self._added, begin) - self._first]
        self._first = begin if kept.shape[1] else steps.start
        self._samples = np.empty((2, 2 * (steps.stop - self._first), self._load.nodes.count))
        self._samples[:, : kept.shape[1]] = kept


# How full each node is over the judged steps of a replay.

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
