"""Cases of kind ``sort_nodes``: nodes in order of their raw usage."""

from __future__ import annotations

import numpy as np

from tracekit import shape as s
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds._resource_maps import names_of, rows_of
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.rebalance._percent import by_usage


def answer(question: Question) -> Answer:
    """``{"order": [node, ...]}``, the most used first unless ``ascending``."""
    nodes = question.inputs["nodes"]
    usage = [node["usage"] for node in nodes]
    used = np.nan_to_num(rows_of(usage, names_of(usage)), nan=0.0)
    order = by_usage(used, ascending=bool(question.inputs.get("ascending")))
    return Answer(values={"order": [nodes[at]["name"] for at in order]})


KIND = CaseKind(
    title="nodes in order of usage",
    answer=answer,
    inputs={
        "nodes": s.list_of(s.record({"name": s.text, "usage": _shapes.NUMBERS})),
        "ascending": s.optional(s.flag),
    },
)
