"""Cases about what was measured or is claimed: statistics, requests, limits, risks, power."""

import dataclasses

import numpy as np

from tracekit.base.documents import shape as s
from tracekit.cluster.resources import BASE, amounts, full_name
from tracekit.policy.placement._parts import overcommit as risks
from tracekit.policy.placement._parts.integers import half_away
from tracekit.policy.placement._parts.prediction import surviving
from tracekit.policy.placement._parts.trimaran import (
    effective_limit,
    effective_request,
    mu_sigma,
    pods_claims,
)
from tracekit.policy.placement.load_variation_risk_balancing import risk_score
from tracekit.policy.placement.low_risk_overcommitment import LowRiskOvercommitment
from tracekit.policy.placement.peaks import Peaks
from tracekit.policy.view.recorded import decode_pod
from tracekit.replay.cases.case import Answer, Question, case_policy, kind
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds.distributions import decode_stats, measured_stats


@kind(
    "use of a resource from metrics",
    {
        "node": _shapes.MEASURED_NODE,
        "metrics": _shapes.METRICS,
        "resource": _shapes.RESOURCE,
        "pod_request": s.optional(_shapes.AMOUNTS),
    },
)
def create_resource_stats(question: Question) -> Answer:
    """Use of a resource from a node's metrics.

    ``{"valid": bool}``, with ``stats`` where the metrics hold the resource.
    """
    given = question.inputs
    request = given.get("pod_request") or {}
    stats = measured_stats(given["node"], given["metrics"], request, given["resource"])
    if stats is None:
        return Answer(values={"valid": False})
    return Answer(values={"valid": True, "stats": dataclasses.asdict(stats)})


_RULES = {"requests": effective_request, "limits": effective_limit}


@kind("what a pod requests or is limited to", {"pod": _shapes.POD, "which": s.one_of(*_RULES)})
def pod_effective_resource(question: Question) -> Answer:
    """A pod's requests, or its limits, as Trimaran counts them.

    ``{"cpu_milli", "memory_bytes"}``.
    """
    found = _RULES[question.inputs["which"]](decode_pod(question.inputs["pod"]))
    return Answer(values={name: found.get(name, 0) for name in BASE})


@kind(
    "requests and limits on a node",
    {
        "node": _shapes.MEASURED_NODE,
        "pod": _shapes.POD,
        "existing_pods": _shapes.PODS,
    },
)
def node_requests_and_limits(question: Question) -> Answer:
    """A node's totals with and without the pod.

    Requests cut at capacity and limits, as ``node_request``, ``node_request_minus_pod``, ...
    """
    given = question.inputs
    existing = tuple(decode_pod(pod) for pod in given.get("existing_pods") or [])
    capacity = amounts(BASE, given["node"]["allocatable"])
    without = pods_claims(existing)
    together = pods_claims((*existing, decode_pod(given["pod"])))
    found = {
        "node_request": np.minimum(together.request, capacity),
        "node_limit": together.limit,
        "node_request_minus_pod": np.minimum(without.request, capacity),
        "node_limit_minus_pod": without.limit,
        "node_capacity": capacity,
    }
    return Answer(
        values={name: dict(zip(BASE, row.tolist(), strict=True)) for name, row in found.items()}
    )


@kind(
    "the load variation score of one resource",
    {"stats": _shapes.STATS, "margin": _shapes.NUMBER, "sensitivity": _shapes.NUMBER},
)
def compute_score(question: Question) -> Answer:
    """LoadVariationRiskBalancing's score of one resource.

    ``{"score_rounded": int}``.
    """
    given = question.inputs
    score = risk_score(
        *decode_stats(given["stats"]).arrays(),
        margin=float(given["margin"]),
        sensitivity=float(given["sensitivity"]),
    )
    return Answer(values={"score_rounded": int(half_away(score)[0])})


_TOTALS = (
    "node_request",
    "node_limit",
    "node_request_minus_pod",
    "node_limit_minus_pod",
    "node_capacity",
)


def _totals(question: Question) -> risks.Totals:
    totals, name = question.inputs["totals"], full_name(str(question.inputs["resource"]))

    def amount(key: str) -> np.ndarray:
        return np.array([totals[key].get(name, 0)], dtype=np.float64)

    request, limit, request_before, limit_before, capacity = (amount(key) for key in _TOTALS)
    return risks.Totals(
        request=request,
        limit=limit,
        request_before=request_before,
        limit_before=limit_before,
        capacity=capacity,
    )


@kind(
    "the overcommitment risk of one resource",
    {
        **_shapes.ASKED,
        "node": _shapes.MEASURED_NODE,
        "metrics": _shapes.METRICS,
        "resource": _shapes.RESOURCE,
        "totals": s.record(dict.fromkeys(_TOTALS, _shapes.AMOUNTS)),
    },
)
def compute_risk(question: Question) -> Answer:
    """LowRiskOverCommitment's risk of one resource.

    ``{"risk": float}``, in 0..1; the note tells its two parts.
    """
    policy, _ = case_policy(question)
    if not isinstance(policy, LowRiskOvercommitment):
        raise TypeError(f"{policy.name()} computes no risk")
    given, resource = question.inputs, str(question.inputs["resource"])
    totals = _totals(question)
    stats = measured_stats(given["node"], given["metrics"], {}, resource)
    load = np.array([np.nan])
    if stats is not None:
        mu, sigma = mu_sigma(*stats.arrays())
        load = risks.load_risk(totals, mu, sigma, policy.smoothing_window_size)
    parts = {f"{resource}_by_limit": risks.limit_risk(totals), f"{resource}_by_load": load}
    known = {name: value[0] for name, value in parts.items() if not np.isnan(value[0])}
    note = ", ".join(f"{name} {value:.6g}" for name, value in known.items())
    return Answer(values={"risk": float(policy.risk(parts, resource)[0])}, note=note)


@kind("the power model of a node", {**_shapes.ASKED, "node": s.text})
def power_model_lookup(question: Question) -> Answer:
    """The power model that Peaks uses for a node.

    ``{"k0", "k1", "k2"}``, all 0 for a node without a model.
    """
    policy, _ = case_policy(question)
    if not isinstance(policy, Peaks):
        raise TypeError(f"{policy.name()} has no power model")
    model = policy.model(str(question.inputs["node"]))
    return Answer(values=dict(zip(("k0", "k1", "k2"), model, strict=True)))


@kind(
    "recent pods that a clean-up leaves",
    {
        "cache": s.list_of(s.record({"pod": s.text, "age_s": s.optional(_shapes.NUMBER)})),
        "bind_now": s.optional(s.text),
    },
)
def recent_pod_cache_cleanup(question: Question) -> Answer:
    """Which recent pods of a node a clean-up leaves.

    ``{"cache": [pod, ...]}``, oldest first; a pod bound now joins before the clean-up.
    """
    cache = [(one["pod"], one["age_s"]) for one in question.inputs["cache"]]
    bound = question.inputs.get("bind_now")
    pods = cache + ([(bound, 0)] if bound else [])
    kept = surviving([age for _, age in pods])
    return Answer(values={"cache": [pods[at][0] for at in kept]})
