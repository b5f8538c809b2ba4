"""Cases of kind ``beta_summary``: mean, variance and raw moments of a Beta distribution."""

from __future__ import annotations

from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.placement._beta import moments


def answer(question: Question) -> Answer:
    """``{"mean", "variance", "m1", "m2", "m3"}``."""
    m1, m2, m3 = moments(float(question.inputs["alpha"]), float(question.inputs["beta"]))
    return Answer(values={"mean": m1, "variance": m2 - m1 * m1, "m1": m1, "m2": m2, "m3": m3})


KIND = CaseKind(
    title="a Beta distribution's mean and variance",
    answer=answer,
    inputs=dict.fromkeys(("alpha", "beta"), _shapes.NUMBER),
)
