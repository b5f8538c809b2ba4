"""Nodes and pods as kubectl prints them, and series as Prometheus answers, made by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CREATED = "2026-01-01T00:00:00Z"
CREATED_MS = 1_767_225_600_000
Object = dict[str, Any]


def node(name: str, **spec: Any) -> Object:
    """A node with 8 cores; ``labels`` and ``allocatable`` go where they belong."""
    labels = spec.pop("labels", {})
    amounts = spec.pop("allocatable", {"cpu": "8", "memory": "32Gi", "pods": "110"})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": CREATED,
            "labels": labels,
        },
        "spec": spec,
        "status": {"allocatable": amounts},
    }


def container(
    cpu: str | None = None, *, limits: Mapping[str, str] | None = None, **more: Any
) -> Object:
    """A container of a pod."""
    requests = {"requests": {"cpu": cpu}} if cpu is not None else {}
    return {
        "name": "main",
        "resources": {**requests, **({"limits": dict(limits)} if limits else {})},
        **more,
    }


def pod(
    name: str = "web-1", *, meta: Mapping[str, Any] | None = None, status: Any = None, **spec: Any
) -> Object:
    """A pod of the namespace default that asks for 500m."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "creationTimestamp": CREATED,
            **(meta or {}),
        },
        "spec": {"containers": [container("500m")], **spec},
        "status": {"phase": "Running"} if status is None else status,
    }


def owned(kind: str, name: str) -> Object:
    """Metadata of a pod that a controller made."""
    return {"ownerReferences": [{"kind": kind, "name": name, "controller": True}]}


def listed(*objects: Object, kind: str = "List") -> Object:
    """A list as kubectl prints it."""
    return {"apiVersion": "v1", "items": list(objects), "kind": kind, "metadata": {}}


def written(path: Path, document: Any, **how: Any) -> Path:
    """The path, with a document in it; texts go in as they are."""
    path.write_text(document if isinstance(document, str) else json.dumps(document, **how))
    return path


def series(
    name: str | None, values: Sequence[tuple[float, str | float]], **labels: str
) -> dict[str, Any]:
    """A series of an answer to query_range."""
    metric = {**({"__name__": name} if name else {}), **labels}
    return {"metric": metric, "values": [[time, str(value)] for time, value in values]}


def answer(*some: Mapping[str, Any], **around: Any) -> dict[str, Any]:
    """An answer to query_range."""
    data = {"resultType": "matrix", "result": list(some)}
    return {**around, "status": "success", "data": data}
