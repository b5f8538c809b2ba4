"""A trace for SimKube: Deployments of equal pods, and how many replicas they have over time."""

import json
from collections import Counter, defaultdict

from tracekit.base.errors import TracekitError
from tracekit.base.units import MS_PER_S
from tracekit.cluster.workload import Workload
from tracekit.live.export._format import Format, Written
from tracekit.live.export._left import Left
from tracekit.live.export._names import pod_names
from tracekit.live.export._objects import SERVICE, Document, templates_of
from tracekit.live.export._workload import carried, lost
from tracekit.store.folder import Store

_KIND = "apps/v1.Deployment"


def _write(left: Left) -> Written:
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
        *carried(load, rounded=False),
        *lost(load, "nodes", "placement", "use", "order_of_ends", "gangs", "budgets"),
        *lost(load, "rules" if left.store is None else "own_rules"),
    )
    return Written(files={"": msgpack.packb(trace)}, facts=facts)


def _events(load: Workload, store: Store | None) -> list[Document]:
    """A Deployment at each second in which its number of replicas falls or rises, in this order."""
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


FORMAT = Format(
    name="simkube",
    title="a trace for SimKube: Deployments and their replicas over time",
    write=_write,
)
