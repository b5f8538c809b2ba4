"""Cases of kind ``defaults``: the arguments of a plugin after the scheduler's defaulting."""

from __future__ import annotations

from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.question import Answer, CaseKind, Question


def answer(question: Question) -> Answer:
    """``{"args": {name: value}}``."""
    given = question.inputs.get("args") or {}
    return Answer(values={"args": dict(question.policy().upstream_arguments(given))})


KIND = CaseKind(
    title="arguments after defaulting",
    answer=answer,
    inputs=_shapes.ASKED,
)
