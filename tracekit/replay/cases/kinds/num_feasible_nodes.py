"""Cases of kind ``num_feasible_nodes``: after how many feasible nodes the search stops."""

from __future__ import annotations

from tracekit import shape as s
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.placement._window import nodes_to_find


def answer(question: Question) -> Answer:
    """``{"num_nodes": int}``."""
    nodes = int(question.inputs["num_all_nodes"])
    percentage = int(question.inputs.get("percentage_of_nodes_to_score") or 0)
    return Answer(values={"num_nodes": nodes_to_find(nodes, percentage)})


KIND = CaseKind(
    title="how many feasible nodes are looked for",
    answer=answer,
    inputs={
        "num_all_nodes": _shapes.COUNT,
        "percentage_of_nodes_to_score": s.optional(_shapes.WHOLE),
    },
)
