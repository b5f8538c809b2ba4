"""Cases of kind ``compute_score``: LoadVariationRiskBalancing's score of one resource."""

from __future__ import annotations

from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds._stats import decode_stats
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.placement._integers import half_away
from tracekit.replay.placement.load_variation_risk_balancing import risk_score


def answer(question: Question) -> Answer:
    """``{"score_rounded": int}``."""
    given = question.inputs
    score = risk_score(
        *decode_stats(given["stats"]).arrays(),
        margin=float(given["margin"]),
        sensitivity=float(given["sensitivity"]),
    )
    return Answer(values={"score_rounded": int(half_away(score)[0])})


KIND = CaseKind(
    title="the load variation score of one resource",
    answer=answer,
    inputs={"stats": _shapes.STATS, "margin": _shapes.NUMBER, "sensitivity": _shapes.NUMBER},
)
