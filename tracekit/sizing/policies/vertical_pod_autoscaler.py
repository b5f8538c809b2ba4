"""The recommender of the Kubernetes Vertical Pod Autoscaler, with its released defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.base.units import (
    BYTES_PER_GIB,
    BYTES_PER_MIB,
    MILLI_PER_CORE,
    MS_PER_DAY,
    MS_PER_HOUR,
    MS_PER_MINUTE,
)
from tracekit.sizing.policies import Advice, Given, Reads, SizingPolicy
from tracekit.sizing.use import RecordedUse
from tracekit.sizing.world.simulation import View

#: The width of a bucket over that of the bucket before it.
RATIO = 1.05
#: A bucket of less weight counts as empty.
EPSILON = 1e-4
#: The number of half-lives after which the origin of times moves, so that weights stay finite.
LONGEST_HALF_LIVES = 100.0
#: The weights of a sample of CPU and of a peak of memory.
CPU_WEIGHT, PEAK_WEIGHT = 0.1, 1.0
#: The assumed need after an out-of-memory kill: the larger of a factor and an added amount.
BUMP_RATIO, BUMP_BYTES = 1.2, 100.0 * 2**20
#: Confidence multipliers of the bounds: (multiplier, exponent).
LOWER, UPPER = (0.001, -2), (1.0, 1)
#: The largest amount, in millicores or bytes.
MOST = 1e14
#: Millicores of a core, and bytes of a byte.
_UNITS = np.array([float(MILLI_PER_CORE), 1.0])
#: The relative error of a sample of single precision.
_PRECISION = 2.0**-22


#: Coefficients of exp's rational approximation, and both parts of the logarithm of 2 (fdlibm).
_EXP = (
    *(1.66666666666666657415e-1, -2.77777777770155933842e-3, 6.61375632143793436117e-5),
    *(-1.65339022054652515390e-6, 4.13813679705723846039e-8),
)
_LN2 = (6.93147180369123816490e-1, 1.90821492927058770002e-10)


def power(base: FloatArray, exponent: int) -> FloatArray:
    """Return ``base ** exponent`` by repeated squaring, equal to Go's result to the last bit."""
    result, square, left = np.ones_like(base), base, abs(exponent)
    while left:
        result = result * square if left & 1 else result
        square, left = square * square, left >> 1
    return np.asarray(1 / result if exponent < 0 else result)


def exp2(exponent: FloatArray) -> FloatArray:
    """Return ``2 ** exponent``, equal to Go's result to the last bit."""
    whole = np.trunc(exponent + np.copysign(0.5, exponent))
    high, low = ((exponent - whole) * one for one in (_LN2[0], -_LN2[1]))
    rest = high - low
    square = rest * rest
    tail = np.zeros_like(square)
    for one in reversed(_EXP):
        tail = square * (one + tail)
    tail = rest - tail
    fraction = 1 - ((low - (rest * tail) / (2 - tail)) - high)
    return np.ldexp(fraction, whole.astype(np.int64))


class Buckets:
    """Bounds of histogram buckets: ``[0, first)``, then each one 5 % wider, up to ``largest``."""

    def __init__(self, first: float, largest: float) -> None:
        self._first = first
        self.count = int(np.ceil(self._number(np.array(largest)))) + 1
        powers = np.array([power(np.array(RATIO), at) for at in range(self.count)])
        self.starts: FloatArray = np.asarray(first * (powers - 1) / (RATIO - 1), dtype=np.float64)

    def _number(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.log(values * (RATIO - 1) / self._first + 1) / np.log(RATIO))

    def find(self, values: FloatArray) -> IntArray:
        """Return each value's bucket number; values outside are in the first or last bucket."""
        number = self._number(np.maximum(values, self._first)).astype(np.int64)
        return np.minimum(np.where(values < self._first, 0, number), self.count - 1)


CPU_BUCKETS = Buckets(0.01, 1000.0)
MEMORY_BUCKETS = Buckets(1e7, 1e12)


class Histograms:
    """A number of decaying histograms; a sample loses half its weight in a half-life.

    As upstream does, weights are added in the order of the samples: of two buckets with equal
    weights the order decides which bucket has the median.
    """

    def __init__(self, count: int, buckets: Buckets, half_life_ms: float) -> None:
        self._buckets = buckets
        self._half_life_ms = half_life_ms
        self._weights = np.zeros((count, buckets.count))
        self._total = np.zeros(count)
        self._begin_ms = np.full(count, np.nan)

    def add(
        self,
        of: IntArray,
        values: FloatArray,
        time_ms: FloatArray,
        weight: float,
        *,
        replaced: FloatArray | None = None,
    ) -> None:
        """Add samples; ``of`` has the histogram of each sample and may repeat it.

        Parameters
        ----------
        of : int64, shape (samples,)
        values, time_ms : float64, shape (samples,)
        replaced : float64, shape (samples,), optional
            The value of an earlier sample of the same time that is removed; 0 for none.
        """
        decayed = weight * self._decay(of, time_ms)
        if replaced is None:
            replaced = np.zeros(len(of))
        at, amounts = np.repeat(of, 2), np.stack([replaced, values], axis=1).ravel()
        signed = np.stack([np.where(replaced > 0, -decayed, 0.0), decayed], axis=1).ravel()
        places = at, self._buckets.find(amounts)
        np.add.at(self._weights, places, signed)
        np.add.at(self._total, at, signed)
        self._weights[places] = np.where(
            self._weights[places] < EPSILON, 0.0, self._weights[places]
        )

    def _decay(self, of: IntArray, time_ms: FloatArray) -> FloatArray:
        """The weight of a sample relative to a sample at the origin of times of its histogram."""
        most = LONGEST_HALF_LIVES * self._half_life_ms
        late = np.flatnonzero(~(time_ms - self._begin_ms[of] <= most))
        moved, first = np.unique(of[late], return_index=True)
        begin = np.floor(time_ms[late[first]] / self._half_life_ms + 0.5) * self._half_life_ms
        scale = np.exp2(np.nan_to_num(self._begin_ms[moved] - begin) / self._half_life_ms)
        self._weights[moved] *= scale[:, None]
        self._total[moved] *= scale
        self._begin_ms[moved] = begin
        return exp2((time_ms - self._begin_ms[of]) / self._half_life_ms)

    def percentile(self, share: float) -> FloatArray:
        """Return the end of the bucket at which each histogram reaches ``share`` of its weight.

        The end is 0 for a histogram without samples.
        """
        filled = self._weights >= EPSILON
        begun = np.logical_or.accumulate(filled, axis=1)
        sums = np.cumsum(np.where(begun, self._weights, 0.0), axis=1)
        reached = begun & (sums >= share * self._total[:, None])
        last = self._buckets.count - 1 - np.argmax(filled[:, ::-1], axis=1)
        bucket = np.where(reached.any(axis=1), np.argmax(reached, axis=1), last)
        ends = self._buckets.starts[np.minimum(np.minimum(bucket, last) + 1, len(begun[0]) - 1)]
        return np.where(filled.any(axis=1), ends, 0.0)


class Aggregates:
    """Histograms of CPU and memory of services, filled with samples of their containers.

    Parameters
    ----------
    of : int64, shape (containers,)
        The service of each container.
    """

    def __init__(self, services: int, of: IntArray, half_life_ms: float) -> None:
        self._of = of
        self._cpu = Histograms(services, CPU_BUCKETS, half_life_ms)
        self._memory = Histograms(services, MEMORY_BUCKETS, half_life_ms)
        self._samples = np.zeros(services)
        self._first_ms, self._last_ms = np.full(services, np.inf), np.full(services, -np.inf)
        self._day_ends = np.full(len(of), np.nan)
        # the highest use of the day, and the assumed use after an out-of-memory kill
        self.peaks = np.zeros((2, len(of)))

    def add_cpu(self, containers: IntArray, cores: FloatArray, now_ms: float) -> None:
        """Add one sample of each of ``containers``, truncated to whole millicores."""
        of, times = self._of[containers], np.full(len(containers), now_ms)
        milli = cut(cores * MILLI_PER_CORE * (1 + _PRECISION))
        self._cpu.add(of, milli / MILLI_PER_CORE, times, CPU_WEIGHT)
        np.add.at(self._samples, of, 1)
        self._first_ms[of] = np.minimum(self._first_ms[of], now_ms)
        self._last_ms[of] = np.maximum(self._last_ms[of], now_ms)

    def add_memory(
        self, containers: IntArray, memory_bytes: FloatArray, now_ms: float, *, killed: bool = False
    ) -> None:
        """Add one sample of each of ``containers``; only the peak of each day counts.

        ``killed`` says that the samples are assumed needs after out-of-memory kills.
        """
        amounts, ends = cut(memory_bytes), self._day_ends[containers]
        ends = np.where(np.isnan(ends), now_ms, ends)
        new_day = now_ms >= ends
        days = np.floor((now_ms - ends) / MS_PER_DAY) + 1
        ends = np.where(new_day, ends + days * MS_PER_DAY, ends)
        self._day_ends[containers] = ends
        self.peaks[:, containers[new_day]] = 0.0
        before = self.peaks[:, containers].max(axis=0)
        some = np.flatnonzero(new_day | ((before > 0) & (amounts > before)))
        self.peaks[int(killed), containers[some]] = amounts[some]
        self._memory.add(
            self._of[containers[some]], amounts[some], ends[some], PEAK_WEIGHT,
            replaced=before[some],
        )  # fmt: skip

    def amounts(self, share: float, margin: float, scale: FloatArray | float = 1.0) -> FloatArray:
        """Return each service's percentile plus a margin, times ``scale``, shape (services, 2).

        Amounts are truncated to whole millicores and bytes at each step; 0 without a sample.
        """
        reached = np.stack([one.percentile(share) for one in (self._cpu, self._memory)], axis=1)
        base = cut(reached * _UNITS)
        with np.errstate(invalid="ignore"):
            return cut((base + cut(base * margin)) * np.reshape(scale, (-1, 1)))

    def confidence(self, multiplier: float, exponent: int) -> FloatArray:
        """Return ``(1 + multiplier / days) ** exponent`` by each service's days of history.

        Each CPU sample counts for at most a minute of history.
        """
        lived = np.where(self._samples > 0, self._last_ms - self._first_ms, 0.0)
        days = np.minimum(lived, self._samples * MS_PER_MINUTE) / MS_PER_DAY
        with np.errstate(divide="ignore"):
            return power(1 + multiplier / days, exponent)


def cut(amounts: FloatArray) -> FloatArray:
    """Truncate amounts to whole numbers, and clip them to 0 to ``MOST`` (1e14); NaN becomes 0."""
    return np.asarray(np.clip(np.trunc(np.nan_to_num(amounts, nan=0.0)), 0.0, MOST))


@dataclass(frozen=True, kw_only=True)
class VerticalPodAutoscaler(SizingPolicy):
    """Recommend percentiles of decaying histograms of use, plus a margin.

    For CPU every sample has the same weight. For memory the peak of each day counts, and an
    out-of-memory kill counts as a peak that is higher by a fifth or by 100 MiB, whichever is more.
    Amounts are truncated to whole millicores and bytes at each step. GB count as GiB. The limit of
    a container is its request.

    Recorded use has no kills, and all containers of a service make one histogram. A service without
    a sample gets the smallest recommendation.
    """

    source: ClassVar[str] = (
        "kubernetes/autoscaler @55c37cd5 vertical-pod-autoscaler/pkg/recommender:"
        " logic/recommender.go, logic/estimator.go, model/aggregate_container_state.go,"
        " model/container.go, util/decaying_histogram.go"
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
    half_life_hours: Annotated[
        float, About("Half-life of the weight of a sample.", minimum=0.01)
    ] = 24.0
    apply: Annotated[
        Literal["target", "bounds"],
        About(
            "target: at every decision; bounds: if the limit is outside the bounds or memory ran"
            " out, as the updater does."
        ),
    ] = "target"

    def start(self, given: Given) -> Recommender:
        """Return a sizer without history."""
        return Recommender(self, given)

    def recommend(self, use: RecordedUse) -> Advice:
        """Return target and bounds of each service from all its samples."""
        seen = self.aggregates(len(use.services), use.service[use.measured])
        for now, cpu, memory in zip(use.times_ms.tolist(), *use.values, strict=True):
            for add, values in ((seen.add_cpu, cpu), (seen.add_memory, memory)):
                some = np.flatnonzero(~np.isnan(values))
                add(some, values[some].astype(np.float64), float(now))
        target, (lower, upper) = self.target_of(seen), self.bounds_of(seen)
        if self.apply == "bounds":
            now_asked = use.requested()
            target = np.where((now_asked >= lower) & (now_asked <= upper), now_asked, target)
        return Advice(target, lower, upper)

    def aggregates(self, services: int, of: IntArray) -> Aggregates:
        """Return empty histograms; ``of`` has the service of each container."""
        return Aggregates(services, of, self.half_life_hours * MS_PER_HOUR)

    def target_of(self, seen: Aggregates) -> FloatArray:
        """Return the target request of every service, shape (services, 2): cores and bytes."""
        return self._at_least(seen.amounts(self.target, self.margin))

    def bounds_of(self, seen: Aggregates) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds like ``target_of``, wider for a shorter history."""
        low, high = (
            self._at_least(seen.amounts(share, self.margin, seen.confidence(*by)))
            for share, by in ((self.lower, LOWER), (self.upper, UPPER))
        )
        return low, high

    def _at_least(self, amounts: FloatArray) -> FloatArray:
        least = cut(np.array([self.least_cores, self.least_mib * BYTES_PER_MIB]) * _UNITS)
        return np.asarray(np.maximum(amounts, least) / _UNITS)


class Recommender:
    """The sizer of a simulation, in which each container counts as a service."""

    def __init__(self, policy: VerticalPodAutoscaler, given: Given) -> None:
        self._policy = policy
        self._period_ms = float(given.period_ms)
        self._everyone = np.arange(given.containers)
        self._aggregates = policy.aggregates(given.containers, self._everyone)
        self._seen = 0

    def size(self, view: View) -> FloatArray:
        """Return the wanted limits of the due containers: their targets, shape (due, 2).

        With ``apply=bounds`` a limit within the bounds stays, except after an out-of-memory kill.
        """
        for use in view.served(self._seen).swapaxes(0, 1):
            self.add(use)
        out = view.overflowed[:, 1]
        self._killed(view.due[out], view.limit[out, 1])
        if not self._seen:
            return view.limit
        target: FloatArray = self.target()[view.due]
        if self._policy.apply == "target":
            return target
        low, high = (one[view.due] for one in self.bounds())
        outside = np.any((view.limit < low) | (view.limit > high), axis=1) | out
        return np.where(outside[:, None], target, view.limit)

    def target(self) -> FloatArray:
        """Return the target of every container, shape (containers, 2): cores and GB."""
        return self._policy.target_of(self._aggregates) / (1, BYTES_PER_GIB)

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper bounds of every container, in cores and GB."""
        low, high = self._policy.bounds_of(self._aggregates)
        return low / (1, BYTES_PER_GIB), high / (1, BYTES_PER_GIB)

    def add(self, use: FloatArray) -> None:
        """Add the use of every container in a period, shape (containers, 2): cores and GB."""
        now = self._seen * self._period_ms
        self._aggregates.add_cpu(self._everyone, use[:, 0], now)
        self._aggregates.add_memory(self._everyone, use[:, 1] * BYTES_PER_GIB, now)
        self._seen += 1

    def _killed(self, containers: IntArray, limit_gb: FloatArray) -> None:
        """Add a peak above the limit for containers that ran out of memory."""
        used = np.maximum(cut(limit_gb * BYTES_PER_GIB), self._aggregates.peaks[0, containers])
        needed = np.maximum(used + BUMP_BYTES, cut(used * BUMP_RATIO))
        now = max(self._seen - 1, 0) * self._period_ms
        self._aggregates.add_memory(containers, needed, now, killed=True)
