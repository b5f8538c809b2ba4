"""Cases of kind ``normalize``: given scores of the nodes as NormalizeScore leaves them."""

from __future__ import annotations

import numpy as np

from tracekit import shape as s
from tracekit.replay.cases.case import case_policy
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.question import Answer, CaseKind, Question


def answer(question: Question) -> Answer:
    """``{"scores": {node: int}}``."""
    policy, _ = case_policy(question)
    given = question.inputs["scores"]
    scores = policy.normalize(np.array(list(given.values()), dtype=np.int64))
    return Answer(values={"scores": dict(zip(given, scores.tolist(), strict=True))})


KIND = CaseKind(
    title="scores brought to 0..100",
    answer=answer,
    inputs={**_shapes.ASKED, "scores": s.map_of(_shapes.WHOLE)},
)
