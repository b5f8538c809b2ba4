"""A recorded cluster as the descheduler sees it: nodes, pods, what is used, who may be evicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracekit.arrays import BoolArray, FloatArray, IntArray
from tracekit.errors import TracekitError
from tracekit.replay.cases.kinds._pod_rules import acceptance, protection
from tracekit.replay.cases.kinds.usage import rows_of
from tracekit.replay.rebalance._eviction import Candidates, View
from tracekit.replay.rebalance._order import quality_of_service, turns
from tracekit.replay.rebalance._snapshot_view import METRIC
from tracekit.replay.workload.resources import BASE, PODS

Document = Mapping[str, Any]


class UnknownUsageError(TracekitError):
    """The source of usage cannot say what a node uses; the descheduler then evicts nothing."""


@dataclass(frozen=True, kw_only=True)
class CaseView:
    """The view, the names behind its positions, and why a pod is protected ('' when it is not)."""

    view: View
    nodes: list[str]
    pods: list[str]
    kept: list[str]


def case_view(inputs: Document, thresholds: set[str], source: str) -> CaseView:
    """The view of a case with resources of ``thresholds``, cpu, memory and pods.

    Raises
    ------
    UnknownUsageError
        When a node has no metrics, or a sample outside 0..1.
    """
    nodes, pods = inputs["nodes"], inputs["pods"]
    names = [str(node["name"]) for node in nodes]
    at = np.array([names.index(pod["node"]) for pod in pods], dtype=np.int64)
    named = tuple(dict.fromkeys([*sorted(thresholds), *BASE, PODS]))
    resources = (METRIC,) if source == "prometheus" else named
    whole = [{**_capacity(node), METRIC: 100} for node in nodes]
    used, amounts, counted = _used(inputs, resources, source, at)
    evictor = inputs.get("evictor") or {}
    excluded = (inputs.get("args") or {}).get("evictable_namespaces_exclude") or []
    kept = [protection(pod, excluded) for pod in pods]
    view = View(
        resources=resources,
        used=used,
        capacity=rows_of(whole, resources),
        schedulable=np.array([not node.get("unschedulable") for node in nodes]),
        containers=Candidates(
            node=at,
            used=amounts,
            counted=counted,
            removable=np.array([not reason for reason in kept], dtype=np.bool_),
            turn=_turns(pods),
            accepted=acceptance(nodes, pods, at, node_fit=bool(evictor.get("node_fit"))),
        ),
        node_limit=evictor.get("max_pods_to_evict_per_node"),
    )
    return CaseView(view=view, nodes=names, pods=[str(pod["name"]) for pod in pods], kept=kept)


def _capacity(node: Document) -> Document:
    return node.get("allocatable") or node.get("capacity") or {}


def _used(
    inputs: Document, resources: Sequence[str], source: str, at: IntArray
) -> tuple[FloatArray, IntArray | None, BoolArray]:
    """Usage of nodes, amounts of pods, and of which pods the amounts are known."""
    nodes, pods = inputs["nodes"], inputs["pods"]
    every = np.ones(len(pods), dtype=np.bool_)
    if source == "prometheus":
        return _samples(inputs), None, every
    asked = [{**(pod.get("requests") or {}), PODS: 1} for pod in pods]
    amounts = np.nan_to_num(rows_of(asked, resources), nan=0.0)
    used = np.zeros((len(nodes), len(resources)))
    np.add.at(used, at, amounts)
    if source == "requests":
        return used, amounts.astype(np.int64), every
    measured = inputs.get("pod_metrics") or {}
    keys = [f"{pod.get('namespace', 'default')}/{pod['name']}" for pod in pods]
    known = np.array([key in measured for key in keys], dtype=np.bool_)
    own = [{**measured.get(key, {}), PODS: 1} for key in keys]
    _measure(inputs, resources, used)
    return used, np.nan_to_num(rows_of(own, resources), nan=0.0).astype(np.int64), known


def _measure(inputs: Document, resources: Sequence[str], used: FloatArray) -> None:
    """Put what the metrics server says of cpu and memory in place of what is requested."""
    metrics = inputs.get("node_metrics") or {}
    for row, node in enumerate(inputs["nodes"]):
        if node["name"] not in metrics:
            raise UnknownUsageError(f"node '{node['name']}' has no metrics: nothing is evicted")
        for column, resource in enumerate(resources):
            if resource in BASE:
                used[row, column] = float(metrics[node["name"]].get(resource) or 0)


def _samples(inputs: Document) -> FloatArray:
    samples = inputs.get("prometheus_samples") or {}
    values = [samples.get(node["name"]) for node in inputs["nodes"]]
    for node, value in zip(inputs["nodes"], values, strict=True):
        if value is None or not 0 <= value <= 1:
            raise UnknownUsageError(
                f"node '{node['name']}' has the sample {value}, expected 0..1: nothing is evicted"
            )
    return np.trunc(100.0 * np.array(values, dtype=np.float64))[:, None]


def _turns(pods: Sequence[Document]) -> IntArray:
    requests, limits = (
        np.nan_to_num(rows_of([pod.get(key) or {} for pod in pods], BASE), nan=0.0)
        for key in ("requests", "limits")
    )
    stated = [pod.get("priority") for pod in pods]
    return turns(
        priority=[-np.inf if value is None else float(value) for value in stated],
        quality=quality_of_service(requests, limits),
        size=requests.sum(axis=1),
    )
