"""Rows of nodes, and the names of services, out of objects of Kubernetes."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import polars as pl

from tracekit.intake.sources._source import Batch
from tracekit.intake.sources.own._kubernetes import rules
from tracekit.store.tables import UNREADY_TAINTS, all_tables

#: The reason of a reject for an object that the API of Kubernetes would not give.
MISSHAPEN = "a field is missing or of another kind than Kubernetes gives it"
_HASH = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5,10}$")
_CRON = re.compile(r"-\d{7,10}$")
_INDEX = re.compile(r"-\d{1,6}$")
#: Labels that name the family of several Jobs.
_FAMILY_LABELS = ("jobset.sigs.k8s.io/jobset-name", "app.kubernetes.io/name", "app")
Rows = dict[str, list[dict[str, Any]]]

#: The types of columns by the kind of the column; times and lines are integers.
_DTYPES = {"id": pl.String, "text": pl.String, "number": pl.Float64}


def batches(rows: Rows) -> Iterator[Batch]:
    """Yield a ``Batch`` for each table that has rows."""
    for table, some in rows.items():
        if some:
            names = dict.fromkeys(chain.from_iterable(dict.fromkeys(map(tuple, some))))
            kinds = {one.name: one.kind for one in all_tables()[table].columns}
            schema = {name: _DTYPES.get(kinds.get(name, "time"), pl.Int64) for name in names}
            yield Batch(table=table, rows=pl.DataFrame(some, schema=schema))


def service_of(space: str, kind: str, name: str, template_hash: str | None = None) -> str:
    """Return the service of the pods of a controller, ``namespace/name``.

    The name of a ReplicaSet loses its hash and that of a Job its schedule number. So the service is
    named after the Deployment or CronJob.
    """
    if kind == "ReplicaSet":
        ends = f"-{template_hash}" if template_hash else ""
        name = name.removesuffix(ends) if ends else _HASH.sub("", name)
    elif kind == "Job":
        name = _CRON.sub("", name)
    return f"{space}/{name}"


def static_service(space: str, pod: str, node: str) -> str:
    """Return the service of a static pod: the pod's name without the name of its node."""
    return f"{space}/{pod.removesuffix(f'-{node}')}"


def owner_of(meta: Mapping[str, Any]) -> tuple[str, str]:
    """Return kind and name of a pod's controller; both are empty for a bare pod."""
    owners = meta.get("ownerReferences") or []
    for one in owners:
        if one.get("controller"):
            return one.get("kind", ""), one.get("name", "")
    return (owners[0].get("kind", ""), owners[0].get("name", "")) if owners else ("", "")


def pod_service(meta: Mapping[str, Any], node: str | None) -> str:
    """Return the service of a pod, ``namespace/name``: its controller, or a bare pod itself."""
    kind, name = owner_of(meta)
    space = meta.get("namespace") or "default"
    if not name:
        return f"{space}/{meta['name']}"
    if kind == "Node":
        return static_service(space, str(meta["name"]), node or name)
    labels = meta.get("labels") or {}
    if kind == "Job" and _is_of_family(name, labels):
        return f"{space}/{_INDEX.sub('', name)}"
    return service_of(space, kind, name, labels.get("pod-template-hash"))


def _is_of_family(job: str, labels: Mapping[str, str]) -> bool:
    """Whether a Job is one of a numbered family: a label names the family."""
    stem = _INDEX.sub("", job)
    named = (labels.get(one) for one in _FAMILY_LABELS)
    return stem != job and any(one and f"{stem}-".startswith(f"{one}-") for one in named)


def taints_of(node: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the taints of a node, also the one that Kubernetes gives an unready node.

    Kubernetes adds that taint a moment after the condition, so a listed node may lack it.
    """
    taints = [
        {"key": one.get("key"), "value": one.get("value", ""), "effect": one.get("effect")}
        for one in (node.get("spec") or {}).get("taints") or ()
    ]
    for one in (node.get("status") or {}).get("conditions") or ():
        key = UNREADY_TAINTS.get(str(one.get("status"))) if one.get("type") == "Ready" else None
        taint = {"key": key, "value": "", "effect": "NoSchedule"}
        if key and taint not in taints:
            taints.append(taint)
    return taints


def node_rows(
    node: str, time: int, line: int, *, labels: Mapping[str, str], taints: Any, closed: bool
) -> dict[str, Any]:
    """Return the row of table ``node``, with zone, rack and platform from the labels.

    ``closed`` is whether the node takes no new pods (cordoned).
    """
    return {
        "time_ms": time,
        "node": node,
        "state": "closed" if closed else "ready",
        "rack": rules.rack(labels),
        "zone": rules.zone(labels),
        "platform": labels.get("node.kubernetes.io/instance-type")
        or labels.get("beta.kubernetes.io/instance-type"),
        "labels": json.dumps(dict(labels), sort_keys=True) if labels else None,
        "taints": json.dumps(taints) if taints else None,
        "line": line,
    }


#: The statement of a row that a node has no labels, or no taints.
_NONE = {"labels": "{}", "taints": "[]"}


def over_time(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of a node; if labels or taints vanish, the row gets an empty object or list.

    In table ``node`` a missing value would mean the last stated value.
    """
    had: set[str] = set()
    complete = []
    for row in rows:
        had |= {name for name in _NONE if row[name]}
        complete.append({**row, **{name: row[name] or _NONE[name] for name in had}})
    return complete
