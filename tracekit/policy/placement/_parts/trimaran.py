"""Shared parts of the Trimaran plugins: amounts of pods and nodes, and load with its spread.

Source: scheduler-plugins 903da7df, pkg/trimaran/resourcestats.go and apis/config/v1/defaults.go.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.cluster.resources import BASE, amounts
from tracekit.policy.placement._parts.formula import either
from tracekit.policy.view.pod import Amounts, Pod, PodContainer, add, maximum
from tracekit.policy.view.snapshot import Container, Snapshot


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
