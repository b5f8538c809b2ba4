"""Measured use of nodes, up to the metric time of a policy."""

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
    """The measured use of nodes, as fractions of capacity; NaN for no measurement.

    ``column`` is the column of the resource, and ``samples`` the number of newest samples that
    count; a shorter history has fewer. Every result has shape (nodes,).

    Attributes
    ----------
    time_ms : int, optional
        The time of the newest sample; None for no sample.
    requested : int64, shape (nodes, resources), optional
        Sums of requests on each node at the newest sample; None if unknown.
    """

    time_ms: int | None
    requested: IntArray | None

    def latest(self, column: int) -> FloatArray:
        """Return the fraction at the newest sample."""

    def average(self, column: int, samples: int) -> FloatArray:
        """Return the mean fraction over the newest samples."""

    def deviation(self, column: int, samples: int) -> FloatArray:
        """Return the population standard deviation of the fraction over the newest samples."""

    def peak(self, column: int, samples: int) -> FloatArray:
        """Return the largest fraction over the newest samples."""


class SeriesUsage:
    """The ``NodeUsage`` of a series of samples, up to the metric time of a policy.

    Each statistic is computed once over all nodes, so that engines that read different nodes get
    the same digits.

    Parameters
    ----------
    fractions : float64, shape (samples, nodes, resources)
        Use over capacity up to the metric time; a writable array is copied.
    time_ms : int, optional
        The time of the newest sample; None for no sample.
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
        self._results: dict[tuple[str, int, int], FloatArray] = {}
        self.time_ms = time_ms

    @property
    def samples(self) -> int:
        """The number of samples."""
        return int(self._fractions.shape[0])

    def latest(self, column: int) -> FloatArray:
        """Return the fraction at the newest sample, shape (nodes,)."""
        return self._over(column, 1, "max")

    def average(self, column: int, samples: int) -> FloatArray:
        """Return the mean fraction over the newest samples, shape (nodes,)."""
        return self._over(column, samples, "mean")

    def deviation(self, column: int, samples: int) -> FloatArray:
        """Return the population standard deviation over the newest samples, shape (nodes,)."""
        return self._over(column, samples, "std")

    def peak(self, column: int, samples: int) -> FloatArray:
        """Return the largest fraction over the newest samples, shape (nodes,)."""
        return self._over(column, samples, "max")

    def _over(self, column: int, samples: int, how: str) -> FloatArray:
        key = (how, column, samples)
        if key not in self._results:
            self._results[key] = self._compute(column, samples, how)
            self._results[key].flags.writeable = False
        return self._results[key]

    def _compute(self, column: int, samples: int, how: str) -> FloatArray:
        if not self.samples:
            return np.full(self._fractions.shape[1], np.nan)
        window = np.ascontiguousarray(self._fractions[-samples:, :, column])
        return np.asarray(getattr(window, how)(axis=0), dtype=np.float64)


class Reader(Protocol):
    """A placement or rebalance policy that reads measurements."""

    def metric_time_ms(self, now_ms: int) -> int:
        """Return the time of the newest measurements that it may read."""

    def metric_samples(self) -> int:
        """Return how many of the newest samples it reads."""


class History:
    """The samples of node use that any reader may still read; it keeps none without readers.

    Older samples are dropped, as the metric time of a reader never decreases. A window that a
    reader got is never overwritten: new samples are added behind it or in another array.
    """

    def __init__(self, readers: Sequence[Reader], workload: Workload) -> None:
        self._readers = readers
        self._load = workload
        self._times: list[int] = workload.use.times_ms.tolist()
        self._samples = np.empty((2, 0, workload.nodes.count))
        self._first, self._added, self._steps = 0, 0, 0
        self._requested: dict[int, IntArray] = {}
        self._shown: dict[tuple[int, int], SeriesUsage] = {}

    def note(self, step: int, requested: IntArray) -> None:
        """Note a past step and its sums of requests (nodes, resources), which must not change."""
        self._steps = step + 1
        if self._readers:
            self._requested[step] = requested
            oldest = self._oldest(step)
            for old in [at for at in self._requested if at < oldest]:
                del self._requested[old]

    def add(self, steps: range, fractions: FloatArray) -> None:
        """Add the use at steps passed to ``note``, shape (steps, nodes, 2), in their order."""
        oldest = self._oldest(self._steps - 1) if self._readers else steps.stop
        first = max(steps.start, oldest)
        if first < steps.stop:
            self._make_room(oldest, range(first, steps.stop))
            new = fractions[first - steps.start :].transpose(2, 0, 1)
            self._samples[:, first - self._first : steps.stop - self._first] = new
            self._added = steps.stop

    def samples_until(self, now: int, reader: Reader) -> int:
        """Return the number of samples up to a reader's metric time; only complete steps count."""
        until = min(now - self._load.use.step_ms, reader.metric_time_ms(now))
        return bisect_right(self._times, until, 0, self._steps)

    def usage(self, now: int, reader: Reader) -> SeriesUsage:
        """Return the measurements that a reader may read at a time."""
        until = self.samples_until(now, reader)
        key = (until, reader.metric_samples())
        if key not in self._shown:
            oldest = max(until - key[1], 0)
            newest = int(self._load.use.times_ms[until - 1]) if until else None
            window = self._samples[:, oldest - self._first : until - self._first]
            window.flags.writeable = False
            at_newest = self._requested[until - 1] if until else None
            self._shown = {key: SeriesUsage(window.transpose(1, 2, 0), newest, at_newest)}
        return self._shown[key]

    def _oldest(self, step: int) -> int:
        """The oldest sample that a reader may read at a step or later."""
        now = int(self._load.use.times_ms[step])
        return max(
            min(self.samples_until(now, one) - one.metric_samples() for one in self._readers), 0
        )

    def _make_room(self, oldest: int, steps: range) -> None:
        """Copy the samples that may still be read to another array if the present one is full."""
        if steps.stop - self._first <= self._samples.shape[1]:
            return
        begin = max(oldest, self._first)
        readable = self._samples[:, begin - self._first : max(self._added, begin) - self._first]
        self._first = begin if readable.shape[1] else steps.start
        self._samples = np.empty((2, 2 * (steps.stop - self._first), self._load.nodes.count))
        self._samples[:, : readable.shape[1]] = readable


# The use of each node over the judged steps of a replay.

#: The percentile of use over time.
PERCENT = 99
#: The number of collected rows, as a multiple of the rows that count, at which others are dropped.
_SIFTED = 4


def rank_of(steps: int) -> int:
    """Return the position of the 99th percentile in ``steps`` sorted values, by nearest rank."""
    return -(-PERCENT * steps // 100) - 1


class OverTime(NamedTuple):
    """The use of each node over the judged steps, which begin when the cluster is filled.

    Parameters
    ----------
    cpu_p99 : float64, shape (nodes,)
        The 99th percentile of CPU over capacity, by nearest rank.
    highest : float64, shape (2, nodes)
        The highest CPU and the highest memory over capacity.
    """

    cpu_p99: FloatArray
    highest: FloatArray


class UseOverTime:
    """Computes ``OverTime`` step by step; it keeps only the highest CPU values of each node."""

    def __init__(self, load: Workload) -> None:
        self._judged = np.zeros(len(load.use.times_ms), np.bool_)
        self._judged[settled_steps(load.use.times_ms, load.use.settled_ms)] = True
        steps = int(self._judged.sum())
        self._count = steps - rank_of(steps)
        self._memory = np.zeros(load.nodes.count)
        self._parts: list[FloatArray] = []
        self._rows = 0

    def add(self, first: int, by_resource: FloatArray) -> None:
        """Add the use at consecutive steps from ``first`` on, shape (resources, steps, nodes)."""
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
        """Return the use over all judged steps, each of which must have been added."""
        cpu = self._highest()
        return OverTime(cpu.min(axis=0), np.stack([cpu.max(axis=0), self._memory]))

    def _highest(self) -> FloatArray:
        """The rows that count, in any order."""
        every = np.concatenate(self._parts)
        return np.partition(every, len(every) - self._count, axis=0)[-self._count :]
