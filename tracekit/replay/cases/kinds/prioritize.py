"""Cases of a server that answers kube-scheduler: the state as the replay knows it, scores 0..10."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tracekit.base.documents import shape as s
from tracekit.base.errors import TracekitError
from tracekit.cluster.resources import amounts, column_order
from tracekit.policy.kubernetes.extenders import host_scores
from tracekit.policy.parse import parse_policy
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.recorded import decode_pod
from tracekit.policy.view.snapshot import Container, Peers, Placed, Snapshot
from tracekit.policy.view.usage import SeriesUsage
from tracekit.replay.cases.case import Answer, Question, container_of, kind, rows_of
from tracekit.replay.cases.kinds import _shapes

_RUNNING = s.record({"name": s.text, "service": s.text, "placed_ms": _shapes.WHOLE})
_ROW = s.row(s.optional(_shapes.NUMBER), s.optional(_shapes.NUMBER))
_USE = s.record({"times_ms": s.list_of(_shapes.WHOLE), "fractions": s.map_of(s.list_of(_ROW))})


@kind(
    "the answer of an extender to prioritize",
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
    """The score of each node as an extender answers it, with what is measured over time.

    ``{"priorities": [{"Host": node, "Score": 0..10}]}``, in the order of the candidates.
    """
    if question.policy_name is None:
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
    """The snapshot as a replay shows it, and the pod that waits."""
    nodes = inputs["nodes"]
    waiting = decode_pod(inputs["pod"])
    pairs = [(at, pod) for at, node in enumerate(nodes) for pod in node["pods"]]
    pairs.sort(key=lambda pair: pair[1]["placed_ms"])
    pods = [decode_pod(pod) for _, pod in pairs]
    resources = column_order(inputs["resources"])
    cluster = Cluster(
        resources=resources,
        capacity=rows_of(nodes, resources, "capacity"),
        allocatable=rows_of(nodes, resources, "allocatable"),
    )
    services = [pod["service"] for _, pod in pairs]
    peers = Peers(services, len(nodes))
    made = [container_of("", pod, resources) for pod in pods]
    for index, ((node, _), one) in enumerate(zip(pairs, made, strict=True)):
        cluster.change(node, one.request, one.nonzero_request, one.limit, sign=1)
        peers.add(index, node)
    shape = (len(made), len(resources))
    placed = Placed(
        node=np.array([node for node, _ in pairs], dtype=np.int64),
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
    """Fractions in use; NaN for null, and for a node of which nothing is said."""
    times = use["times_ms"]
    fractions = np.full((len(times), len(names), 2), math.nan)
    for at, name in enumerate(names):
        for step, row in enumerate(use["fractions"].get(name) or ()):
            fractions[step, at] = [math.nan if one is None else one for one in row]
    return SeriesUsage(fractions, times[-1] if times else None)
