"""Cases of kind ``normalize_classify``: nodes by the first of several limits they meet."""

from __future__ import annotations

import numpy as np

from tracekit import shape as s
from tracekit.errors import TracekitError
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds._node_percent import node_percent, strictly_below
from tracekit.replay.cases.kinds._resource_maps import rows_of
from tracekit.replay.cases.question import Answer, CaseKind, Question


def answer(question: Question) -> Answer:
    """``{"groups": [{node: percent}, ...]}``, one group per classifier, each node once at most."""
    found = node_percent(question.inputs)
    limits = question.inputs["limits"]
    left = np.ones(len(found.nodes), dtype=np.bool_)
    groups = []
    for at, classifier in enumerate(question.inputs["classifiers"]):
        bound = rows_of([limits[node][at] for node in found.nodes], found.resources)
        if classifier == "below":
            meets = strictly_below(found.percent, bound)
        elif classifier == "above":
            meets = strictly_below(bound, found.percent)
        else:
            raise TracekitError(f"classifier '{classifier}' must be 'below' or 'above'")
        groups.append(found.documents(meets & left))
        left &= ~meets
    return Answer(values={"groups": groups})


KIND = CaseKind(
    title="nodes by limits",
    answer=answer,
    inputs={
        **_shapes.USAGE_OF_NODES,
        "classifiers": s.list_of(s.one_of("below", "above")),
        "limits": s.map_of(s.list_of(_shapes.NUMBERS)),
    },
)
