"""Load-aware policies: measured node load over a trailing window, as a metric collector has it.

Upstream's arithmetic is in percent of node capacity and its order decides where scores round, so
percent is kept here.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.policy.placement import PlacementPolicy, Reads
from tracekit.policy.placement._parts.trimaran import has_room, used_amount
from tracekit.policy.view.recorded import Metric, Recorded
from tracekit.policy.view.snapshot import Container, Snapshot

# How the Trimaran plugins read the metrics of a node: which number of a type is the load. Each
# reading gives average and deviation in percent, NaN where the metrics hold none.

Reading = Callable[[Sequence[Metric], str], tuple[float, float]]

#: The metric type of the first two resource columns.
TYPES = ("CPU", "Memory")

_NOTHING = (math.nan, math.nan)


def average_and_deviation(metrics: Sequence[Metric], kind: str) -> tuple[float, float]:
    """AVG wins over Latest and the empty operator; any metric of the type makes it valid.

    Source: GetResourceData of scheduler-plugins, pkg/trimaran/resourcestats.go.
    """
    given = [metric for metric in metrics if metric.type == kind]
    averages = [metric.value for metric in given if metric.operator == "AVG"]
    others = [metric.value for metric in given if metric.operator in ("", "Latest")]
    deviations = [metric.value for metric in given if metric.operator == "STD"]
    if not given:
        return _NOTHING
    return (averages or others or [0.0])[-1], (deviations or [0.0])[-1]


def last_level(metrics: Sequence[Metric], kind: str) -> tuple[float, float]:
    """The last AVG or Latest; an empty operator is not accepted (TargetLoadPacking)."""
    return next(_levels(reversed(metrics), kind), _NOTHING)


def first_level(metrics: Sequence[Metric], kind: str) -> tuple[float, float]:
    """The first AVG or Latest (Peaks)."""
    return next(_levels(metrics, kind), _NOTHING)


def _levels(metrics: Iterable[Metric], kind: str) -> Iterator[tuple[float, float]]:
    return (
        (metric.value, math.nan)
        for metric in metrics
        if metric.type == kind and metric.operator in ("AVG", "Latest")
    )


@dataclass(frozen=True, kw_only=True)
class Load:
    """Measured load of the candidates, in percent of capacity, NaN where not measured.

    Parameters
    ----------
    average, deviation : float64, shape (candidates,)
    """

    average: FloatArray
    deviation: FloatArray

    def amounts(self, capacity: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Both in the unit of the capacity, of shape (candidates,)."""
        return self.average * capacity / 100, self.deviation * capacity / 100


@dataclass(frozen=True, kw_only=True)
class LoadAware(PlacementPolicy):
    """Base of the policies that read measured load."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "usage"})
    reading: ClassVar[Reading] = staticmethod(average_and_deviation)

    window_samples: Annotated[
        int,
        About("Newest samples that count; 30 of 30 s are load-watcher's 15 minutes.", minimum=1),
    ] = 30
    fetch_ms: Annotated[int, About("Time between fetches of load-watcher.", minimum=1)] = 60_000
    collect_ms: Annotated[
        int, About("Time between polls of the watcher by the scheduler.", minimum=1)
    ] = 30_000

    def metric_time_ms(self, now_ms: int) -> int:
        """End of the newest window: the last fetch before the last poll."""
        polled = now_ms // self.collect_ms * self.collect_ms
        return polled // self.fetch_ms * self.fetch_ms

    def metric_samples(self) -> int:
        """The length of the window."""
        return self.window_samples

    def load(self, snapshot: Snapshot, nodes: IntArray, column: int) -> Load:
        """Load of the candidates by one resource column."""
        if snapshot.recorded is not None:
            return self._recorded_load(snapshot.recorded, nodes, column)
        usage = snapshot.usage
        return Load(
            average=100.0 * usage.average(column, self.window_samples)[nodes],
            deviation=100.0 * usage.deviation(column, self.window_samples)[nodes],
        )

    def has_metrics(self, snapshot: Snapshot, nodes: IntArray) -> BoolArray:
        """Whether the collector has metrics of a node at all, shape (candidates,)."""
        if snapshot.recorded is not None:
            names = snapshot.recorded.nodes
            return np.array([names[at] in snapshot.recorded.metrics for at in nodes], np.bool_)
        usage = snapshot.usage
        missing = [np.isnan(usage.latest(column)[nodes]) for column in range(len(TYPES))]
        return np.asarray(~np.logical_and.reduce(missing))

    def window_end_s(self, snapshot: Snapshot) -> int:
        """End of the window in whole seconds."""
        if snapshot.recorded is not None:
            return snapshot.recorded.window_end_s
        return self.metric_time_ms(snapshot.time_ms) // 1000

    def _recorded_load(self, recorded: Recorded, nodes: IntArray, column: int) -> Load:
        rows = [
            type(self).reading(recorded.metrics.get(recorded.nodes[at], ()), TYPES[column])
            for at in nodes
        ]
        average, deviation = np.array(rows, dtype=np.float64).reshape(-1, 2).T
        return Load(average=average, deviation=deviation)


# Balanced load: the variance of load over the nodes, and BNP's rule on one resource.

# Balanced load: how little each node would add to the variance of load over the nodes. Source:
# BNP of github.com/adolphlwq/liang @56384517, which recomputes the variance for every node. One
# load changes at a time, so a change of two sums gives the same number.


def balance_scores(need: float, current: FloatArray, capacity: FloatArray) -> IntArray:
    """Scores 0..100: 100 where placing leaves the lowest variance of load, 0 the highest.

    Parameters
    ----------
    need : float
    current, capacity : float64, shape (nodes,)
        Valid nodes alone: ``need + current <= capacity``, all in one unit.

    Returns
    -------
    int64, shape (nodes,)
        ``trunc(100 - 100 (v - min) / (max - min))``; a single node gets 100, nodes of equal
        variance 0, as does every node when nothing is needed.
    """
    if need == 0 or not len(current):
        return np.zeros(len(current), dtype=np.int64)
    if len(current) == 1:
        return np.array([100], dtype=np.int64)
    variance = variances_after(need, current, capacity)
    low, high = float(variance.min()), float(variance.max())
    if high == low:
        return np.zeros(len(current), dtype=np.int64)
    return np.trunc(100 - 100 * (variance - low) / (high - low)).astype(np.int64)


def variances_after(need: float, current: FloatArray, capacity: FloatArray) -> FloatArray:
    """Sample variance of load with the need added to each node in turn, shape (nodes,), nodes > 1.

    Sums are taken about the mean load, so that nothing is lost to cancellation.
    """
    load = current / capacity
    mean = load.mean()
    before, after = load - mean, (current + need) / capacity - mean
    total = before.sum() - before + after
    squares = np.square(before).sum() - np.square(before) + np.square(after)
    return np.asarray((squares - np.square(total) / len(load)) / (len(load) - 1))


def balance_resource(
    resource: str, snapshot: Snapshot, container: Container, nodes: IntArray
) -> IntArray:
    """BNP's rule on a resource: 0 everywhere without it, else balance among nodes with room."""
    scores = np.zeros(len(nodes), dtype=np.int64)
    column = snapshot.column(resource)
    if column is None:
        return scores
    valid = has_room(snapshot, column, container, nodes)
    scores[valid] = balance_scores(
        float(container.request[column]),
        used_amount(snapshot, column)[nodes[valid]],
        snapshot.capacity[nodes[valid], column].astype(np.float64),
    )
    return scores
