"""Recorded cases decoded: nodes, pods and arguments become a snapshot, a container, a policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tracekit.errors import TracekitError
from tracekit.replay import parameters
from tracekit.replay.cluster import Cluster
from tracekit.replay.kinds import Question
from tracekit.replay.placement import PlacementPolicy
from tracekit.replay.pod import Pod, PodContainer
from tracekit.replay.resources import PODS, UNLIMITED, amounts, column_order
from tracekit.replay.snapshot import Container, Snapshot

Document = Mapping[str, Any]


def case_policy(question: Question) -> tuple[PlacementPolicy, list[str]]:
    """The policy with the case's arguments, and the names of arguments it does not have.

    Raises
    ------
    ParameterError
        When an argument's value is impossible.
    """
    kind = question.policy()
    known = parameters.names(kind)
    arguments = question.inputs.get("args") or {}
    given = {
        name: parameters.from_json(kind, name, value)
        for name, value in arguments.items()
        if name in known and name not in question.settings
    }
    settings = parameters.read_all(kind, f"policy {kind.name()}", question.settings)
    unread = [name for name in arguments if name not in known and name != "strategy"]
    return kind(**{**given, **settings}), unread


def situation(inputs: Document) -> tuple[list[str], Snapshot, Container]:
    """Names of the nodes, the snapshot of what runs on them, and the pod that waits.

    Raises
    ------
    TracekitError
        When the case has no nodes or no pod.
    """
    for key in ("nodes", "pod"):
        if key not in inputs:
            raise TracekitError(f"the case has no '{key}'; it has: {', '.join(inputs)}")
    nodes = inputs["nodes"]
    waiting = decode_pod(inputs["pod"])
    running = [[decode_pod(pod) for pod in node.get("pods") or []] for node in nodes]
    resources = _resources(nodes, [waiting, *(pod for pods in running for pod in pods)])
    cluster = Cluster(
        resources=resources,
        capacity=_rows(nodes, resources, "capacity"),
        allocatable=_rows(nodes, resources, "allocatable"),
    )
    for node, pods in enumerate(running):
        for pod in pods:
            made = _container("", pod, resources)
            cluster.change(node, made.request, made.nonzero_request, made.limit, sign=1)
    name = str(inputs["pod"].get("name") or "pod")
    names = [str(node["name"]) for node in nodes]
    return names, cluster.snapshot(0), _container(name, waiting, resources)


def decode_pod(document: Document) -> Pod:
    """A pod of a case: ``containers``, ``init_containers``, ``sidecars``, ``overhead``.

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


def _container(name: str, pod: Pod, resources: tuple[str, ...]) -> Container:
    counted = {PODS: 1}
    request = amounts(resources, {**pod.request(), **counted})
    return Container(
        id=name,
        service="",
        request=request,
        nonzero_request=amounts(resources, {**pod.nonzero_request(), **counted}),
        limit=np.maximum(amounts(resources, pod.limit()), request),
    )


def _resources(nodes: Sequence[Document], pods: Sequence[Pod]) -> tuple[str, ...]:
    return column_order([*_names(nodes), *(name for pod in pods for name in pod.request())])


def _names(nodes: Sequence[Document]) -> Iterator[str]:
    for node in nodes:
        yield from node.get("allocatable") or {}
        yield from node.get("capacity") or {}


def _rows(nodes: Sequence[Document], resources: tuple[str, ...], which: str) -> Any:
    """One row per node; of capacity and allocatable one may stand for the other."""
    other = "allocatable" if which == "capacity" else "capacity"
    given = [node.get(which) or node.get(other) or {} for node in nodes]
    unlimited = [{PODS: UNLIMITED, **one} for one in given]
    return np.array([amounts(resources, one) for one in unlimited], dtype=np.int64)
