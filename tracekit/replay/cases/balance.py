"""Cases of kind ``balance``: the pods that one call of a descheduler plugin evicts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tracekit.base import parameters
from tracekit.base import shape as s
from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.constraints.labels import Requirement, requirement, tolerations
from tracekit.cluster.resources import BASE, PODS, full_name
from tracekit.policy.rebalance import RebalancePolicy, get_rebalancer
from tracekit.policy.rebalance._evictor import Evictor, Scope
from tracekit.policy.rebalance._turn import Cycle, Limits, PluginRun
from tracekit.policy.rebalance._utilization import (
    METRIC,
    Candidates,
    View,
    acceptance,
    named,
    turns_of,
)
from tracekit.policy.rebalance.node_utilization import HighNodeUtilization, LowNodeUtilization
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.pods import PodRecord, Pods
from tracekit.policy.view.snapshot import Placed
from tracekit.replay.cases import Answer, Question, _shapes, kind
from tracekit.replay.cases.usage import rows_of

Document = Mapping[str, Any]
#: Marks of a pod by the field of a case that gives it.
_MARKS = {
    **{name: name for name in ("mirror", "static", "terminating")},
    "local_storage": "local",
    "evict_annotation": "evict",
}
_EXCLUDED = "evictableNamespaces"
#: Operators of tolerations; a toleration with any other operator tolerates no taint.
_OPERATORS = (None, "", "Equal", "Exists")
#: A requirement that no node meets.
_NEVER = (Requirement("", "In", ()),)


class UnknownUsageError(TracekitError):
    """The usage of a node is missing or out of range; the descheduler then evicts nothing."""


@dataclass(frozen=True, kw_only=True)
class CaseView:
    """A case as a rebalance policy sees it; ``case_view`` makes it.

    Parameters
    ----------
    view : View
    nodes, pods : list of str
        Names, in the order in which ``view`` numbers nodes and pods.
    protected : list of str
        For each pod, why it may not be evicted; '' if it may.
    """

    view: View
    nodes: list[str]
    pods: list[str]
    protected: list[str]


def case_view(inputs: Document, thresholds: set[str], source: str) -> CaseView:
    """Return a case as a rebalance policy sees it.

    Parameters
    ----------
    thresholds : set of str
        Resources to view besides cpu, memory and pods.
    source : str
        Where usage comes from: requests, metrics_server or prometheus. With prometheus the view has
        the metric only, in percent.

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
    turn = _turn(inputs, at, sorted({name for one in whole for name in one} - {METRIC}))
    view = View(
        resources=resources,
        used=used,
        capacity=rows_of(whole, resources),
        schedulable=~turn.cycle.pods.closed,
        containers=Candidates(
            node=at,
            used=amounts,
            counted=counted,
            removable=turn.may,
            turn=turns_of(turn),
            accepted=acceptance(turn, np.arange(len(nodes))),
            evict=turn.evict,
        ),
    )
    reasons = {at: why for (_, why), those in turn.cycle.staying.items() for at in those}
    return CaseView(
        view=view,
        nodes=names,
        pods=[str(pod["name"]) for pod in pods],
        protected=[reasons.get(at, "") if seen else _EXCLUDED for at, seen in enumerate(turn.seen)],
    )


def _turn(inputs: Document, at: IntArray, resources: Sequence[str]) -> PluginRun:
    """A plugin's turn in the cluster of a case, with every resource of its nodes and pods."""
    nodes, pods = inputs["nodes"], inputs["pods"]
    evictor = inputs.get("evictor") or {}
    excluded = (inputs.get("args") or {}).get("evictable_namespaces_exclude") or []
    requested = {name for pod in pods for name in pod.get("requests") or {}}
    columns = tuple(dict.fromkeys([*BASE, PODS, *resources, *sorted(requested)]))
    none = np.zeros(len(pods), dtype=np.int64)
    room = _whole_amounts([_capacity(node) for node in nodes], columns)
    cluster = Cluster(resources=columns, capacity=room, allocatable=room)
    request = _whole_amounts([{**(pod.get("requests") or {}), PODS: 1} for pod in pods], columns)
    for node, amounts in zip(at.tolist(), request, strict=True):
        cluster.change(node, amounts, amounts, amounts, sign=1)
    placed = Placed(
        node=at,
        time_ms=none,
        request=request,
        limit=_whole_amounts([pod.get("limits") or {} for pod in pods], columns),
        service=("",) * len(pods),
        usage=None,
        index=np.arange(len(pods)),
    )
    frame = pl.DataFrame(
        [
            {
                "node": str(node["name"]),
                "labels": json.dumps(node.get("labels") or {}),
                "taints": json.dumps(node.get("taints") or []),
                "state": "closed" if node.get("unschedulable") else "",
            }
            for node in nodes
        ]
    )
    specified = Pods([_text(pod) for pod in pods], placed.index, none, frame)
    cycle = Cycle(
        cluster.snapshot(0, placed=placed, pods=specified),
        Limits(per_node=evictor.get("max_pods_to_evict_per_node")),
    )
    settings = Evictor(node_fit=bool(evictor.get("node_fit")))
    return PluginRun(cycle, settings, "", Scope(excluded=frozenset(excluded)))


def _text(pod: Document) -> PodRecord:
    """The specification of a pod of a case."""
    selector = tuple(
        Requirement(key, "In", (value,)) for key, value in (pod.get("node_selector") or {}).items()
    )
    terms = pod.get("required_node_affinity") or []
    alternatives = [(*selector, *map(requirement, term)) for term in terms if term]
    either = alternatives or ([_NEVER] if terms else [selector] if selector else [])
    bears = [one for one in pod.get("tolerations") or [] if one.get("operator") in _OPERATORS]
    owner, priority = pod.get("owner_kind"), pod.get("priority")
    return PodRecord(
        namespace=pod.get("namespace", "default"),
        labels={},
        owners=((owner, ""),) if owner else (),
        marks=frozenset(mark for name, mark in _MARKS.items() if pod.get(name)),
        priority=-np.inf if priority is None else float(priority),
        selector=tuple(either),
        tolerations=tolerations(json.dumps(bears)),
    )


def _whole_amounts(maps: Sequence[Document], columns: Sequence[str]) -> IntArray:
    return np.nan_to_num(rows_of(maps, columns), nan=0.0).astype(np.int64)


def _capacity(node: Document) -> Document:
    return node.get("allocatable") or node.get("capacity") or {}


def _used(
    inputs: Document, resources: Sequence[str], source: str, at: IntArray
) -> tuple[FloatArray, IntArray | None, BoolArray]:
    """Usage of nodes, usage of pods (None for prometheus), and which pods have a usage."""
    nodes, pods = inputs["nodes"], inputs["pods"]
    every = np.ones(len(pods), dtype=np.bool_)
    if source == "prometheus":
        return _samples(inputs), None, every
    requests = [{**(pod.get("requests") or {}), PODS: 1} for pod in pods]
    amounts = np.nan_to_num(rows_of(requests, resources), nan=0.0)
    used = np.zeros((len(nodes), len(resources)))
    np.add.at(used, at, amounts)
    if source == "requests":
        return used, amounts.astype(np.int64), every
    measured = inputs.get("pod_metrics") or {}
    keys = [f"{pod.get('namespace', 'default')}/{pod['name']}" for pod in pods]
    has_metrics = np.array([key in measured for key in keys], dtype=np.bool_)
    own = [{**measured.get(key, {}), PODS: 1} for key in keys]
    _measure(inputs, resources, used)
    return used, np.nan_to_num(rows_of(own, resources), nan=0.0).astype(np.int64), has_metrics


def _measure(inputs: Document, resources: Sequence[str], used: FloatArray) -> None:
    """Replace the requested CPU and memory of nodes by the metrics server's values."""
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


#: Arguments of a case that are no parameters of the policy: they filter the case's pods.
_ASIDE = ("evictable_namespaces_exclude", "eviction_modes")


@kind(
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
    """Return the pods that a plugin evicts.

    ``{"evicted": number, "evicted_subset_of": [pod, ...]}``, in the order of the case's pods.
    """
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
        [name, seen.nodes[seen.view.containers.node[at]], order.get(at), seen.protected[at]]
        for at, name in enumerate(seen.pods)
    ]
    return Answer(
        values={"evicted": len(evicted), "evicted_subset_of": chosen},
        columns=["container", "node", "evicted as", "protected because"],
        rows=rows,
    )


def _policy(question: Question) -> RebalancePolicy:
    if not question.policy_name:
        raise TracekitError(
            f"case '{question.name}' does not say which policy to score with",
            hint="give --policy NAME",
        )
    kind = get_rebalancer(question.policy_name)
    settings = parameters.read_all(kind, f"rebalance policy {kind.name()}", {**question.settings})
    return kind(**{**_arguments(kind, question.inputs), **settings})


def _arguments(kind: type[RebalancePolicy], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The case's arguments as parameters; an argument that the policy does not have is an error."""
    given = inputs.get("args") or {}
    parameter_names = parameters.names(kind)
    strange = [name for name in given if name not in parameter_names and name not in _ASIDE]
    if strange:
        raise TracekitError(
            f"{kind.name()} has no argument '{strange[0]}'; it has: {parameter_names}"
        )
    made = {
        name: parameters.from_json(kind, name, value)
        for name, value in given.items()
        if name in parameter_names and value is not None
    }
    modes = given.get("eviction_modes") or []
    if "OnlyThresholdingResources" in modes and "only_thresholding_resources" in parameter_names:
        made["only_thresholding_resources"] = True
    return made


def _source(policy: RebalancePolicy) -> str:
    return policy.usage_source if isinstance(policy, LowNodeUtilization) else "requests"


def _requesting(inputs: Mapping[str, Any], policy: HighNodeUtilization) -> BoolArray:
    """Which pods have a request (also of 0) for a resource with a threshold, shape (pods,)."""
    wanted = {full_name(name) for name, _ in policy.thresholds}
    return np.array([bool(wanted & set(pod.get("requests") or {})) for pod in inputs["pods"]])
