"""Cases about metrics and requests of nodes: statistics, limits, risks, power."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracekit.base import shape as s
from tracekit.base.arrays import FloatArray
from tracekit.base.shape import Shape
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
from tracekit.policy.placement.load_aware import Peaks, risk_score, surviving
from tracekit.policy.placement.low_risk_overcommitment import (
    LowRiskOvercommitment,
    Totals,
    by_limit,
    load_risk,
)
from tracekit.policy.placement.node_resources import broken_linear
from tracekit.policy.view.recorded import decode_metrics, decode_pod
from tracekit.replay.cases import Answer, Question, _shapes, case_policy, kind, of_inputs

Document = Mapping[str, Any]
Values = dict[str, Any]


@of_inputs(
    {
        "node": _shapes.MEASURED_NODE,
        "metrics": _shapes.METRICS,
        "resource": _shapes.RESOURCE,
        "pod_request": s.optional(_shapes.AMOUNTS),
    }
)
def create_resource_stats(
    node: Document, metrics: list[Document], resource: str, pod_request: Document | None
) -> Values:
    """Return the use of a resource according to a node's metrics.

    ``{"valid": bool}``, with ``stats`` (the fields of ``Stats``) where the metrics hold it.
    """
    stats = measured_stats(node, metrics, pod_request or {}, resource)
    return {"valid": stats is not None, **({"stats": dataclasses.asdict(stats)} if stats else {})}


_RULES = {"requests": effective_request, "limits": effective_limit}


@of_inputs({"pod": _shapes.POD, "which": s.one_of(*_RULES)})
def pod_effective_resource(pod: Document, which: str) -> Values:
    """Return a pod's requests or limits as in Trimaran: ``{"cpu_milli", "memory_bytes"}``."""
    effective = _RULES[which](decode_pod(pod))
    return {name: effective.get(name, 0) for name in BASE}


@of_inputs({"node": _shapes.MEASURED_NODE, "pod": _shapes.POD, "existing_pods": _shapes.PODS})
def node_requests_and_limits(
    node: Document, pod: Document, existing_pods: list[Document] | None
) -> Values:
    """Return a node's capacity, and its summed requests and limits with and without the pod.

    ``{"node_request", "node_request_minus_pod", ...}``, by resource; requests are cut at capacity.
    """
    existing = tuple(map(decode_pod, existing_pods or []))
    capacity = amounts(BASE, node["allocatable"])
    without, together = pods_claims(existing), pods_claims((*existing, decode_pod(pod)))
    totals = {
        "node_request": np.minimum(together.request, capacity),
        "node_limit": together.limit,
        "node_request_minus_pod": np.minimum(without.request, capacity),
        "node_limit_minus_pod": without.limit,
        "node_capacity": capacity,
    }
    return {name: dict(zip(BASE, row.tolist(), strict=True)) for name, row in totals.items()}


@of_inputs({"stats": _shapes.STATS, "margin": _shapes.NUMBER, "sensitivity": _shapes.NUMBER})
def compute_score(stats: Document, margin: float, sensitivity: float) -> Values:
    """Return LoadVariationRiskBalancing's score of one resource: ``{"score_rounded": int}``."""
    score = risk_score(
        *decode_stats(stats).arrays(), margin=float(margin), sensitivity=float(sensitivity)
    )
    return {"score_rounded": int(half_away(score)[0])}


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
    {
        **_shapes.ASKED,
        "node": _shapes.MEASURED_NODE,
        "metrics": _shapes.METRICS,
        "resource": _shapes.RESOURCE,
        "totals": s.record(dict.fromkeys(_TOTALS, _shapes.AMOUNTS)),
    },
)
def compute_risk(question: Question) -> Answer:
    """Return LowRiskOverCommitment's risk of one resource.

    ``{"risk": float}``, in 0..1; the note lists its two parts.
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
    defined = {name: value[0] for name, value in parts.items() if not np.isnan(value[0])}
    note = ", ".join(f"{name} {value:.6g}" for name, value in defined.items())
    return Answer(values={"risk": float(policy.risk(parts, resource)[0])}, note=note)


@kind({**_shapes.ASKED, "node": s.text})
def power_model_lookup(question: Question) -> Answer:
    """Return the power model that Peaks uses for a node: k0 + k1 * exp(k2 * CPU percent).

    ``{"k0", "k1", "k2"}``, all 0 for a node without a model.
    """
    policy, _ = case_policy(question)
    if not isinstance(policy, Peaks):
        raise TypeError(f"{policy.name()} has no power model")
    model = policy.model(str(question.inputs["node"]))
    return Answer(values=dict(zip(("k0", "k1", "k2"), model, strict=True)))


@of_inputs(
    {
        "cache": s.list_of(s.record({"pod": s.text, "age_s": s.optional(_shapes.NUMBER)})),
        "bind_now": s.optional(s.text),
    }
)
def recent_pod_cache_cleanup(cache: list[Document], bind_now: str | None) -> Values:
    """Return the recent pods of a node that remain after a clean-up.

    ``{"cache": [pod, ...]}``, oldest first. ``bind_now`` is a pod that is bound just before the
    clean-up; None for no such pod.
    """
    pods = [(one["pod"], one["age_s"]) for one in cache] + ([(bind_now, 0)] if bind_now else [])
    return {"cache": [pods[at][0] for at in surviving([age for _, age in pods])]}


# Cases about Beta distributions, moments and broken lines, as the load-aware plugins use them.


#: Millicores and bytes in one unit of the statistics.
_UNITS = (1, 2**20)


@dataclass(frozen=True, kw_only=True)
class Stats:
    """Capacity, request, and mean and deviation of use of one resource of a node.

    CPU is in millicores and memory in MiB.
    """

    capacity: float
    req: float
    used_avg: float
    used_stdev: float

    def arrays(self) -> tuple[FloatArray, float, FloatArray, FloatArray]:
        """Return capacity, request, mean and deviation; all but request are arrays of one node."""
        capacity, used, deviation = (
            np.array([one]) for one in (self.capacity, self.used_avg, self.used_stdev)
        )
        return capacity, self.req, used, deviation


def decode_stats(document: Document) -> Stats:
    """Return ``Stats`` from the ``stats`` of a case."""
    names = ("capacity", "req", "used_avg", "used_stdev")
    return Stats(**{name: float(document[name]) for name in names})


def measured_stats(
    node: Document, metrics: list[Document], request: Document, resource: str
) -> Stats | None:
    """Return ``Stats`` of 'cpu' or 'memory' from a node's metrics; None where they lack it."""
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


def _numbers(*names: str) -> Mapping[str, Shape]:
    return dict.fromkeys(names, _shapes.NUMBER)


@of_inputs(_numbers("alpha", "beta"))
def beta_new(alpha: float, beta: float) -> Values:
    """Return whether Beta(alpha, beta) exists, and its raw moments.

    ``{"valid": bool}``, with ``m1``, ``m2``, ``m3`` where the distribution exists.
    """
    if alpha <= 0 or beta <= 0:
        return {"valid": False}
    raw_moments = moments(float(alpha), float(beta))
    return {"valid": True, **dict(zip(("m1", "m2", "m3"), raw_moments, strict=True))}


@of_inputs(_numbers("alpha", "beta", "x"))
def beta_pdf(alpha: float, beta: float, x: float) -> Values:
    """Return the density of Beta(alpha, beta) at ``x``: ``{"value": float}``."""
    return {"value": float(density(float(alpha), float(beta), float(x)))}


@of_inputs(_numbers("alpha", "beta", "x"))
def beta_cdf(alpha: float, beta: float, x: float) -> Values:
    """Return the probability of at most ``x`` under Beta(alpha, beta): ``{"value": float}``."""
    return {"value": float(cumulative(float(alpha), float(beta), float(x)))}


@of_inputs(_numbers("alpha", "beta"))
def beta_summary(alpha: float, beta: float) -> Values:
    """Return a Beta distribution's ``mean``, ``variance`` and raw moments ``m1, m2, m3``."""
    m1, m2, m3 = moments(float(alpha), float(beta))
    return {"mean": m1, "variance": m2 - m1 * m1, "m1": m1, "m2": m2, "m3": m3}


@of_inputs(_numbers("m1", "m2"))
def beta_match_moments(m1: float, m2: float) -> Values:
    """Return the Beta distribution with two given raw moments.

    ``{"ok": bool}``, with ``alpha`` and ``beta`` where the distribution exists.
    """
    alpha, beta = fit(float(m1), float(m2))
    exists = not np.isnan(alpha)
    return {"ok": exists, **({"alpha": float(alpha), "beta": float(beta)} if exists else {})}


@of_inputs(_numbers("m1"))
def max_variance_(m1: float) -> Values:
    """Return the largest variance of values in 0..1 whose mean is ``m1``: ``{"value": float}``."""
    return {"value": float(max_variance(float(m1)))}


@of_inputs({"stats": _shapes.STATS})
def mu_sigma_(stats: Document) -> Values:
    """Return mean and deviation of use as fractions of capacity, 0..1: ``{"mu", "sigma"}``."""
    mu, sigma = mu_sigma(*decode_stats(stats).arrays())
    return {"mu": float(mu[0]), "sigma": float(sigma[0])}


@of_inputs({"p": s.list_of(_shapes.WHOLE), "points": _shapes.POINTS})
def broken_linear_(p: list[int], points: list[list[int]]) -> Values:
    """Return the piecewise linear function through ``points`` at every value of ``p``.

    ``{"values": [int, ...]}``. A point is (x, y), and values are computed in integers.
    """
    return {"values": broken_linear(points, np.array(p, dtype=np.int64)).tolist()}
