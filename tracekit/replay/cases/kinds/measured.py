"""Cases about what was measured or is claimed: statistics, requests, limits, risks, power."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.base.documents import shape as s
from tracekit.cluster.resources import BASE, amounts, full_name
from tracekit.policy.placement._parts.load import (
    TYPES,
    average_and_deviation,
    cumulative,
    density,
    effective_limit,
    effective_request,
    fit,
    max_variance,
    moments,
    mu_sigma,
    pods_claims,
)
from tracekit.policy.placement._parts.requested import half_away
from tracekit.policy.placement.load_variation_risk_balancing import risk_score
from tracekit.policy.placement.low_risk_overcommitment import (
    LowRiskOvercommitment,
    Totals,
    by_limit,
    load_risk,
)
from tracekit.policy.placement.peaks import Peaks
from tracekit.policy.placement.requested_to_capacity_ratio import broken_linear
from tracekit.policy.placement.target_load_packing import surviving
from tracekit.policy.view.recorded import decode_metrics, decode_pod
from tracekit.replay.cases.case import Answer, Question, case_policy, kind
from tracekit.replay.cases.kinds import _shapes


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


def _totals(question: Question) -> Totals:
    totals, name = question.inputs["totals"], full_name(str(question.inputs["resource"]))

    def amount(key: str) -> np.ndarray:
        return np.array([totals[key].get(name, 0)], dtype=np.float64)

    request, limit, request_before, limit_before, capacity = (amount(key) for key in _TOTALS)
    return Totals(
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
        load = load_risk(totals, mu, sigma, policy.smoothing_window_size)
    parts = {
        f"{resource}_by_limit": by_limit(totals.request, totals.limit, totals.capacity),
        f"{resource}_by_load": load,
    }
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


# Cases about Beta distributions, moments and broken lines, as the load-aware plugins use them.

Document = Mapping[str, Any]


#: Amounts of cpu and memory per unit of the statistics.
_UNITS = (1, 2**20)


@dataclass(frozen=True, kw_only=True)
class Stats:
    """Capacity, request, mean and deviation of use, in one unit."""

    capacity: float
    req: float
    used_avg: float
    used_stdev: float

    def arrays(self) -> tuple[FloatArray, float, FloatArray, FloatArray]:
        """Capacity, request, mean and deviation as the policies take them, of one node."""
        capacity, used, deviation = (
            np.array([one]) for one in (self.capacity, self.used_avg, self.used_stdev)
        )
        return capacity, self.req, used, deviation


def decode_stats(document: Document) -> Stats:
    """The ``stats`` of a case."""
    names = ("capacity", "req", "used_avg", "used_stdev")
    return Stats(**{name: float(document[name]) for name in names})


def measured_stats(
    node: Document, metrics: list[Document], request: Document, resource: str
) -> Stats | None:
    """Statistics of ``resource`` ('cpu' or 'memory') from a node's metrics, None without any."""
    column = BASE.index(full_name(resource))
    average, deviation = average_and_deviation(decode_metrics(metrics), TYPES[column])
    if np.isnan(average):
        return None
    capacity = node["allocatable"].get(BASE[column], 0) / _UNITS[column]
    return Stats(
        capacity=capacity,
        req=request.get(BASE[column], 0) / _UNITS[column],
        used_avg=average * capacity / 100,
        used_stdev=deviation * capacity / 100,
    )


@kind("a Beta distribution's raw moments", dict.fromkeys(("alpha", "beta"), _shapes.NUMBER))
def beta_new(question: Question) -> Answer:
    """Whether a Beta distribution exists, and its raw moments.

    ``{"valid": bool}``, with ``m1``, ``m2``, ``m3`` where it is.
    """
    alpha, beta = float(question.inputs["alpha"]), float(question.inputs["beta"])
    if alpha <= 0 or beta <= 0:
        return Answer(values={"valid": False})
    found = dict(zip(("m1", "m2", "m3"), moments(alpha, beta), strict=True))
    return Answer(values={"valid": True, **found})


@kind(
    "a Beta distribution's density at a place",
    dict.fromkeys(("alpha", "beta", "x"), _shapes.NUMBER),
)
def beta_pdf(question: Question) -> Answer:
    """The density of a Beta distribution at a place.

    ``{"value": float}``.
    """
    alpha, beta, at = (float(question.inputs[name]) for name in ("alpha", "beta", "x"))
    return Answer(values={"value": float(density(alpha, beta, at))})


@kind(
    "a Beta distribution's probability up to a place",
    dict.fromkeys(("alpha", "beta", "x"), _shapes.NUMBER),
)
def beta_cdf(question: Question) -> Answer:
    """A Beta distribution's probability up to a place.

    ``{"value": float}``.
    """
    alpha, beta, at = (float(question.inputs[name]) for name in ("alpha", "beta", "x"))
    return Answer(values={"value": float(cumulative(alpha, beta, at))})


@kind("a Beta distribution's mean and variance", dict.fromkeys(("alpha", "beta"), _shapes.NUMBER))
def beta_summary(question: Question) -> Answer:
    """Mean, variance and raw moments of a Beta distribution.

    ``{"mean", "variance", "m1", "m2", "m3"}``.
    """
    m1, m2, m3 = moments(float(question.inputs["alpha"]), float(question.inputs["beta"]))
    return Answer(values={"mean": m1, "variance": m2 - m1 * m1, "m1": m1, "m2": m2, "m3": m3})


@kind("a Beta distribution from its moments", dict.fromkeys(("m1", "m2"), _shapes.NUMBER))
def beta_match_moments(question: Question) -> Answer:
    """The Beta distribution with two given raw moments.

    ``{"ok": bool}``, with ``alpha`` and ``beta`` where there is one.
    """
    alpha, beta = fit(float(question.inputs["m1"]), float(question.inputs["m2"]))
    if np.isnan(alpha):
        return Answer(values={"ok": False})
    return Answer(values={"ok": True, "alpha": float(alpha), "beta": float(beta)})


@kind("the largest variance for a mean", {"m1": _shapes.NUMBER})
def max_variance_(question: Question) -> Answer:
    """The largest variance in 0..1 for a mean.

    ``{"value": float}``.
    """
    return Answer(values={"value": float(max_variance(float(question.inputs["m1"])))})


@kind("mean and deviation as fractions", {"stats": _shapes.STATS})
def mu_sigma_(question: Question) -> Answer:
    """Mean and deviation of use as fractions of capacity.

    ``{"mu", "sigma"}``, both in 0..1.
    """
    mu, sigma = mu_sigma(*decode_stats(question.inputs["stats"]).arrays())
    return Answer(values={"mu": float(mu[0]), "sigma": float(sigma[0])})


@kind(
    "a broken line at given places",
    {
        "p": s.list_of(_shapes.WHOLE),
        "points": _shapes.POINTS,
    },
)
def broken_linear_(question: Question) -> Answer:
    """The integer interpolation between points of a shape.

    ``{"values": [int, ...]}`` at the places ``p``.
    """
    at = np.array(question.inputs["p"], dtype=np.int64)
    return Answer(values={"values": broken_linear(question.inputs["points"], at).tolist()})
