"""Cases of kind ``power_model_lookup``: the power model that Peaks uses for a node."""

from __future__ import annotations

from tracekit import shape as s
from tracekit.replay.cases.case import case_policy
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.placement.peaks import Peaks


def answer(question: Question) -> Answer:
    """``{"k0", "k1", "k2"}``, all 0 for a node without a model."""
    policy, _ = case_policy(question)
    if not isinstance(policy, Peaks):
        raise TypeError(f"{policy.name()} has no power model")
    model = policy.model(str(question.inputs["node"]))
    return Answer(values=dict(zip(("k0", "k1", "k2"), model, strict=True)))


KIND = CaseKind(
    title="the power model of a node",
    answer=answer,
    inputs={**_shapes.ASKED, "node": s.text},
)
