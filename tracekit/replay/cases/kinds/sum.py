"""Cases of kind ``sum``: a resource map with each of several deviations added."""

from __future__ import annotations

from tracekit import shape as s
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds._resource_maps import map_of, names_of, rows_of
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.rebalance._percent import shifted


def answer(question: Question) -> Answer:
    """``{"results": [{resource: value}, ...]}`` with the resources of the first operand."""
    data, deviations = question.inputs["data"], question.inputs["deviations"]
    names = names_of([data])
    start = rows_of([data], names)[0]
    added = [shifted(start, row) for row in rows_of(deviations, names)]
    return Answer(values={"results": [map_of(row, names) for row in added]})


KIND = CaseKind(
    title="values with deviations added",
    answer=answer,
    inputs={"data": _shapes.NUMBERS, "deviations": s.list_of(_shapes.NUMBERS)},
)
