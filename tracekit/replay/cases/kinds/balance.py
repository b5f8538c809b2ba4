"""Cases of kind ``balance``: what one call of a descheduler plugin evicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracekit.base import parameters
from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.documents import shape as s
from tracekit.base.errors import TracekitError
from tracekit.cluster.resources import BASE, PODS, full_name
from tracekit.policy.rebalance import RebalancePolicy, get_rebalancer
from tracekit.policy.rebalance._thresholds import named
from tracekit.policy.rebalance._turn import Limits
from tracekit.policy.rebalance._utilization import (
    METRIC,
    Candidates,
    View,
    quality_of_service,
    turns,
)
from tracekit.policy.rebalance.high_node_utilization import HighNodeUtilization
from tracekit.policy.rebalance.low_node_utilization import LowNodeUtilization
from tracekit.replay.cases.case import Answer, Question, kind
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds._pod_rules import acceptance, protection
from tracekit.replay.cases.kinds.usage import rows_of

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
    limits = Limits(per_node=evictor.get("max_pods_to_evict_per_node"))
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
            evict=lambda index: limits.take(int(at[index]), ""),
        ),
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


#: Arguments of a case that are no parameters here: the case itself is filtered by them.
_ASIDE = ("evictable_namespaces_exclude", "eviction_modes")


@kind(
    "what a descheduler plugin evicts",
    {
        **_shapes.ASKED,
        "nodes": _shapes.NODES_TO_BALANCE,
        "pods": _shapes.PODS_TO_BALANCE,
        "evictor": s.optional(_shapes.EVICTOR),
        "pod_metrics": s.optional(s.map_of(_shapes.AMOUNTS)),
        "node_metrics": s.optional(s.map_of(_shapes.AMOUNTS)),
        "prometheus_samples": s.optional(s.map_of(s.optional(_shapes.NUMBER))),
    },
)
def balance(question: Question) -> Answer:
    """``{"evicted": number, "evicted_subset_of": [container, ...]}``, containers as listed."""
    policy = _policy(question)
    if not isinstance(policy, LowNodeUtilization | HighNodeUtilization):
        raise TracekitError(f"policy '{policy.name()}' is none of the descheduler's")
    try:
        seen = case_view(question.inputs, set(named(policy.thresholds)), _source(policy))
    except UnknownUsageError as error:
        return Answer(values={"evicted": 0, "evicted_subset_of": []}, note=error.what)
    if isinstance(policy, LowNodeUtilization):
        evicted = policy.evict_from(seen.view)
    else:
        evicted = policy.evict_from(seen.view, _requesting(question.inputs, policy))
    return _answer(seen, evicted)


def _answer(seen: CaseView, evicted: IntArray) -> Answer:
    order = {int(index): turn + 1 for turn, index in enumerate(evicted)}
    chosen = [name for at, name in enumerate(seen.pods) if at in order]
    rows = [
        [name, seen.nodes[seen.view.containers.node[at]], order.get(at), seen.kept[at]]
        for at, name in enumerate(seen.pods)
    ]
    return Answer(
        values={"evicted": len(evicted), "evicted_subset_of": chosen},
        columns=["container", "node", "evicted as", "protected because"],
        rows=rows,
    )


def _policy(question: Question) -> RebalancePolicy:
    if question.policy_name is None:
        raise TracekitError(
            f"case '{question.name}' does not say which policy to score with",
            hint="give --policy NAME",
        )
    kind = get_rebalancer(question.policy_name)
    settings = parameters.read_all(kind, f"rebalance policy {kind.name()}", {**question.settings})
    return kind(**{**_arguments(kind, question.inputs), **settings})


def _arguments(kind: type[RebalancePolicy], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The case's arguments as parameters; one that the policy does not have is an error."""
    given = inputs.get("args") or {}
    known = parameters.names(kind)
    strange = [name for name in given if name not in known and name not in _ASIDE]
    if strange:
        raise TracekitError(f"{kind.name()} has no argument '{strange[0]}'; it has: {known}")
    made = {
        name: parameters.from_json(kind, name, value)
        for name, value in given.items()
        if name in known and value is not None
    }
    modes = given.get("eviction_modes") or []
    if "OnlyThresholdingResources" in modes and "only_thresholding_resources" in known:
        made["only_thresholding_resources"] = True
    return made


def _source(policy: RebalancePolicy) -> str:
    return policy.usage_source if isinstance(policy, LowNodeUtilization) else "requests"


def _requesting(inputs: Mapping[str, Any], policy: HighNodeUtilization) -> BoolArray:
    """Which pods state a request, be it 0, of a resource with a threshold."""
    wanted = {full_name(name) for name, _ in policy.thresholds}
    return np.array([bool(wanted & set(pod.get("requests") or {})) for pod in inputs["pods"]])
