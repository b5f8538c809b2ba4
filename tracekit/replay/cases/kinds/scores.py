"""Cases about scores of nodes and what follows from them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tracekit.base.documents import shape as s
from tracekit.base.parameters import ParameterError
from tracekit.base.seeds import stream
from tracekit.policy.placement import PlacementPolicy, ScoreError
from tracekit.policy.placement._parts.window import nodes_to_find
from tracekit.policy.view.choice import lacking
from tracekit.policy.view.snapshot import Container, Snapshot
from tracekit.replay.cases.case import Answer, Question, case_policy, kind, situation
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.engine.decision import WindowStart, decide


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


@kind("the score of every node", _shapes.CLUSTER)
def score(question: Question) -> Answer:
    """The score of each node for a pod, as Score() would return it."""
    return answer_scores(question)


@kind("the score of every node before it is normalised", _shapes.CLUSTER)
def raw_score(question: Question) -> Answer:
    """The score of each node before NormalizeScore, often a cost."""
    return answer_scores(question)


@kind("the score of every node, normalised", _shapes.CLUSTER)
def normalized_score(question: Question) -> Answer:
    """Score() of every node, brought to 0..100 over all of them.

    ``{"scores": {node: int}}``, or ``{"error": true}`` where the arguments are refused.
    """
    try:
        return answer_scores(question, normalized=True)
    except ParameterError as error:
        return Answer(values={"error": True}, note=error.what)


@kind("scores brought to 0..100", {**_shapes.ASKED, "scores": s.map_of(_shapes.WHOLE)})
def normalize(question: Question) -> Answer:
    """Given scores of the nodes as NormalizeScore leaves them.

    ``{"scores": {node: int}}``.
    """
    policy, _ = case_policy(question)
    given = question.inputs["scores"]
    scores = policy.normalize(np.array(list(given.values()), dtype=np.int64))
    return Answer(values={"scores": dict(zip(given, scores.tolist(), strict=True))})


@kind("arguments after defaulting", _shapes.ASKED)
def defaults(question: Question) -> Answer:
    """The arguments of a plugin after the scheduler's defaulting.

    ``{"args": {name: value}}``.
    """
    given = question.inputs.get("args") or {}
    return Answer(values={"args": dict(question.policy().upstream_arguments(given))})


@kind("arguments that are refused", _shapes.ASKED)
def args_error(question: Question) -> Answer:
    """Arguments that the plugin must refuse, and the field it names.

    ``{"error": field}`` with the offending field as upstream names it, None when accepted.
    """
    try:
        case_policy(question)
    except ParameterError as error:
        return Answer(values={"error": error.field}, note=error.what)
    return Answer(values={"error": None}, note="the arguments are accepted")


@kind(
    "how many feasible nodes are looked for",
    {
        "num_all_nodes": _shapes.COUNT,
        "percentage_of_nodes_to_score": s.optional(_shapes.WHOLE),
    },
)
def num_feasible_nodes(question: Question) -> Answer:
    """After how many feasible nodes the search stops.

    ``{"num_nodes": int}``.
    """
    nodes = int(question.inputs["num_all_nodes"])
    percentage = int(question.inputs.get("percentage_of_nodes_to_score") or 0)
    return Answer(values={"num_nodes": nodes_to_find(nodes, percentage)})


@kind("hosts that may be selected", {"scores": s.list_of(s.row(s.text, _shapes.NUMBER))})
def select_host(question: Question) -> Answer:
    """The hosts that a tie-break may pick.

    ``{"possible": [host, ...]}`` with the highest score; ``{"error": true}`` of no hosts.
    """
    scores = [(str(host), score) for host, score in question.inputs["scores"]]
    if not scores:
        return Answer(values={"error": True}, note="there is no host to choose from")
    highest = max(score for _, score in scores)
    return Answer(values={"possible": [host for host, score in scores if score == highest]})


Document = Mapping[str, Any]


def _placed(inputs: Document, name: str, pod: Document) -> Document:
    """The case with the pod on the node, and among the node's recent pods."""
    nodes = [
        {**node, "pods": [*(node.get("pods") or []), pod]} if node["name"] == name else node
        for node in inputs["nodes"]
    ]
    after = int((inputs.get("metrics") or {}).get("window_end") or 0) + 1
    recent = dict(inputs.get("recent_pods") or {})
    recent[name] = [*(recent.get(name) or []), {"timestamp": after, "pod": pod}]
    return {**inputs, "nodes": nodes, "recent_pods": recent}


@kind(
    "the nodes of pods placed one by one",
    {
        **_shapes.CLUSTER,
        "pods": s.list_of(_shapes.POD),
    },
)
def placement_sequence(question: Question) -> Answer:
    """Pods placed one by one, each seeing those before it.

    ``{"nodes": [node of the first pod, ...]}``, null for a pod that fits nowhere.

    A placed pod runs on its node and counts as bound after the metrics' window ended.
    """
    policy, _ = case_policy(question)
    rng, window_start = stream(0, policy.name()), WindowStart()
    inputs: Document = question.inputs
    chosen: list[str | None] = []
    for pod in question.inputs["pods"]:
        names, snapshot, container = situation({**inputs, "pod": pod})
        at = decide(policy, snapshot, container, rng, window_start=window_start)
        chosen.append(None if at is None else names[at])
        inputs = inputs if at is None else _placed(inputs, names[at], pod)
    pods = [pod.get("name", str(at)) for at, pod in enumerate(question.inputs["pods"])]
    rows = list(zip(pods, chosen, strict=True))
    return Answer(values={"nodes": chosen}, columns=["pod", "node"], rows=rows)
