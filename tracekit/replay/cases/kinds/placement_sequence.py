"""Cases of kind ``placement_sequence``: pods placed one by one, each seeing those before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracekit import shape as s
from tracekit.replay.cases.case import case_policy, situation
from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.engine.decision import Turn, decide
from tracekit.seeds import stream

Document = Mapping[str, Any]


def answer(question: Question) -> Answer:
    """``{"nodes": [node of the first pod, ...]}``, null for a pod that fits nowhere.

    A placed pod runs on its node and counts as bound after the metrics' window ended.
    """
    policy, _ = case_policy(question)
    rng, turn = stream(0, policy.name()), Turn()
    inputs: Document = question.inputs
    chosen: list[str | None] = []
    for pod in question.inputs["pods"]:
        names, snapshot, container = situation({**inputs, "pod": pod})
        at = decide(policy, snapshot, container, rng, turn=turn)
        chosen.append(None if at is None else names[at])
        inputs = inputs if at is None else _placed(inputs, names[at], pod)
    pods = [pod.get("name", str(at)) for at, pod in enumerate(question.inputs["pods"])]
    rows = list(zip(pods, chosen, strict=True))
    return Answer(values={"nodes": chosen}, columns=["pod", "node"], rows=rows)


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


KIND = CaseKind(
    title="the nodes of pods placed one by one",
    answer=answer,
    inputs={
        **_shapes.CLUSTER,
        "pods": s.list_of(_shapes.POD),
    },
)
