"""Measured load of nodes, amounts of pods, and risk, as in the Trimaran plugins.

The arithmetic is in percent of node capacity and in upstream's order, so that scores round as
upstream's do. Source: scheduler-plugins 903da7df, pkg/trimaran/resourcestats.go and
apis/config/v1/defaults.go.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.cluster.resources import BASE, amounts
from tracekit.policy.placement import PlacementPolicy, Reads
from tracekit.policy.placement._parts.formula import either
from tracekit.policy.view.pods import Amounts, Pod, PodContainer, add, maximum
from tracekit.policy.view.recorded import Metric, Recorded
from tracekit.policy.view.snapshot import Container, Snapshot

# The load of a node among its recorded metrics, as each Trimaran plugin chooses it. A reading gives
# average and deviation in percent, NaN for a value that the metrics lack.

Reading = Callable[[Sequence[Metric], str], tuple[float, float]]

#: The metric type of the first two resource columns.
TYPES = ("CPU", "Memory")

_NOTHING = (math.nan, math.nan)


def average_and_deviation(metrics: Sequence[Metric], kind: str) -> tuple[float, float]:
    """Return the mean load and its deviation in percent, among one node's metrics of a type.

    The mean is the last AVG, else the last value with operator Latest or ''. The deviation is the
    last STD. Each is 0 if the type has other operators only; both are NaN if the type is missing.
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
    """Return the last AVG or Latest in percent, and NaN as deviation (TargetLoadPacking)."""
    return next(_levels(reversed(metrics), kind), _NOTHING)


def first_level(metrics: Sequence[Metric], kind: str) -> tuple[float, float]:
    """Return the first AVG or Latest in percent, and NaN as deviation (Peaks)."""
    return next(_levels(metrics, kind), _NOTHING)


def _levels(metrics: Iterable[Metric], kind: str) -> Iterator[tuple[float, float]]:
    return (
        (metric.value, math.nan)
        for metric in metrics
        if metric.type == kind and metric.operator in ("AVG", "Latest")
    )


@dataclass(frozen=True, kw_only=True)
class Load:
    """Measured load of the candidates in percent of capacity; NaN for a node without metrics.

    Parameters
    ----------
    average, deviation : float64, shape (candidates,)
    """

    average: FloatArray
    deviation: FloatArray

    def amounts(self, capacity: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return average and deviation in the capacity's unit, each of shape (candidates,)."""
        return self.average * capacity / 100, self.deviation * capacity / 100


@dataclass(frozen=True, kw_only=True)
class LoadAware(PlacementPolicy):
    """Base of the Trimaran policies, which read the load of a window of samples."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "usage"})
    reading: ClassVar[Reading] = staticmethod(average_and_deviation)

    window_samples: Annotated[
        int,
        About("Newest samples of the window; 30 of 30 s are load-watcher's 15 minutes.", minimum=1),
    ] = 30
    fetch_ms: Annotated[int, About("Time between fetches of load-watcher.", minimum=1)] = 60_000
    collect_ms: Annotated[
        int, About("Time between polls of the watcher by the scheduler.", minimum=1)
    ] = 30_000

    def metric_time_ms(self, now_ms: int) -> int:
        """Return the end of the newest window: the last fetch at the time of the last poll."""
        polled = now_ms // self.collect_ms * self.collect_ms
        return polled // self.fetch_ms * self.fetch_ms

    def metric_samples(self) -> int:
        """Return the number of samples in the window."""
        return self.window_samples

    def load(self, snapshot: Snapshot, nodes: IntArray, column: int) -> Load:
        """Return the measured load of the candidates; ``column`` is 0 for CPU and 1 for memory."""
        if snapshot.recorded is not None:
            return self._recorded_load(snapshot.recorded, nodes, column)
        usage = snapshot.usage
        return Load(
            average=100.0 * usage.average(column, self.window_samples)[nodes],
            deviation=100.0 * usage.deviation(column, self.window_samples)[nodes],
        )

    def has_metrics(self, snapshot: Snapshot, nodes: IntArray) -> BoolArray:
        """Return whether the collector has any metric of a node, shape (candidates,)."""
        if snapshot.recorded is not None:
            names = snapshot.recorded.nodes
            return np.array([names[at] in snapshot.recorded.metrics for at in nodes], np.bool_)
        usage = snapshot.usage
        missing = [np.isnan(usage.latest(column)[nodes]) for column in range(len(TYPES))]
        return np.asarray(~np.logical_and.reduce(missing))

    def window_end_s(self, snapshot: Snapshot) -> int:
        """Return the end of the window in whole seconds."""
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


# Requests and limits of pods, and load with its spread.


@dataclass(frozen=True, kw_only=True)
class Claims:
    """The requests and limits of cpu and memory of some pods, or of each node's pods together.

    A limit is never below its request.

    Parameters
    ----------
    request, limit : int64, shape (..., 2)
        Millicores and bytes.
    """

    request: IntArray
    limit: IntArray


def effective_request(pod: Pod) -> dict[str, int]:
    """Return ``max(sum of containers, each init container) + overhead`` of a pod.

    Sidecars count as init containers.
    """
    return _effective(pod, lambda container: container.requests)


def effective_limit(pod: Pod) -> dict[str, int]:
    """Return the limits of a pod with its overhead, by the rule of ``effective_request``."""
    return _effective(pod, lambda container: container.limits)


def pod_claims(container: Container) -> Claims:
    """Return the requests and limits of the waiting container: CPU and memory, each shape (2,)."""
    if container.pod is None:
        request = container.request[:2]
        return Claims(request=request, limit=np.maximum(container.limit[:2], request))
    return _claims(container.pod)


def node_claims(snapshot: Snapshot, nodes: IntArray) -> Claims:
    """Return the requests and limits on each node, each of shape (candidates, 2)."""
    if snapshot.recorded is None:
        return Claims(request=snapshot.requested[nodes, :2], limit=snapshot.limits[nodes, :2])
    sums = [pods_claims(snapshot.recorded.pods[at]) for at in nodes]
    return Claims(
        request=np.array([one.request for one in sums], np.int64).reshape(-1, 2),
        limit=np.array([one.limit for one in sums], np.int64).reshape(-1, 2),
    )


def pods_claims(pods: tuple[Pod, ...]) -> Claims:
    """Return the sums of pods' requests and limits, each of shape (2,)."""
    each = [_claims(pod) for pod in pods]
    nothing = np.zeros(2, dtype=np.int64)
    return Claims(
        request=sum((one.request for one in each), nothing),
        limit=sum((one.limit for one in each), nothing),
    )


def mu_sigma(
    capacity: FloatArray, request: Any, used: FloatArray, deviation: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the mean load with the request, and its deviation, as fractions of capacity in 0..1.

    All arguments are in one unit, of shape (candidates,). A capacity of 0 gives 0, and otherwise
    NaN stays NaN.
    """
    some = capacity > 0
    safe = np.where(some, capacity, 1.0)
    mu, sigma = portion(used + request, safe), portion(deviation, safe)
    return np.where(some, mu, 0.0), np.where(some, sigma, 0.0)


def portion(amount: Any, capacity: Any) -> Any:
    """Return an amount as a fraction of a capacity above 0, in 0..1."""
    share = amount / capacity
    return either(share > 1.0, 1.0, either(share < 0.0, 0.0, share))


def metric_provider(arguments: Mapping[str, Any]) -> str:
    """Return the type of the metric provider in a plugin's arguments.

    Without a provider it is ``KubernetesMetricsServer``, or '' if a watcher's address is given.
    """
    given = arguments.get("metric_provider") or ""
    named = given.get("type") or "" if isinstance(given, Mapping) else str(given)
    return named or ("" if arguments.get("watcher_address") else "KubernetesMetricsServer")


def _claims(pod: Pod) -> Claims:
    request = amounts(BASE, effective_request(pod))
    return Claims(request=request, limit=np.maximum(amounts(BASE, effective_limit(pod)), request))


def _effective(pod: Pod, stated: Callable[[PodContainer], Amounts]) -> dict[str, int]:
    needed = add(stated(container) for container in pod.containers)
    for container in pod.init_containers:
        needed = maximum(needed, stated(container))
    return add([needed, pod.overhead])


# The Beta distribution of LowRiskOverCommitment, with upstream's results for invalid input.
#
# Source: scheduler-plugins 903da7df, pkg/trimaran/lowriskovercommitment/beta.go. Arguments are
# arrays or numbers that broadcast; results have their common shape.

_SMALLEST = 5e-324


def max_variance(mean: Any) -> Any:
    """Return the largest variance of a variable in 0..1, ``mean * (1 - mean)``.

    It is 0 for a mean outside (0, 1). For arrays and, compiled, for numbers.
    """
    return either((mean > 0) & (mean < 1), mean * (1 - mean), 0.0)


def beta_parameters(mean: Any, second: Any) -> tuple[Any, Any]:
    """Return alpha and beta of the Beta distribution with a mean and a second raw moment.

    They are NaN for impossible moments, and infinite with numpy's warning for a variance of 0. For
    arrays and numbers.
    """
    variance = second - mean * mean
    most = mean * (1 - mean)
    possible = (mean >= 0) & (mean <= 1) & (variance >= 0) & (variance < most)
    least = either(possible, most / either(possible, variance, 1.0), 1.0) - 1
    factor = either(least > _SMALLEST, least, _SMALLEST)
    return either(possible, mean * factor, np.nan), either(possible, (1 - mean) * factor, np.nan)


def fit(mean: ArrayLike, second: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return ``shape`` of arguments that broadcast: alpha and beta, without numpy's warnings."""
    first, other = np.broadcast_arrays(np.asarray(mean, np.float64), np.asarray(second, np.float64))
    with np.errstate(divide="ignore", over="ignore"):
        return beta_parameters(first, other)


def cumulative(alpha: ArrayLike, beta: ArrayLike, at: ArrayLike) -> FloatArray:
    """Return P(X <= at) of the Beta distribution; 0 outside its domain."""
    a, b, x = (np.asarray(one, np.float64) for one in (alpha, beta, at))
    defined = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b) & (x >= 0) & (x <= 1)
    inside = (a, b, x) if defined.all() else (np.where(defined, one, 0.5) for one in (a, b, x))
    below = special.betainc(*inside)
    return np.where(defined & ~np.isnan(below), below, 0.0)


def density(alpha: float, beta: float, at: float) -> float:
    """Return the density of the Beta distribution at a point; 0 outside its domain."""
    if alpha <= 0 or beta <= 0 or not 0 <= at <= 1:
        return 0.0
    with np.errstate(divide="ignore"):
        powers = np.power(at, alpha - 1.0) * np.power(1.0 - at, beta - 1.0)
    value = float(powers / special.beta(alpha, beta))
    return value if np.isfinite(value) else 0.0


def moments(alpha: float, beta: float) -> tuple[float, float, float]:
    """Return the first three raw moments of the Beta distribution."""
    first = alpha / (alpha + beta)
    second = first * (alpha + 1) / (alpha + beta + 1)
    return first, second, second * (alpha + 2) / (alpha + beta + 2)


# Use of a resource on each node: the measured amount, or the requested amount without measurements.
#
# Workloads measure cpu and memory, and seldom network and disk. Without measurements the requests
# on a node count as its use, which is an assumption of this project.


def measured_fraction(snapshot: Snapshot, column: int) -> FloatArray:
    """Return the used fraction of capacity at the newest sample, shape (nodes,).

    The fraction is NaN for a node without a measurement.
    """
    try:
        return snapshot.usage.latest(column)
    except IndexError:  # a history of cpu and memory alone
        return np.full(len(snapshot.capacity), np.nan)


def used_amount(snapshot: Snapshot, column: int) -> FloatArray:
    """Return the amount used at the newest sample, shape (nodes,).

    For a node without a sample it is the requested amount.
    """
    measured = measured_fraction(snapshot, column) * snapshot.capacity[:, column]
    return np.asarray(measured_or_requested(measured, snapshot.requested[:, column]))


def used_fraction(snapshot: Snapshot, column: int) -> FloatArray:
    """Return ``used_amount`` over capacity, shape (nodes,); 0 for a node without the resource."""
    capacity = snapshot.capacity[:, column]
    return np.asarray(ratio(used_amount(snapshot, column), capacity, otherwise=0.0))


def fraction_after(snapshot: Snapshot, column: int, container: Container) -> FloatArray:
    """Return the fraction used with the container added, shape (nodes,); 1 for a capacity of 0."""
    after = used_amount(snapshot, column) + float(container.request[column])
    return np.asarray(ratio(after, snapshot.capacity[:, column], otherwise=1.0))


# The formulas, for arrays and, compiled, for numbers: see ``formula.py``.


def measured_or_requested(measured: Any, requested: Any) -> Any:
    """Return the measured amount, or the requested amount if the measurement is NaN."""
    return either(np.isnan(measured), requested, measured)


def ratio(part: Any, whole: Any, otherwise: float) -> Any:
    """Return ``part / whole``, or ``otherwise`` for a whole of 0."""
    some = whole > 0
    return either(some, part / either(some, whole, 1.0), otherwise)


def left_of(used: Any) -> Any:
    """Return ``1 - used``, the free fraction, at least 0."""
    return np.maximum(1.0 - used, 0.0)


def has_room(snapshot: Snapshot, column: int, container: Container, nodes: IntArray) -> IntArray:
    """Return the candidates whose use with the container's request is within capacity.

    Returns
    -------
    int64, shape (valid,)
        Positions in ``nodes``.
    """
    after = used_amount(snapshot, column)[nodes] + container.request[column]
    capacity = snapshot.capacity[nodes, column]
    return np.flatnonzero((after <= capacity) & (capacity > 0))
