"""Cases of kind ``score``: what each node scores for a pod, as Score() would return it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracekit.replay.case import case_policy, situation
from tracekit.replay.filter import lacking
from tracekit.replay.kinds import Answer, CaseKind, Question
from tracekit.replay.placement import PlacementPolicy, ScoreError
from tracekit.replay.snapshot import Container, Snapshot


def answer(question: Question) -> Answer:
    """``{"scores": {node: int}}``, or ``{"pre_score": "Skip"}`` where the policy is skipped."""
    policy, unread = case_policy(question)
    names, snapshot, container = situation(question.inputs)
    note = f"not read by {policy.name()}: {', '.join(unread)}" if unread else ""
    if policy.skips(snapshot, container):
        return Answer(values={"pre_score": "Skip"}, note=note)
    nodes = np.arange(len(names))
    try:
        scores = policy.score(snapshot, container, nodes)
    except ScoreError as error:
        failed = {"scores": dict.fromkeys(names, 0), "status": "Error"}
        return Answer(values=failed, note=error.what)
    values = {"scores": dict(zip(names, scores.tolist(), strict=True))}
    columns, rows = _table(policy, names, snapshot, container, scores.tolist())
    return Answer(values=values, columns=columns, rows=rows, note=note)


def _table(
    policy: PlacementPolicy,
    names: list[str],
    snapshot: Snapshot,
    container: Container,
    scores: list[Any],
) -> tuple[list[str], list[list[object]]]:
    parts = policy.explain(snapshot, container, np.arange(len(names)))
    short = lacking(snapshot, container)
    rows: list[list[object]] = []
    for at, name in enumerate(names):
        removed = [r for r, missing in zip(snapshot.resources, short[at], strict=True) if missing]
        shown = [None if np.isnan(part[at]) else float(part[at]) for part in parts.values()]
        rows.append(
            [name, scores[at], *shown, f"too little {', '.join(removed)}" if removed else "fits"]
        )
    return ["node", "score", *parts, "filter"], rows


KIND = CaseKind(title="the score of every node", answer=answer)
