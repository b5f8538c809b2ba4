"""Cases of kind ``usage_to_percent``: usage of a node in percent of its capacity."""

from __future__ import annotations

from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds._resource_maps import map_of, names_of, rows_of
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.rebalance._percent import percent_of


def answer(question: Question) -> Answer:
    """``{"percent": {resource: percent}}`` of what is known on both sides."""
    usage, capacity = question.inputs["usage"], question.inputs["capacity"]
    names = names_of([usage])
    percent = percent_of(rows_of([usage], names), rows_of([capacity], names))
    return Answer(values={"percent": map_of(percent[0], names)})


KIND = CaseKind(
    title="usage in percent of capacity",
    answer=answer,
    inputs={"usage": _shapes.NUMBERS, "capacity": _shapes.NUMBERS},
)
