"""Cases of kind ``select_host``: the hosts that a tie-break may pick."""

from __future__ import annotations

from tracekit import shape as s
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.question import Answer, CaseKind, Question


def answer(question: Question) -> Answer:
    """``{"possible": [host, ...]}`` with the highest score; ``{"error": true}`` of no hosts."""
    scores = [(str(host), score) for host, score in question.inputs["scores"]]
    if not scores:
        return Answer(values={"error": True}, note="there is no host to choose from")
    highest = max(score for _, score in scores)
    return Answer(values={"possible": [host for host, score in scores if score == highest]})


KIND = CaseKind(
    title="hosts that may be selected",
    answer=answer,
    inputs={"scores": s.list_of(s.row(s.text, _shapes.NUMBER))},
)
