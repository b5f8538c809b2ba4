"""Cases of kind ``score``: what each node scores for a pod, as Score() would return it."""

from __future__ import annotations

from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds._scores import answer_scores
from tracekit.replay.cases.question import CaseKind

KIND = CaseKind(
    title="the score of every node",
    answer=answer_scores,
    inputs=_shapes.CLUSTER,
)
