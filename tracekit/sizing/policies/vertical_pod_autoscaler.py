"""The Kubernetes Vertical Pod Autoscaler's recommender, with the defaults it is released with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from tracekit.arrays import BoolArray, FloatArray, IntArray
from tracekit.parameters import About
from tracekit.sizing.policy import Advice, Given, Reads, SizingPolicy
from tracekit.sizing.use import RecordedUse
from tracekit.sizing.world.view import View
from tracekit.units import BYTES_PER_GIB, BYTES_PER_MIB, MS_PER_HOUR, MS_PER_MINUTE

#: Each bucket is wider than the one before it by this share.
GROWTH = 0.05
#: A bucket that weighs less counts as empty.
EPSILON = 1e-4


class Buckets:
    """Bucket bounds: the first ``[0, first)``, each further one 5 % wider, up to ``largest``."""

    def __init__(self, first: float, largest: float) -> None:
        self._first = first
        last = np.log(largest * GROWTH / first + 1) / np.log(1 + GROWTH)
        self.count = int(np.ceil(last)) + 1
        powers = (1 + GROWTH) ** np.arange(self.count)
        self.starts: FloatArray = np.asarray(first * (powers - 1) / GROWTH, dtype=np.float64)

    def find(self, values: FloatArray) -> IntArray:
        """The bucket of each value; what is outside falls in the first or the last."""
        raw = np.log(np.maximum(values, 0.0) * GROWTH / self._first + 1) / np.log(1 + GROWTH)
        found = np.where(values < self._first, 0, raw.astype(np.int64))
        return np.minimum(found, self.count - 1)


class Histograms:
    """One decaying histogram per container: a sample loses half its weight in a half-life."""

    def __init__(self, containers: int, buckets: Buckets, half_life_ms: float) -> None:
        self.containers = containers
        self._buckets = buckets
        self._half_life_ms = half_life_ms
        self._weights = np.zeros((containers, buckets.count))

    def add(
        self, containers: IntArray, values: FloatArray, time_ms: FloatArray, weights: FloatArray
    ) -> None:
        """Add one sample to each of the containers, of its own time and weight.

        A container that is there several times gets a sample each time.
        """
        decayed = weights * np.exp2(time_ms / self._half_life_ms)
        np.add.at(self._weights, (containers, self._buckets.find(values)), decayed)

    def subtract(self, containers: IntArray, values: FloatArray, time_ms: FloatArray) -> None:
        """Take back a sample of weight 1 that was added before."""
        places = containers, self._buckets.find(values)
        left = self._weights[places] - np.exp2(time_ms / self._half_life_ms)
        self._weights[places] = np.where(left < EPSILON, 0.0, left)

    def percentile(self, containers: IntArray, share: float) -> FloatArray:
        """The end of the bucket in which the share of the weight is reached; 0 for no samples."""
        weights = self._weights[containers]
        there = weights >= EPSILON
        sums = np.cumsum(weights, axis=1)
        reached = (sums >= share * sums[:, -1:]) & there
        last = weights.shape[1] - 1 - np.argmax(there[:, ::-1], axis=1)
        bucket = np.where(reached.any(axis=1), np.argmax(reached, axis=1), last)
        ends = self._buckets.starts[np.minimum(bucket + 1, self._buckets.count - 1)]
        return np.where(there.any(axis=1), ends, 0.0)


MS_PER_DAY = 24.0 * MS_PER_HOUR
CPU_BUCKETS = Buckets(0.01, 1000.0)
MEMORY_BUCKETS = Buckets(1e7, 1e12)
#: A CPU sample weighs as many as the cores requested, but this at least.
LEAST_WEIGHT = 0.1
#: After a container ran out of memory it is taken to need this much more, whichever is larger.
BUMP_RATIO, BUMP_BYTES = 1.2, 100.0 * 2**20
#: After so many half-lives times are counted from a later moment, so that weights stay numbers.
LONGEST_HALF_LIVES = 100.0
#: Confidence multipliers of the bounds: (multiplier, exponent).
LOWER, UPPER = (0.001, -2.0), (1.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class VerticalPodAutoscaler(SizingPolicy):
    """Percentiles of decaying histograms of use, with a margin, as limits.

    CPU: every sample; memory: the peak of each day, an out-of-memory kill counting as a peak of a
    fifth (or 100 MiB) more. GB are taken as GiB. A container's limit is its request.

    Of recorded use, which tells of no kill, all containers of a service make one histogram.
    """

    source: ClassVar[str] = (
        "kubernetes/autoscaler, vertical-pod-autoscaler/pkg/recommender: logic/recommender.go,"
        " logic/estimator.go, model/aggregations_config.go, model/container.go, util/histogram.go"
    )
    reads: ClassVar[frozenset[Reads]] = frozenset({"served"})

    target: Annotated[
        float, About("Percentile of the target, CPU and memory.", minimum=0, maximum=1)
    ] = 0.9
    lower: Annotated[float, About("Percentile of the lower bound.", minimum=0, maximum=1)] = 0.5
    upper: Annotated[float, About("Percentile of the upper bound.", minimum=0, maximum=1)] = 0.95
    margin: Annotated[float, About("Safety margin, a share of use.", minimum=0)] = 0.15
    least_cores: Annotated[float, About("Smallest CPU recommendation.", minimum=0)] = 0.025
    least_mib: Annotated[float, About("Smallest memory recommendation.", minimum=0)] = 250.0
    half_life_hours: Annotated[float, About("A sample's weight halves in it.", minimum=0.01)] = 24.0
    apply: Annotated[
        Literal["target", "bounds"],
        About(
            "target: at every decision; bounds: when the limit leaves the lower or upper bound or"
            " memory ran out, as the updater acts."
        ),
    ] = "target"

    def start(self, given: Given) -> Recommender:
        """A recommender without history."""
        return Recommender(self, given)

    def recommend(self, use: RecordedUse) -> Advice:
        """Target and bounds of each service after all its samples."""
        histograms = _of_services(use, self.half_life_hours * MS_PER_HOUR)
        target = self._amounts(histograms, self.target, 1.0)
        days = np.maximum(_confidence_days(use), 1e-12)
        lower, upper = (
            self._amounts(histograms, share, (1 + by / days) ** exponent)
            for share, (by, exponent) in ((self.lower, LOWER), (self.upper, UPPER))
        )
        if self.apply == "bounds":
            now = use.requested()
            target = np.where((now >= lower) & (now <= upper), now, target)
        return Advice(target, lower, upper)

    def least(self) -> FloatArray:
        """The smallest recommendation: cores and bytes."""
        return np.array([self.least_cores, self.least_mib * BYTES_PER_MIB])

    def _amounts(
        self, histograms: Sequence[Histograms], share: float, scale: FloatArray | float
    ) -> FloatArray:
        """A percentile of every service with margin, scaled, not below the smallest; else NaN."""
        everyone = np.arange(histograms[0].containers)
        found = np.stack([one.percentile(everyone, share) for one in histograms], axis=1)
        scaled = np.maximum(found * (1 + self.margin) * np.reshape(scale, (-1, 1)), self.least())
        return np.where(found > 0, scaled, np.nan)


def _of_services(use: RecordedUse, half_life_ms: float) -> tuple[Histograms, Histograms]:
    """The histograms of all services, of CPU and of memory, after all samples."""
    cpu, memory = (
        Histograms(len(use.services), buckets, half_life_ms)
        for buckets in (CPU_BUCKETS, MEMORY_BUCKETS)
    )
    span = float(use.times_ms[-1] - use.times_ms[0]) + MS_PER_DAY
    begin = use.times_ms[0] + max(span - LONGEST_HALF_LIVES * half_life_ms, 0.0)
    of = use.service[use.measured]
    weights = np.fmax(use.request[use.measured, 0], LEAST_WEIGHT)
    for time_ms, values in zip(use.times_ms.tolist(), use.values[0], strict=True):
        some = np.flatnonzero(~np.isnan(values))
        cpu.add(of[some], values[some], np.full(len(some), time_ms - begin), weights[some])
    for column, peak, ends_ms in _peaks(use):
        memory.add(of[column], peak, ends_ms - begin, np.ones(len(column)))
    return cpu, memory


def _peaks(use: RecordedUse) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
    """Columns of use, their highest memory of a day, and when the day ends that each began."""
    peak = np.full(len(use.measured), -np.inf)
    ends = np.full(len(use.measured), -np.inf)
    for time_ms, values in zip(use.times_ms.tolist(), use.values[1], strict=True):
        some = np.flatnonzero(~np.isnan(values))
        new = some[time_ms >= ends[some]]
        over = new[np.isfinite(peak[new])]
        yield over, peak[over], ends[over]
        ends[new] = np.where(np.isfinite(ends[new]), ends[new], time_ms)
        ends[new] += np.floor((time_ms - ends[new]) / MS_PER_DAY) * MS_PER_DAY + MS_PER_DAY
        peak[new] = -np.inf
        peak[some] = np.maximum(peak[some], values[some])
    left = np.flatnonzero(np.isfinite(peak))
    yield left, peak[left], ends[left]


def _confidence_days(use: RecordedUse) -> FloatArray:
    """Days of history of each service, fewer where it has less than a CPU sample a minute."""
    count, of = len(use.services), use.service[use.measured]
    there = ~np.isnan(use.values[0])
    samples = np.bincount(of, there.sum(axis=0), count)
    known = np.flatnonzero(there.any(axis=0))
    first, last = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(first, of[known], use.times_ms[there.argmax(axis=0)[known]])
    np.maximum.at(last, of[known], use.times_ms[::-1][there[::-1].argmax(axis=0)[known]])
    lived = np.where(samples > 0, last - first, 0.0)
    return np.minimum(lived, samples * MS_PER_MINUTE) / MS_PER_DAY


class Recommender:
    """The state of all containers: histograms, the day's memory peak, when the day ends."""

    def __init__(self, policy: VerticalPodAutoscaler, given: Given) -> None:
        self._policy = policy
        self._period_ms = float(given.period_ms)
        half_life = policy.half_life_hours * MS_PER_HOUR
        self._cpu = Histograms(given.containers, CPU_BUCKETS, half_life)
        self._memory = Histograms(given.containers, MEMORY_BUCKETS, half_life)
        self._peak = np.zeros(given.containers)
        self._day_ends = np.zeros(given.containers)
        self._seen = 0

    def size(self, view: View) -> FloatArray:
        """The target of each container due, or its present limit while that is within bounds."""
        requests = view.limits(self._seen)[:, :, 0].T
        for use, cores in zip(view.served(self._seen).swapaxes(0, 1), requests, strict=True):
            self._add(use, cores)
        self._killed(view.due[view.overflowed[:, 1]], view.limit[view.overflowed[:, 1], 1])
        if not self._seen:
            return view.limit
        target = self.estimate(view.due, self._policy.target)
        return target if self._policy.apply == "target" else self._outside(view, target)

    def _outside(self, view: View, target: FloatArray) -> FloatArray:
        low, high = self.bounds(view.due)
        outside = np.any((view.limit < low) | (view.limit > high), axis=1) | view.overflowed[:, 1]
        return np.where(outside[:, None], target, view.limit)

    def bounds(self, containers: IntArray) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bound, wider the shorter the history."""
        days = max((self._seen - 1) * self._period_ms / MS_PER_DAY, 1e-12)
        low, high = (
            self.estimate(containers, share, scale=(1 + by / days) ** exponent)
            for share, (by, exponent) in (
                (self._policy.lower, LOWER),
                (self._policy.upper, UPPER),
            )
        )
        return low, high

    def estimate(self, containers: IntArray, share: float, *, scale: float = 1.0) -> FloatArray:
        """A percentile with margin, scaled, not below the smallest recommendation; cores and GB."""
        found = np.stack(
            [
                self._cpu.percentile(containers, share),
                self._memory.percentile(containers, share) / BYTES_PER_GIB,
            ],
            axis=1,
        )
        least = self._policy.least() / (1, BYTES_PER_GIB)
        return np.maximum(found * (1 + self._policy.margin) * scale, least)

    def _add(self, use: FloatArray, request_cores: FloatArray) -> None:
        """One period's use of every container, under its request."""
        now = self._seen * self._period_ms
        everyone = np.arange(len(use))
        weights = np.maximum(request_cores, LEAST_WEIGHT)
        self._cpu.add(everyone, use[:, 0], np.full(len(use), now), weights)
        self._add_peaks(everyone, use[:, 1] * BYTES_PER_GIB, now)
        self._seen += 1

    def _killed(self, containers: IntArray, limit_gb: FloatArray) -> None:
        """Out of memory at this limit: a peak above it."""
        used = np.maximum(limit_gb * BYTES_PER_GIB, self._peak[containers])
        needed = np.maximum(used + BUMP_BYTES, used * BUMP_RATIO)
        self._add_peaks(containers, needed, max(self._seen - 1, 0) * self._period_ms)

    def _add_peaks(self, containers: IntArray, memory_bytes: FloatArray, now: float) -> None:
        """A new day begins with this peak; within a day a higher one takes the old one's place."""
        new_day = np.asarray(now >= self._day_ends[containers])
        begin = containers[new_day]
        behind = np.floor((now - self._day_ends[begin]) / MS_PER_DAY) * MS_PER_DAY
        self._day_ends[begin] += behind + MS_PER_DAY
        higher = ~new_day & (memory_bytes > self._peak[containers])
        self._replace(containers[higher])
        self._store(containers, memory_bytes, new_day | higher)

    def _replace(self, containers: IntArray) -> None:
        there = containers[self._peak[containers] > 0]
        self._memory.subtract(there, self._peak[there], self._day_ends[there])

    def _store(self, containers: IntArray, memory_bytes: FloatArray, chosen: BoolArray) -> None:
        added = containers[chosen]
        self._peak[added] = memory_bytes[chosen]
        self._memory.add(added, memory_bytes[chosen], self._day_ends[added], np.ones(len(added)))
