"""Data of a recorded case that a snapshot's arrays lack: pods and raw metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracekit.policy.view.pods import Pod, PodContainer

Document = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One value of the metric collector, in percent of the node's capacity.

    Policies read the types 'CPU' and 'Memory' and the operators 'AVG', 'STD', 'Latest' and ''.
    """

    type: str
    operator: str
    value: float


@dataclass(frozen=True, kw_only=True)
class RecentPod:
    """A pod bound so late that metrics may lack it, and the time of binding in whole seconds."""

    pod: Pod
    time_s: int


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """The data of a recorded scheduler decision that a snapshot's arrays lack: pods and metrics.

    Parameters
    ----------
    nodes : tuple of str
        Names in the order of the snapshot's rows.
    pods : tuple of tuple of Pod
        The running pods of each node.
    metrics : mapping of str to sequence of Metric
        The metrics of each measured node, by its name.
    window_end_s : int
        Unix time of the end of the metrics' window.
    recent : mapping of str to sequence of RecentPod
        The lately bound pods of nodes, by the node's name.
    """

    nodes: tuple[str, ...]
    pods: tuple[tuple[Pod, ...], ...]
    metrics: Mapping[str, Sequence[Metric]] = field(default_factory=dict)
    window_end_s: int = 0
    recent: Mapping[str, Sequence[RecentPod]] = field(default_factory=dict)


def decode_recorded(inputs: Document) -> Recorded:
    """Decode a recorded case: ``nodes``, and optionally ``metrics`` and ``recent_pods``."""
    metrics = inputs.get("metrics") or {}
    recent = inputs.get("recent_pods") or {}
    return Recorded(
        nodes=tuple(str(node["name"]) for node in inputs["nodes"]),
        pods=tuple(
            tuple(decode_pod(pod) for pod in node.get("pods") or []) for node in inputs["nodes"]
        ),
        metrics={
            name: decode_metrics(given)
            for name, given in (metrics.get("nodes") or {}).items()
            if given is not None
        },
        window_end_s=int(metrics.get("window_end") or 0),
        recent={
            name: [
                RecentPod(pod=decode_pod(one["pod"]), time_s=int(one["timestamp"])) for one in pods
            ]
            for name, pods in recent.items()
        },
    )


def decode_metrics(given: Sequence[Document]) -> list[Metric]:
    """Return the metrics of one node."""
    return [
        Metric(type=one["type"], operator=one.get("operator") or "", value=float(one["value"]))
        for one in given
    ]


def decode_pod(document: Document) -> Pod:
    """Return a pod of a case: ``containers``, ``init_containers``, ``sidecars``, ``overhead``.

    A sidecar is an init container marked ``restartable`` or with ``restart_policy`` 'Always'.
    """
    sidecars = [{**sidecar, "restartable": True} for sidecar in document.get("sidecars") or []]
    inits = [*sidecars, *(document.get("init_containers") or [])]
    return Pod(
        containers=tuple(_pod_container(one) for one in document.get("containers") or []),
        init_containers=tuple(_pod_container(one) for one in inits),
        overhead=document.get("overhead") or {},
    )


def _pod_container(document: Document) -> PodContainer:
    always = document.get("restart_policy") == "Always"
    return PodContainer(
        requests=document.get("requests") or {},
        limits=document.get("limits") or {},
        restartable=bool(document.get("restartable")) or always,
    )
