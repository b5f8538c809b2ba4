"""Cases of kind ``raw_score``: what each node scores before NormalizeScore, often a cost."""

from __future__ import annotations

from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.kinds._scores import answer_scores
from tracekit.replay.cases.question import CaseKind

KIND = CaseKind(
    title="the score of every node before it is normalised",
    answer=answer_scores,
    inputs=_shapes.CLUSTER,
)
