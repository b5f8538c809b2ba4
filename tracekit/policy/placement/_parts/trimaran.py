"""Shared parts of the Trimaran plugins: amounts of pods and nodes, and load with its spread.

Source: scheduler-plugins 903da7df, pkg/trimaran/resourcestats.go and apis/config/v1/defaults.go.
"""

import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.cluster.resources import BASE, CPU, amounts
from tracekit.policy.placement._parts.formula import either
from tracekit.policy.placement._parts.legacy import half_away
from tracekit.policy.view.pods import Amounts, Pod, PodContainer, add, maximum
from tracekit.policy.view.recorded import Recorded
from tracekit.policy.view.snapshot import Container, Placed, Snapshot


@dataclass(frozen=True, kw_only=True)
class Claims:
    """Pods' claims of cpu and memory; a limit is never below its request.

    Parameters
    ----------
    request, limit : int64, shape (..., 2)
    """

    request: IntArray
    limit: IntArray


def effective_request(pod: Pod) -> dict[str, int]:
    """``max(sum of containers, each init container) + overhead``; sidecars are init containers."""
    return _effective(pod, lambda container: container.requests)


def effective_limit(pod: Pod) -> dict[str, int]:
    """The limits, by the same rule; overhead is added to them too."""
    return _effective(pod, lambda container: container.limits)


def pod_claims(container: Container) -> Claims:
    """The claims of the waiting container, shape (2,)."""
    if container.pod is None:
        request = container.request[:2]
        return Claims(request=request, limit=np.maximum(container.limit[:2], request))
    return _claims(container.pod)


def node_claims(snapshot: Snapshot, nodes: IntArray) -> Claims:
    """The claims of the containers on each node together, shape (candidates, 2)."""
    if snapshot.recorded is None:
        return Claims(request=snapshot.requested[nodes, :2], limit=snapshot.limits[nodes, :2])
    sums = [pods_claims(snapshot.recorded.pods[at]) for at in nodes]
    return Claims(
        request=np.array([one.request for one in sums], np.int64).reshape(-1, 2),
        limit=np.array([one.limit for one in sums], np.int64).reshape(-1, 2),
    )


def pods_claims(pods: tuple[Pod, ...]) -> Claims:
    """The claims of pods together, shape (2,); each limit is raised to its request first."""
    each = [_claims(pod) for pod in pods]
    nothing = np.zeros(2, dtype=np.int64)
    return Claims(
        request=sum((one.request for one in each), nothing),
        limit=sum((one.limit for one in each), nothing),
    )


def mu_sigma(
    capacity: FloatArray, request: Any, used: FloatArray, deviation: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean with the request, and deviation, as fractions of capacity in 0..1; 0 without any.

    All in the same unit, shape (candidates,) each; NaN stays NaN where there is capacity.
    """
    some = capacity > 0
    safe = np.where(some, capacity, 1.0)
    mu, sigma = portion(used + request, safe), portion(deviation, safe)
    return np.where(some, mu, 0.0), np.where(some, sigma, 0.0)


def portion(amount: Any, capacity: Any) -> Any:
    """An amount as a fraction of a capacity above 0, in 0..1."""
    share = amount / capacity
    return either(share > 1.0, 1.0, either(share < 0.0, 0.0, share))


def metric_provider(arguments: Mapping[str, Any]) -> str:
    """The source of metrics when neither a provider nor a watcher's address is given."""
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


# The Beta distribution as LowRiskOverCommitment uses it, with its answers to invalid input.
#
# Source: scheduler-plugins 903da7df, pkg/trimaran/lowriskovercommitment/beta.go. Arguments are
# arrays or numbers that broadcast; answers have their common shape.

_SMALLEST = 5e-324


def max_variance(mean: Any) -> Any:
    """The largest variance a variable in 0..1 of this mean can have; 0 outside (0, 1).

    For arrays and, compiled, for numbers, as ``shape``.
    """
    return either((mean > 0) & (mean < 1), mean * (1 - mean), 0.0)


def shape(mean: Any, second: Any) -> tuple[Any, Any]:
    """The alpha and beta with this first and second raw moment; NaN where there are none.

    Infinite, with numpy's warning, where the variance is 0.
    """
    variance = second - mean * mean
    most = mean * (1 - mean)
    possible = (mean >= 0) & (mean <= 1) & (variance >= 0) & (variance < most)
    least = either(possible, most / either(possible, variance, 1.0), 1.0) - 1
    factor = either(least > _SMALLEST, least, _SMALLEST)
    return either(possible, mean * factor, np.nan), either(possible, (1 - mean) * factor, np.nan)


def fit(mean: ArrayLike, second: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """``shape`` of what broadcasts, without a warning."""
    first, other = np.broadcast_arrays(np.asarray(mean, np.float64), np.asarray(second, np.float64))
    with np.errstate(divide="ignore", over="ignore"):
        return shape(first, other)


def cumulative(alpha: ArrayLike, beta: ArrayLike, at: ArrayLike) -> FloatArray:
    """P(X <= at), the regularised incomplete beta function; 0 where it is not defined."""
    a, b, x = (np.asarray(one, np.float64) for one in (alpha, beta, at))
    defined = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b) & (x >= 0) & (x <= 1)
    inside = (a, b, x) if defined.all() else (np.where(defined, one, 0.5) for one in (a, b, x))
    found = special.betainc(*inside)
    return np.where(defined & ~np.isnan(found), found, 0.0)


def density(alpha: float, beta: float, at: float) -> float:
    """Density at a point; 0 where it is not defined."""
    if alpha <= 0 or beta <= 0 or not 0 <= at <= 1:
        return 0.0
    with np.errstate(divide="ignore"):
        powers = np.power(at, alpha - 1.0) * np.power(1.0 - at, beta - 1.0)
    found = float(powers / special.beta(alpha, beta))
    return found if np.isfinite(found) else 0.0


def moments(alpha: float, beta: float) -> tuple[float, float, float]:
    """The first three raw moments."""
    first = alpha / (alpha + beta)
    second = first * (alpha + 1) / (alpha + beta + 1)
    return first, second, second * (alpha + 2) / (alpha + beta + 2)


# Predicted CPU of pods, and of those placed too lately to show in the metrics.
#
# Source: scheduler-plugins 903da7df, pkg/trimaran/targetloadpacking and pkg/trimaran/handler.go.

#: A pod bound less than this before the end of the metrics' window may be missing in them.
REPORTING_S = 60


@dataclass(frozen=True, kw_only=True)
class Predictor:
    """CPU that pods are expected to use, in millicores: limit, else request times a factor."""

    default_milli: int
    multiplier: float

    def container(self, container: Container) -> int:
        """Expected use of the container that waits."""
        if container.pod is not None:
            return self.pod(container.pod)
        return int(self.amounts(container.request[:1], container.limit[:1])[0])

    def pod(self, pod: Pod) -> int:
        """Sum over the containers, and overhead; init containers are not counted."""
        return sum(map(self._stated, pod.containers)) + pod.overhead.get(CPU, 0)

    def amounts(self, request: IntArray, limit: IntArray) -> IntArray:
        """Expected use of pods of one container each; an amount of 0 was not stated."""
        return np.asarray(expected_milli(request, limit, self.default_milli, self.multiplier))

    def missing(self, placed: Placed, nodes: int, window_end_s: int) -> IntArray:
        """Expected use of what was placed lately, shape (nodes,)."""
        late = placed.time_ms // 1000 > window_end_s - REPORTING_S
        expected = self.amounts(placed.request[late, 0], placed.limit[late, 0])
        total = np.zeros(nodes, dtype=np.int64)
        np.add.at(total, placed.node[late], expected)
        return total

    def recorded_missing(self, recorded: Recorded) -> IntArray:
        """The same of a recorded case, shape (nodes,)."""
        oldest = recorded.window_end_s - REPORTING_S
        return np.array(
            [
                sum(
                    self.pod(one.pod)
                    for one in recorded.recent.get(node, ())
                    if one.time_s > oldest
                )
                for node in recorded.nodes
            ],
            dtype=np.int64,
        )

    def _stated(self, container: PodContainer) -> int:
        if CPU in container.limits:
            return container.limits[CPU]
        if CPU in container.requests:
            return int(half_away(container.requests[CPU] * self.multiplier))
        return self.default_milli


def expected_milli(request: Any, limit: Any, default: Any, multiplier: Any) -> Any:
    """The limit, else the request times the factor, else the default; 0 was not stated."""
    asked = either(request > 0, half_away(request * multiplier), default)
    return either(limit > 0, limit, asked)


def surviving(ages_s: Sequence[float | None]) -> list[int]:
    """Positions that the clean-up of a node's recent pods leaves, oldest first.

    It drops those older than a minute from the front, found by bisection; when all are older it
    drops none. An age of None is older than any.
    """

    def young(age: Any) -> bool:
        return age is not None and age < REPORTING_S

    first = bisect.bisect_left(ages_s, True, key=young)
    return list(range(first if first < len(ages_s) else 0, len(ages_s)))


# Use of a resource on each node: measured if known, else requested.
#
# Workloads measure cpu and memory. Of network and disk most say nothing; then the requests of the
# containers on a node stand for their use, which is an assumption of this project.


def measured_fraction(snapshot: Snapshot, column: int) -> FloatArray:
    """Fraction of capacity at the newest sample, shape (nodes,); NaN where nothing is measured."""
    try:
        return snapshot.usage.latest(column)
    except IndexError:  # a history of cpu and memory alone
        return np.full(len(snapshot.capacity), np.nan)


def used_amount(snapshot: Snapshot, column: int) -> FloatArray:
    """Amount used at the newest sample, else the amount requested, shape (nodes,)."""
    measured = measured_fraction(snapshot, column) * snapshot.capacity[:, column]
    return np.asarray(measured_or_requested(measured, snapshot.requested[:, column]))


def used_fraction(snapshot: Snapshot, column: int) -> FloatArray:
    """``used_amount`` over capacity, shape (nodes,); 0 on a node that has none of the resource."""
    capacity = snapshot.capacity[:, column]
    return np.asarray(ratio(used_amount(snapshot, column), capacity, otherwise=0.0))


def fraction_after(snapshot: Snapshot, column: int, container: Container) -> FloatArray:
    """Fraction used with the container on top, shape (nodes,); 1 where there is no capacity."""
    after = used_amount(snapshot, column) + float(container.request[column])
    return np.asarray(ratio(after, snapshot.capacity[:, column], otherwise=1.0))


# The formulas, for arrays and, compiled, for numbers: see ``formula.py``.


def measured_or_requested(measured: Any, requested: Any) -> Any:
    """The amount measured, or the amount requested where none is."""
    return either(np.isnan(measured), requested, measured)


def ratio(part: Any, whole: Any, otherwise: float) -> Any:
    """``part / whole`` where there is a whole, else ``otherwise``."""
    some = whole > 0
    return either(some, part / either(some, whole, 1.0), otherwise)


def left_of(used: Any) -> Any:
    """The fraction that is left; 0 where more than all is used."""
    return np.maximum(1.0 - used, 0.0)


def has_room(snapshot: Snapshot, column: int, container: Container, nodes: IntArray) -> IntArray:
    """Candidates whose measured use plus the container's need stays within capacity.

    Returns
    -------
    int64, shape (valid,)
        Positions in ``nodes``.
    """
    after = used_amount(snapshot, column)[nodes] + container.request[column]
    capacity = snapshot.capacity[nodes, column]
    return np.flatnonzero((after <= capacity) & (capacity > 0))
