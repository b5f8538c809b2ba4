"""Cases of kind ``broken_linear``: the integer interpolation between points of a shape."""

from __future__ import annotations

import numpy as np

from tracekit import shape as s
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.placement._shape import broken_linear


def answer(question: Question) -> Answer:
    """``{"values": [int, ...]}`` at the places ``p``."""
    at = np.array(question.inputs["p"], dtype=np.int64)
    return Answer(values={"values": broken_linear(question.inputs["points"], at).tolist()})


KIND = CaseKind(
    title="a broken line at given places",
    answer=answer,
    inputs={
        "p": s.list_of(_shapes.WHOLE),
        "points": _shapes.POINTS,
    },
)
