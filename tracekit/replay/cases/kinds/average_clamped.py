"""Cases of kind ``average_clamped``: the mean usage over the nodes that report it."""

from __future__ import annotations

from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds._node_percent import node_percent
from tracekit.replay.cases.kinds._resource_maps import map_of
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.rebalance._percent import clamped, mean_percent


def answer(question: Question) -> Answer:
    """``{"average": {resource: percent}}``, each node's percent clamped to 0..100 before."""
    found = node_percent(question.inputs)
    mean = mean_percent(clamped(found.percent))
    return Answer(values={"average": map_of(mean, found.resources)})


KIND = CaseKind(
    title="mean usage of nodes, clamped",
    answer=answer,
    inputs=_shapes.USAGE_OF_NODES,
)
