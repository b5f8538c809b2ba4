"""Cases of kind ``clamp``: resource maps kept within a range."""

from __future__ import annotations

from tracekit import shape as s
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds._resource_maps import map_of, names_of, rows_of
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.rebalance._percent import clamped


def answer(question: Question) -> Answer:
    """``{"results": [{resource: value}, ...]}``."""
    inputs = question.inputs
    names = names_of(inputs["data"])
    rows = clamped(rows_of(inputs["data"], names), inputs["minimum"], inputs["maximum"])
    return Answer(values={"results": [map_of(row, names) for row in rows]})


KIND = CaseKind(
    title="values kept within a range",
    answer=answer,
    inputs={
        "data": s.list_of(_shapes.NUMBERS),
        "minimum": _shapes.NUMBER,
        "maximum": _shapes.NUMBER,
    },
)
