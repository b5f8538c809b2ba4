"""Cases of kind ``create_resource_stats``: use of a resource from a node's metrics."""

from __future__ import annotations

import dataclasses

from tracekit import shape as s
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds._stats import measured_stats
from tracekit.replay.cases.question import Answer, CaseKind, Question


def answer(question: Question) -> Answer:
    """``{"valid": bool}``, with ``stats`` where the metrics hold the resource."""
    given = question.inputs
    request = given.get("pod_request") or {}
    stats = measured_stats(given["node"], given["metrics"], request, given["resource"])
    if stats is None:
        return Answer(values={"valid": False})
    return Answer(values={"valid": True, "stats": dataclasses.asdict(stats)})


KIND = CaseKind(
    title="use of a resource from metrics",
    answer=answer,
    inputs={
        "node": _shapes.MEASURED_NODE,
        "metrics": _shapes.METRICS,
        "resource": _shapes.RESOURCE,
        "pod_request": s.optional(_shapes.AMOUNTS),
    },
)
