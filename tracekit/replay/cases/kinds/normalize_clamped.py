"""Cases of kind ``normalize_clamped``: usage in percent, kept within 0..100."""

from __future__ import annotations

import dataclasses

import numpy as np

from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds._node_percent import node_percent
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.rebalance._percent import clamped


def answer(question: Question) -> Answer:
    """``{"percent": {node: {resource: percent}}}``."""
    found = node_percent(question.inputs)
    within = dataclasses.replace(found, percent=clamped(found.percent))
    return Answer(values={"percent": within.documents(np.ones(len(found.nodes), dtype=np.bool_))})


KIND = CaseKind(
    title="usage in percent, clamped",
    answer=answer,
    inputs=_shapes.USAGE_OF_NODES,
)
