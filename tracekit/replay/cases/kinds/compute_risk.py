"""Cases of kind ``compute_risk``: LowRiskOverCommitment's risk of one resource."""

from __future__ import annotations

import numpy as np

from tracekit import shape as s
from tracekit.replay.cases.case import case_policy
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds._stats import measured_stats
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.placement import _overcommit as risks
from tracekit.replay.placement._trimaran import mu_sigma
from tracekit.replay.placement.low_risk_overcommitment import LowRiskOvercommitment
from tracekit.replay.workload.resources import full_name

_TOTALS = (
    "node_request",
    "node_limit",
    "node_request_minus_pod",
    "node_limit_minus_pod",
    "node_capacity",
)


def answer(question: Question) -> Answer:
    """``{"risk": float}``, in 0..1; the note tells its two parts."""
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


KIND = CaseKind(
    title="the overcommitment risk of one resource",
    answer=answer,
    inputs={
        **_shapes.ASKED,
        "node": _shapes.MEASURED_NODE,
        "metrics": _shapes.METRICS,
        "resource": _shapes.RESOURCE,
        "totals": s.record(dict.fromkeys(_TOTALS, _shapes.AMOUNTS)),
    },
)
