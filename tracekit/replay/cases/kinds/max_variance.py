"""Cases of kind ``max_variance``: the largest variance in 0..1 for a mean."""

from __future__ import annotations

from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.placement._beta import max_variance


def answer(question: Question) -> Answer:
    """``{"value": float}``."""
    return Answer(values={"value": float(max_variance(float(question.inputs["m1"])))})


KIND = CaseKind(
    title="the largest variance for a mean",
    answer=answer,
    inputs={"m1": _shapes.NUMBER},
)
