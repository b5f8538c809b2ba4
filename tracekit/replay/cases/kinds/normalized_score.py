"""Cases of kind ``normalized_score``: Score() of every node, brought to 0..100 over all of them."""

from __future__ import annotations

from tracekit.parameters import ParameterError
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds._scores import answer_scores
from tracekit.replay.cases.question import Answer, CaseKind, Question


def answer(question: Question) -> Answer:
    """``{"scores": {node: int}}``, or ``{"error": true}`` where the arguments are refused."""
    try:
        return answer_scores(question, normalized=True)
    except ParameterError as error:
        return Answer(values={"error": True}, note=error.what)


KIND = CaseKind(
    title="the score of every node, normalised",
    answer=answer,
    inputs=_shapes.CLUSTER,
)
