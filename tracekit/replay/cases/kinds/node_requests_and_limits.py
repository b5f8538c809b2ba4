"""Cases of kind ``node_requests_and_limits``: a node's totals with and without the pod."""

from __future__ import annotations

import numpy as np

from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.placement._trimaran import pods_claims
from tracekit.replay.view.recorded import decode_pod
from tracekit.replay.workload.resources import BASE, amounts


def answer(question: Question) -> Answer:
    """Requests cut at capacity and limits, as ``node_request``, ``node_request_minus_pod``, ..."""
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


KIND = CaseKind(
    title="requests and limits on a node",
    answer=answer,
    inputs={
        "node": _shapes.MEASURED_NODE,
        "pod": _shapes.POD,
        "existing_pods": _shapes.PODS,
    },
)
