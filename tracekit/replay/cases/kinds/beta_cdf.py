"""Cases of kind ``beta_cdf``: a Beta distribution's probability up to a place."""

from __future__ import annotations

from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.placement._beta import cumulative


def answer(question: Question) -> Answer:
    """``{"value": float}``."""
    alpha, beta, at = (float(question.inputs[name]) for name in ("alpha", "beta", "x"))
    return Answer(values={"value": float(cumulative(alpha, beta, at))})


KIND = CaseKind(
    title="a Beta distribution's probability up to a place",
    answer=answer,
    inputs=dict.fromkeys(("alpha", "beta", "x"), _shapes.NUMBER),
)
