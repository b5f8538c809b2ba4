"""Scores of every node as an answer: the values, and the table that explains them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracekit.replay.cases.case import case_policy, situation
from tracekit.replay.cases.question import Answer, Question
from tracekit.replay.engine.decision import decide
from tracekit.replay.placement import PlacementPolicy, ScoreError
from tracekit.replay.view.filter import lacking
from tracekit.replay.view.snapshot import Container, Snapshot
from tracekit.seeds import stream


def answer_scores(question: Question, *, normalized: bool = False) -> Answer:
    """``{"scores": {node: int}}``, or ``{"pre_score": "Skip"}`` where the policy is skipped.

    With ``normalized`` the scores after NormalizeScore over all nodes, beside those before.
    """
    policy, unread = case_policy(question)
    names, snapshot, container = situation(question.inputs)
    note = f"not read by {policy.name()}: {', '.join(unread)}\n" if unread else ""
    if policy.skips(snapshot, container):
        return Answer(values={"pre_score": "Skip"}, note=note)
    try:
        raw = policy.score(snapshot, container, np.arange(len(names)))
    except ScoreError as error:
        failed = {"scores": dict.fromkeys(names, 0), "status": "Error"}
        return Answer(values=failed, note=error.what)
    final = policy.normalize(raw) if normalized else raw
    before = {"before": raw.tolist()} if normalized else {}
    columns, rows = _table(policy, snapshot, container, {"score": final.tolist(), **before})
    values = {"scores": dict(zip(names, final.tolist(), strict=True))}
    return Answer(
        values=values,
        columns=["node", *columns],
        rows=[[name, *row] for name, row in zip(names, rows, strict=True)],
        note=note + _decision(policy, names, snapshot, container),
    )


def _decision(
    policy: PlacementPolicy, names: list[str], snapshot: Snapshot, container: Container
) -> str:
    at = decide(policy, snapshot, container, stream(0, policy.name()))
    return "chosen: none, the pod fits nowhere" if at is None else f"chosen: {names[at]}"


def _table(
    policy: PlacementPolicy, snapshot: Snapshot, container: Container, scores: dict[str, list[Any]]
) -> tuple[list[str], list[list[object]]]:
    """Scores, their parts and the filter's verdict, one row per node."""
    parts = policy.explain(snapshot, container, np.arange(len(snapshot.allocatable)))
    short = lacking(snapshot, container)
    rows: list[list[object]] = []
    for at in range(len(snapshot.allocatable)):
        removed = [r for r, missing in zip(snapshot.resources, short[at], strict=True) if missing]
        shown = [None if np.isnan(part[at]) else float(part[at]) for part in parts.values()]
        verdict = f"too little {', '.join(removed)}" if removed else "fits"
        rows.append([*(given[at] for given in scores.values()), *shown, verdict])
    return [*scores, *parts, "filter"], rows
