"""Cases about scores of nodes, and about the choice of a node by its score."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tracekit.base import shape as s
from tracekit.base.arrays import stream
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import ParameterError
from tracekit.cluster.resources import amounts, column_order
from tracekit.policy.kubernetes.scorers import host_scores
from tracekit.policy.parse import parse_policy
from tracekit.policy.placement import PlacementPolicy, ScoreError
from tracekit.policy.placement.default_scheduler import nodes_to_find
from tracekit.policy.view.recorded import decode_pod
from tracekit.policy.view.snapshot import Container, Peers, Placed, Snapshot, lacking
from tracekit.policy.view.usage import SeriesUsage
from tracekit.replay.cases import (
    Answer,
    Question,
    _shapes,
    case_policy,
    cluster_of,
    container_of,
    kind,
    of_inputs,
    situation,
)
from tracekit.replay.engine.placer import WindowStart, decide


def answer_scores(question: Question, *, normalized: bool = False) -> Answer:
    """Return the score of each node for the waiting pod.

    ``{"scores": {node: int}}``, or ``{"pre_score": "Skip"}`` where the scheduler skips the policy.
    With ``normalized`` these are the scores after NormalizeScore; the table has both.
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
    """The table of scores: for each node the score, its parts and the verdict of the filter."""
    parts = policy.explain(snapshot, container, np.arange(len(snapshot.allocatable)))
    short = lacking(snapshot, container)
    rows: list[list[object]] = []
    for at in range(len(snapshot.allocatable)):
        removed = [r for r, missing in zip(snapshot.resources, short[at], strict=True) if missing]
        shown = [None if np.isnan(part[at]) else float(part[at]) for part in parts.values()]
        verdict = f"too little {', '.join(removed)}" if removed else "fits"
        rows.append([*(given[at] for given in scores.values()), *shown, verdict])
    return [*scores, *parts, "filter"], rows


@kind(_shapes.CLUSTER)
def score(question: Question) -> Answer:
    """Return the score of each node for a pod, as the plugin's Score() returns it."""
    return answer_scores(question)


@kind(_shapes.CLUSTER)
def raw_score(question: Question) -> Answer:
    """Return the score of each node before NormalizeScore; for some policies it is a cost."""
    return answer_scores(question)


@kind(_shapes.CLUSTER)
def normalized_score(question: Question) -> Answer:
    """Return the score of every node after NormalizeScore, 0..100 over all nodes.

    ``{"scores": {node: int}}``, or ``{"error": true}`` where the arguments are refused.
    """
    try:
        return answer_scores(question, normalized=True)
    except ParameterError as error:
        return Answer(values={"error": True}, note=error.what)


@kind({**_shapes.ASKED, "scores": s.map_of(_shapes.WHOLE)})
def normalize(question: Question) -> Answer:
    """Return the result of NormalizeScore for given scores of nodes.

    ``{"scores": {node: int}}``.
    """
    policy, _ = case_policy(question)
    given = question.inputs["scores"]
    scores = policy.normalize(np.array(list(given.values()), dtype=np.int64))
    return Answer(values={"scores": dict(zip(given, scores.tolist(), strict=True))})


@kind(_shapes.ASKED)
def defaults(question: Question) -> Answer:
    """Return the arguments of a plugin after the scheduler's defaulting.

    ``{"args": {name: value}}``.
    """
    given = question.inputs.get("args") or {}
    return Answer(values={"args": dict(question.policy().upstream_arguments(given))})


@kind(_shapes.ASKED)
def args_error(question: Question) -> Answer:
    """Return the name of the argument that the plugin refuses.

    ``{"error": field}``, as upstream spells it; None where the plugin accepts all arguments.
    """
    try:
        case_policy(question)
    except ParameterError as error:
        return Answer(values={"error": error.field}, note=error.what)
    return Answer(values={"error": None}, note="the arguments are accepted")


@of_inputs(
    {"num_all_nodes": _shapes.COUNT, "percentage_of_nodes_to_score": s.optional(_shapes.WHOLE)}
)
def num_feasible_nodes(
    num_all_nodes: int, percentage_of_nodes_to_score: int | None
) -> dict[str, int]:
    """Return after how many feasible nodes the search stops: ``{"num_nodes": int}``."""
    return {"num_nodes": nodes_to_find(int(num_all_nodes), int(percentage_of_nodes_to_score or 0))}


@of_inputs({"scores": s.list_of(s.row(s.text, _shapes.NUMBER))})
def select_host(scores: list[tuple[str, float]]) -> dict[str, Any]:
    """Return the hosts with the highest score, from which the tie-break picks one.

    ``{"possible": [host, ...]}``; ``{"error": true}`` without hosts.
    """
    if not scores:
        return {"error": True}
    highest = max(score for _, score in scores)
    return {"possible": [host for host, score in scores if score == highest]}


Document = Mapping[str, Any]


def _placed(inputs: Document, name: str, pod: Document) -> Document:
    """The inputs with the pod added to the node's pods and to its recent pods."""
    nodes = [
        {**node, "pods": [*(node.get("pods") or []), pod]} if node["name"] == name else node
        for node in inputs["nodes"]
    ]
    after = int((inputs.get("metrics") or {}).get("window_end") or 0) + 1
    recent = dict(inputs.get("recent_pods") or {})
    recent[name] = [*(recent.get(name) or []), {"timestamp": after, "pod": pod}]
    return {**inputs, "nodes": nodes, "recent_pods": recent}


@kind(
    {
        **_shapes.CLUSTER,
        "pods": s.list_of(_shapes.POD),
    },
)
def placement_sequence(question: Question) -> Answer:
    """Return the nodes of pods that are placed one by one.

    ``{"nodes": [node of the first pod, ...]}``, null for a pod that fits nowhere. A placed pod runs
    on its node for the decisions after it; its binding counts as later than the end of the metrics'
    window.
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


# Cases of the extender: the state of a cluster as a replay has it, and scores of 0 to 10.

_RUNNING = s.record({"name": s.text, "service": s.text, "placed_ms": _shapes.WHOLE})
_ROW = s.row(s.optional(_shapes.NUMBER), s.optional(_shapes.NUMBER))
_USE = s.record({"times_ms": s.list_of(_shapes.WHOLE), "fractions": s.map_of(s.list_of(_ROW))})


@kind(
    {
        **_shapes.ASKED,
        "time_ms": _shapes.WHOLE,
        "resources": s.list_of(s.text),
        "candidates": s.list_of(s.text),
        "nodes": s.list_of(s.record({"name": s.text, "pods": s.list_of(_RUNNING)})),
        "pod": _shapes.POD,
        "use": s.optional(_USE),
    },
)
def prioritize(question: Question) -> Answer:
    """Return the score of each candidate node as ``tracekit serve`` answers it.

    ``{"priorities": [{"Host": node, "Score": 0..10}]}``, in the order of the candidates.
    """
    if not question.policy_name:
        raise TracekitError("the case names no policy", hint="give --policy NAME")
    given = ",".join(f"{name}={value}" for name, value in question.settings.items())
    policy = parse_policy(question.policy_name + (f"[{given}]" if given else ""))
    inputs = question.inputs
    names = inputs["candidates"]
    index = {node["name"]: at for at, node in enumerate(inputs["nodes"])}
    snapshot, container = _snapshot(inputs)
    at = np.array([index[name] for name in names], dtype=np.int64)
    _, scores = host_scores(policy, snapshot, container, at)
    pairs = list(zip(names, scores.tolist(), strict=True))
    listed = [{"Host": name, "Score": score} for name, score in pairs]
    return Answer(values={"priorities": listed}, columns=["node", "score"], rows=pairs)


def _snapshot(inputs: Mapping[str, Any]) -> tuple[Snapshot, Container]:
    """The snapshot of the cluster, as a replay makes it, and the waiting pod."""
    nodes = inputs["nodes"]
    waiting = decode_pod(inputs["pod"])
    pairs = [(at, pod) for at, node in enumerate(nodes) for pod in node["pods"]]
    pairs.sort(key=lambda pair: pair[1]["placed_ms"])
    pods = [decode_pod(pod) for _, pod in pairs]
    resources = column_order(inputs["resources"])
    services, at = [pod["service"] for _, pod in pairs], [node for node, _ in pairs]
    peers = Peers(services, len(nodes))
    for index, node in enumerate(at):
        peers.add(index, node)
    made = [container_of("", pod, resources) for pod in pods]
    cluster = cluster_of(nodes, resources, zip(at, made, strict=True))
    shape = (len(made), len(resources))
    placed = Placed(
        node=np.array(at, dtype=np.int64),
        time_ms=np.array([raw["placed_ms"] for _, raw in pairs], dtype=np.int64),
        request=np.array([one.request for one in made], dtype=np.int64).reshape(shape),
        limit=np.array([amounts(resources, pod.limit()) for pod in pods], np.int64).reshape(shape),
        service=services,
    )
    use = inputs.get("use") or {"times_ms": [], "fractions": {}}
    snapshot = cluster.snapshot(
        inputs["time_ms"],
        usage=_usage([node["name"] for node in nodes], use),
        placed=placed,
        peers=peers,
    )
    name, service = inputs["pod"].get("name") or "pod", inputs["pod"].get("service") or ""
    container = container_of(name, waiting, resources, service=service)
    return snapshot, dataclasses.replace(container, limit=amounts(resources, waiting.limit()))


def _usage(names: list[str], use: Mapping[str, Any]) -> SeriesUsage:
    """Use of nodes over time; NaN for null, and for a node without samples."""
    times = use["times_ms"]
    fractions = np.full((len(times), len(names), 2), math.nan)
    for at, name in enumerate(names):
        for step, row in enumerate(use["fractions"].get(name) or ()):
            fractions[step, at] = [math.nan if one is None else one for one in row]
    return SeriesUsage(fractions, times[-1] if times else None)
