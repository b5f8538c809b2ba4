"""Cases of kind ``deviation_classify``: nodes well below or well above the mean of all."""

from __future__ import annotations

from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds._node_percent import node_percent, strictly_below
from tracekit.replay.cases.kinds._resource_maps import rows_of
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.rebalance._percent import mean_percent, shifted


def answer(question: Question) -> Answer:
    """``{"under": {node: percent}, "over": {node: percent}}``, under first where both hold."""
    found = node_percent(question.inputs)
    mean = mean_percent(found.percent)
    low, high = (rows_of([question.inputs[key]], found.resources)[0] for key in ("low", "high"))
    under = strictly_below(found.percent, shifted(mean, -low))
    over = strictly_below(shifted(mean, high), found.percent) & ~under
    return Answer(values={"under": found.documents(under), "over": found.documents(over)})


KIND = CaseKind(
    title="nodes off the mean",
    answer=answer,
    inputs={**_shapes.USAGE_OF_NODES, "low": _shapes.NUMBERS, "high": _shapes.NUMBERS},
)
