"""Cases of kind ``beta_new``: whether a Beta distribution exists, and its raw moments."""

from __future__ import annotations

from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.placement._beta import moments


def answer(question: Question) -> Answer:
    """``{"valid": bool}``, with ``m1``, ``m2``, ``m3`` where it is."""
    alpha, beta = float(question.inputs["alpha"]), float(question.inputs["beta"])
    if alpha <= 0 or beta <= 0:
        return Answer(values={"valid": False})
    found = dict(zip(("m1", "m2", "m3"), moments(alpha, beta), strict=True))
    return Answer(values={"valid": True, **found})


KIND = CaseKind(
    title="a Beta distribution's raw moments",
    answer=answer,
    inputs=dict.fromkeys(("alpha", "beta"), _shapes.NUMBER),
)
