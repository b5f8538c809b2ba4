"""Cases of kind ``recent_pod_cache_cleanup``: which recent pods of a node a clean-up leaves."""

from __future__ import annotations

from tracekit import shape as s
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.placement._prediction import surviving


def answer(question: Question) -> Answer:
    """``{"cache": [pod, ...]}``, oldest first; a pod bound now joins before the clean-up."""
    cache = [(one["pod"], one["age_s"]) for one in question.inputs["cache"]]
    bound = question.inputs.get("bind_now")
    pods = cache + ([(bound, 0)] if bound else [])
    kept = surviving([age for _, age in pods])
    return Answer(values={"cache": [pods[at][0] for at in kept]})


KIND = CaseKind(
    title="recent pods that a clean-up leaves",
    answer=answer,
    inputs={
        "cache": s.list_of(s.record({"pod": s.text, "age_s": s.optional(_shapes.NUMBER)})),
        "bind_now": s.optional(s.text),
    },
)
