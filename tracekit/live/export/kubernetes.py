"""Workloads as objects of Kubernetes, for KWOK and for SimKube."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl

from tracekit.base.constants import HOSTNAME, ZONES
from tracekit.base.errors import TracekitError
from tracekit.base.units import MS_PER_S
from tracekit.cluster.constraints.among import ports_of
from tracekit.cluster.resources import CPU, MEMORY, PODS, UNLIMITED
from tracekit.cluster.workload import Workload
from tracekit.live.export._format import ExportSource, Format, Written, carried, left_out, lost
from tracekit.live.export._spelling import object_names, pod_names
from tracekit.store.folder import Store
from tracekit.store.query.database import Database

Document = dict[str, Any]
#: The names of resources in Kubernetes.
_NAMES = {
    CPU: "cpu",
    MEMORY: "memory",
    "disk": "ephemeral-storage",
    "gpu": "nvidia.com/gpu",
    PODS: PODS,
}
#: The prefix of resources without a name in Kubernetes.
_OURS = "tracekit.io/"
#: The longest value of a label.
_LONGEST_LABEL = 63
#: The name of each pod's only container.
_MAIN = "main"
_DOMAINS = {"zone": ZONES[0], "rack": "topology.kubernetes.io/rack"}
#: Labels that differ between the pods of a workload.
_OF_ONE = (
    *("pod-template-hash", "controller-revision-hash", "pod-template-generation"),
    *("statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"),
)
#: The key of requirements on the name of a node.
_NODE_NAME = "metadata.name"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_COLUMNS = ("labels", "selector", "tolerations", "rules", "host_ports")
#: The annotations that keep the names of the workload.
CONTAINER, SERVICE = f"{_OURS}container", f"{_OURS}service"
#: The image of every container; KWOK runs none.
_IMAGE = "registry.k8s.io/pause:3.10"


@dataclass(frozen=True, kw_only=True)
class Objects:
    """The nodes and pods of a workload, as Kubernetes objects (dicts).

    Parameters
    ----------
    nodes, pods : sequence of documents
        Pods are in the order of the workload, and have no node.
    renamed : int
        The number of pods whose name is not their container's.
    """

    nodes: Sequence[Document]
    pods: Sequence[Document]
    renamed: int


def objects_of(load: Workload, store: Store | None) -> Objects:
    """Return a workload as Kubernetes objects; labels, taints and rules come from its store."""
    places = pod_names(load.containers.ids)
    pods = [
        _pod(load, at, place, template)
        for at, (place, template) in enumerate(zip(places, templates_of(load, store), strict=True))
    ]
    alike = [
        was in (name, f"{space}/{name}")
        for (space, name), was in zip(places, load.containers.ids, strict=True)
    ]
    return Objects(
        nodes=list(_nodes(load, _stated(store, "node", ("labels", "taints", *_DOMAINS)))),
        pods=pods,
        renamed=len(alike) - sum(alike),
    )


def templates_of(load: Workload, store: Store | None) -> Iterator[Document]:
    """Yield, for each container, the template of its pod: labels and spec."""
    stated = _stated(store, "container", _COLUMNS)
    for at, container in enumerate(load.containers.ids):
        row = stated.get(container, {})
        labels = json.loads(row.get("labels") or "{}")
        of_template = {name: one for name, one in labels.items() if name not in _OF_ONE}
        yield {"metadata": {"labels": of_template}, "spec": _spec(load, at, row)}


def _stated(
    store: Store | None, entity: str, columns: Sequence[str]
) -> dict[str, Mapping[str, Any]]:
    """The latest row of each container or node of a store, by its name."""
    if store is None or not store.table_files(entity):
        return {}
    selected = ", ".join((entity, *columns))
    with Database(store) as database:
        rows = database.frame(f"SELECT {selected} FROM {entity} ORDER BY time_ms")
    return {row[entity]: row for row in rows.iter_rows(named=True)}


def _nodes(load: Workload, stated: Mapping[str, Mapping[str, Any]]) -> Iterator[Document]:
    created = _moment(int(load.containers.arrival_ms.min(initial=0)))
    for at, name in enumerate(object_names(load.nodes.ids)):
        row = stated.get(load.nodes.ids[at], {})
        taints = json.loads(row.get("taints") or "[]")
        places = {label: row[kind] for kind, label in _DOMAINS.items() if row.get(kind)}
        labels = {
            HOSTNAME: name[:_LONGEST_LABEL],
            **places,
            **json.loads(row.get("labels") or "{}"),
        }
        amounts = _quantities(load, load.nodes.allocatable[at].tolist())
        # without an amount of pods a node takes none
        amounts.setdefault(PODS, str(max(load.containers.count, 1)))
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "creationTimestamp": created,
                "labels": labels,
                "annotations": {"kwok.x-k8s.io/node": "fake"},
            },
            "spec": {"taints": taints} if taints else {},
            "status": {"allocatable": amounts, "capacity": amounts},
        }


def _pod(load: Workload, at: int, place: tuple[str, str], template: Document) -> Document:
    """A pod; a pod that departs has the status of an ended one, with the time."""
    about = {
        "namespace": place[0],
        "name": place[1],
        "creationTimestamp": _moment(int(load.containers.arrival_ms[at])),
        "annotations": {CONTAINER: load.containers.ids[at], SERVICE: load.containers.services[at]},
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**about, **template["metadata"]}}
    pod["spec"] = template["spec"]
    if load.containers.departure_ms[at] <= load.use.times_ms[-1]:
        end = {"terminated": {"finishedAt": _moment(int(load.containers.departure_ms[at]))}}
        pod["status"] = {"phase": "Succeeded", "containerStatuses": [{"name": _MAIN, "state": end}]}
    return pod


def _spec(load: Workload, at: int, row: Mapping[str, Any]) -> Document:
    """The spec of a pod of one container."""
    request = _quantities(load, load.containers.request[at].tolist(), but=(PODS,))
    limit = _quantities(load, load.containers.limit[at].tolist(), but=(PODS,))
    spec: Document = {
        "containers": [
            {
                "name": _MAIN,
                "image": _IMAGE,
                "resources": {"requests": request, **({"limits": limit} if limit else {})},
            }
        ],
    }
    if load.rules.priority is not None:
        spec["priority"] = int(load.rules.priority[at])
    if row.get("tolerations"):
        spec["tolerations"] = json.loads(row["tolerations"])
    if row.get("host_ports"):
        spec["containers"][0]["ports"] = list(_ports(row["host_ports"]))
    affinity = _affinity(json.loads(row.get("rules") or "[]"), row.get("selector"))
    return {**spec, **affinity}


def _affinity(rules: Sequence[Mapping[str, Any]], selector: str | None) -> Document:
    """The affinity and topology spread constraints of a pod, from the columns of its store."""
    affinity: Document = {}
    if selector:
        terms = [_node_term(term) for term in json.loads(selector)]
        affinity["nodeAffinity"] = {_REQUIRED: {"nodeSelectorTerms": terms}}
    spread = []
    for rule in rules:
        labels = rule.get("selector")
        chosen = {} if labels is None else {"labelSelector": {"matchExpressions": labels}}
        more = {
            name: one
            for name, one in rule.items()
            if name not in ("kind", "selector") and one != ["*"]
        }
        if rule["kind"] == "topologySpread":
            spread.append({"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **more, **chosen})
        elif rule["kind"] in ("podAffinity", "podAntiAffinity"):
            every: Document = {"namespaceSelector": {}} if rule.get("namespaces") == ["*"] else {}
            term = {**more, **chosen, **every}
            affinity.setdefault(rule["kind"], {}).setdefault(_REQUIRED, []).append(term)
    never = any(one["kind"] == "preemptionPolicy" for one in rules)
    return {
        **({"affinity": affinity} if affinity else {}),
        **({"topologySpreadConstraints": spread} if spread else {}),
        **({"preemptionPolicy": "Never"} if never else {}),
    }


def _node_term(requirements: Sequence[Mapping[str, Any]]) -> Document:
    by_name = [one for one in requirements if one["key"] == _NODE_NAME]
    labels = [one for one in requirements if one["key"] != _NODE_NAME]
    parts = {"matchExpressions": labels, "matchFields": by_name}
    return {name: some for name, some in parts.items() if some}


def _ports(text: str) -> Iterator[Document]:
    """The host ports of a text such as ``80/TCP,10.0.0.1:53/UDP``."""
    for port in ports_of(text):
        address = {"hostIP": port.address} if port.address else {}
        yield {
            "containerPort": port.number,
            "hostPort": port.number,
            "protocol": port.protocol,
            **address,
        }


def _quantities(load: Workload, row: Sequence[int], but: Sequence[str] = ()) -> dict[str, str]:
    """Amounts as Kubernetes writes them; an unlimited one is the sum of all requests."""
    amounts = {}
    for at, (name, amount) in enumerate(zip(load.resources, row, strict=True)):
        if not amount or name in but:
            continue
        many = (
            amount
            if amount < UNLIMITED
            else int(load.containers.request[:, at].sum()) + load.containers.count
        )
        own_name = "/" in name or name in _NAMES
        called = _NAMES.get(name, name) if own_name else f"{_OURS}{name}"
        amounts[called] = f"{many}m" if name == CPU else str(many)
    return amounts


def _moment(time_ms: int) -> str:
    """A time as Kubernetes writes it, with fractions of a second."""
    return datetime.fromtimestamp(time_ms / MS_PER_S, UTC).isoformat().replace("+00:00", "Z")


def _kwok(left: ExportSource) -> Written:
    load = left.load
    objects = objects_of(load, left.store)
    if left.policy:
        places = _places(left, left.policy)
        names = dict(zip(load.nodes.ids, object_names(load.nodes.ids), strict=True))
        for container, pod in zip(load.containers.ids, objects.pods, strict=True):
            if node := places.get(container):
                pod["spec"]["nodeName"] = names[node]
    text = json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": [*objects.nodes, *objects.pods]}, indent=1
    )
    facts = (
        *carried(load, rounded=False),
        *((left_out("renamed", objects.renamed, "containers"),) if objects.renamed else ()),
        *(() if left.policy else lost(load, "placement")),
        *lost(load, "use", "departures", "groups", "gangs", "budgets", "background", "prices"),
        *lost(load, "away", "rules" if left.store is None else "own_rules"),
    )
    return Written(files={"": text.encode()}, facts=facts)


def _places(left: ExportSource, policy: str) -> Mapping[str, str | None]:
    """The node of each container under a policy of the run."""
    rows = left.frame("placements")
    mine = rows.filter(pl.col("policy") == policy)
    if mine.is_empty():
        raise TracekitError(
            f"'{policy}' is no policy of this run",
            hint=f"one of: {', '.join(rows['policy'].unique(maintain_order=True))}",
        )
    return dict(zip(mine["container"], mine["node"], strict=True))


kwok = Format(
    name="kwok",
    title="nodes and pods for KWOK, a list for kubectl apply; --policy says where pods run",
    write=_kwok,
)


_KIND = "apps/v1.Deployment"


def _simkube(left: ExportSource) -> Written:
    try:
        import msgpack  # type: ignore[import-untyped,unused-ignore] # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise TracekitError(
            "traces of SimKube need the package msgpack", hint="pip install 'tracekit[simkube]'"
        ) from None
    load = left.load
    trace = {
        "version": 2,
        "config": {"trackedObjects": {_KIND: {"podSpecTemplatePaths": ["/spec/template"]}}},
        "events": _events(load, left.store),
        "index": {},
        "pod_lifecycles": {},
    }
    facts = (
        *carried(load, rounded=False, nodes=False),
        *lost(load, "nodes", "placement", "use", "order_of_ends", "gangs", "budgets"),
        *lost(load, "rules" if left.store is None else "own_rules"),
    )
    return Written(files={"": msgpack.packb(trace)}, facts=facts)


def _events(load: Workload, store: Store | None) -> list[Document]:
    """Events: a Deployment at each second in which its number of replicas changes."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for at, one in enumerate(templates_of(load, store)):
        groups[load.containers.services[at], json.dumps(one)].append(at)
    names = pod_names(service for service, _ in groups)
    begins_s, ends_s = (
        load.containers.arrival_ms // MS_PER_S,
        -(-load.containers.departure_ms // MS_PER_S),
    )
    departs = load.containers.departure_ms <= load.use.times_ms[-1]
    applied: dict[int, list[Document]] = defaultdict(list)
    for number, ((space, name), (key, some)) in enumerate(zip(names, groups.items(), strict=True)):
        changes = Counter((second, 1) for second in begins_s[some].tolist())
        changes += Counter((s, -1) for s in ends_s[some][departs[some]].tolist())
        replicas = 0
        for second, sign in sorted(changes):
            replicas += sign * changes[second, sign]
            applied[second].append(_deployment(space, name, number, key, replicas))
    return [
        {"ts": second, "applied_objs": applied[second], "deleted_objs": []}
        for second in sorted(applied)
    ]


def _deployment(
    space: str, name: str, number: int, key: tuple[str, str], replicas: int
) -> Document:
    """A Deployment; ``key`` is its service and its template."""
    template, own = json.loads(key[1]), {"tracekit.io/deployment": str(number)}
    template["metadata"]["labels"] |= own
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": space, "annotations": {SERVICE: key[0]}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": own}, "template": template},
    }


simkube = Format(
    name="simkube",
    title="a trace for SimKube: Deployments and their replicas over time",
    write=_simkube,
)
