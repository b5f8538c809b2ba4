"""Cases of kind ``pod_effective_resource``: what a pod requests, or its limits, to Trimaran."""

from __future__ import annotations

from tracekit import shape as s
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.placement._trimaran import effective_limit, effective_request
from tracekit.replay.view.recorded import decode_pod
from tracekit.replay.workload.resources import BASE

_RULES = {"requests": effective_request, "limits": effective_limit}


def answer(question: Question) -> Answer:
    """``{"cpu_milli", "memory_bytes"}``."""
    found = _RULES[question.inputs["which"]](decode_pod(question.inputs["pod"]))
    return Answer(values={name: found.get(name, 0) for name in BASE})


KIND = CaseKind(
    title="what a pod requests or is limited to",
    answer=answer,
    inputs={"pod": _shapes.POD, "which": s.one_of(*_RULES)},
)
