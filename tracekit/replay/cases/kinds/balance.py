"""Cases of kind ``balance``: what one call of a descheduler plugin evicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tracekit import parameters
from tracekit import shape as s
from tracekit.arrays import BoolArray, IntArray
from tracekit.errors import TracekitError
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds._balance_view import CaseView, UnknownUsageError, case_view
from tracekit.replay.cases.question import Answer, Question, kind
from tracekit.replay.rebalance import RebalancePolicy, get_rebalancer
from tracekit.replay.rebalance._thresholds import named
from tracekit.replay.rebalance.high_node_utilization import HighNodeUtilization
from tracekit.replay.rebalance.low_node_utilization import LowNodeUtilization
from tracekit.replay.workload.resources import full_name

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
