"""Cases of kind ``mu_sigma``: mean and deviation of use as fractions of capacity."""

from __future__ import annotations

from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds._stats import decode_stats
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.placement._trimaran import mu_sigma


def answer(question: Question) -> Answer:
    """``{"mu", "sigma"}``, both in 0..1."""
    mu, sigma = mu_sigma(*decode_stats(question.inputs["stats"]).arrays())
    return Answer(values={"mu": float(mu[0]), "sigma": float(sigma[0])})


KIND = CaseKind(
    title="mean and deviation as fractions",
    answer=answer,
    inputs={"stats": _shapes.STATS},
)
