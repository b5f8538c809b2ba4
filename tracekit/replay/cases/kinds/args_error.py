"""Cases of kind ``args_error``: arguments that the plugin must refuse, and the field it names."""

from __future__ import annotations

from tracekit.parameters import ParameterError
from tracekit.replay.cases.case import case_policy
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.question import Answer, CaseKind, Question


def answer(question: Question) -> Answer:
    """``{"error": field}`` with the offending field as upstream names it, None when accepted."""
    try:
        case_policy(question)
    except ParameterError as error:
        return Answer(values={"error": error.field}, note=error.what)
    return Answer(values={"error": None}, note="the arguments are accepted")


KIND = CaseKind(
    title="arguments that are refused",
    answer=answer,
    inputs=_shapes.ASKED,
)
