"""Series as Prometheus hands them out, in every form, and a small cluster of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kubernetes_support import answer, series
from reading_support import Reading, opened, recognised

from tracekit.intake.sources import Opened

NAME = "kubernetes"


START = 1_767_225_600


MS = 1000


CPU = "container_cpu_usage_seconds_total"


MEMORY = "container_memory_working_set_bytes"


Sample = tuple[float, float | str]


Made = tuple[str, dict[str, str], Sequence[Sample]]


def at_times(*values: float | str, step: int = 30) -> list[Sample]:
    return [(START + at * step, value) for at, value in enumerate(values)]


def as_range(some: Sequence[Made]) -> str:
    return json.dumps(answer(*(series(name, values, **labels) for name, labels, values in some)))


def as_promtool(some: Sequence[Made]) -> str:
    return json.dumps([series(name, values, **labels) for name, labels, values in some], indent=1)


def labelled(labels: Mapping[str, str], separator: str) -> str:
    return separator.join(f"{key}={json.dumps(value)}" for key, value in labels.items())


def as_dump(some: Sequence[Made]) -> str:
    return "".join(
        f"{{{labelled({'__name__': name, **labels}, ', ')}}} {value} {round(time * MS)}\n"
        for name, labels, values in some
        for time, value in values
    )


def as_openmetrics(some: Sequence[Made]) -> str:
    lines = [
        f"{name}{{{labelled(labels, ',')}}} {value} {time}\n"
        for name, labels, values in some
        for time, value in values
    ]
    return f"# TYPE {some[0][0]} gauge\n{''.join(lines)}# EOF\n"


def as_export(some: Sequence[Made]) -> str:
    return "".join(
        json.dumps(
            {
                "metric": {"__name__": name, **labels},
                "values": [value for _, value in values],
                "timestamps": [round(time * MS) for time, _ in values],
            }
        )
        + "\n"
        for name, labels, values in some
    )


def as_printed(some: Sequence[Made]) -> str:
    """What promtool prints of an answer, when it is not asked for JSON."""
    return "".join(
        f"{name}{{{labelled(labels, ', ')}}} =>\n"
        + "".join(f"{value} @[{time}]\n" for time, value in values)
        for name, labels, values in some
    )


def quoted(labels: Mapping[str, str]) -> str:
    """Labels with their names in quotes."""
    return ",".join(f"{json.dumps(key)}={json.dumps(value)}" for key, value in labels.items())


FORMS: list[tuple[str, str, Callable[[Sequence[Made]], str]]] = [
    ("range", "answer.json", as_range),
    ("range", "promtool.json", as_promtool),
    ("range", "printed.txt", as_printed),
    ("text", "dump.txt", as_dump),
    ("text", "series.om", as_openmetrics),
    ("export", "export.jsonl", as_export),
]


SCRAPED = FORMS[2:]


def of_pod(name: str = "web-1", container: str | None = "main", **more: str) -> dict[str, str]:
    inner = {} if container is None else {"container": container}
    return {"namespace": "default", "pod": name, **inner, **more}


def amounts_of(found: Reading, table: str = "container") -> list[tuple[object, ...]]:
    columns = ("time_ms", table, "resource", "amount", "unit")
    return found.rows(f"{table}_amount", *columns)


CLUSTER: list[Made] = [
    (MEMORY, of_pod(), at_times(100, 200)),
    (MEMORY, of_pod(container="side"), at_times(10, 20)),
    (MEMORY, of_pod(container="POD"), at_times(1, 1)),
    (MEMORY, of_pod(container=None), at_times(111, 221)),
    (MEMORY, {"id": "/system.slice"}, at_times(5, 5)),
    ("kube_node_status_allocatable", {"node": "n1", "resource": "cpu"}, at_times(8, 16)),
    ("kube_node_labels", {"node": "n1", "label_topology_kubernetes_io_zone": "z"}, at_times(1, 1)),
    ("kube_node_spec_unschedulable", {"node": "n1"}, at_times(0, 1)),
    (
        "kube_pod_info",
        of_pod(
            container=None, uid="u", node="n1", created_by_kind="ReplicaSet", created_by_name="rs"
        ),
        at_times(1, 1),
    ),
    (
        "kube_replicaset_owner",
        {
            "namespace": "default",
            "replicaset": "rs",
            "owner_kind": "Deployment",
            "owner_name": "web",
        },
        at_times(1, 1),
    ),
    ("kube_pod_created", of_pod(container=None, uid="u"), at_times(START - 60, START - 60)),
    (
        "kube_pod_container_resource_requests",
        of_pod(uid="u", resource="cpu"),
        at_times(0.5, 0.5),
    ),
    (
        "kube_pod_container_resource_requests",
        of_pod(container="side", uid="u", resource="cpu"),
        at_times(0.25, 0.25),
    ),
    ("kube_pod_container_resource_limits", of_pod(uid="u", resource="cpu"), at_times(1, 1)),
    (
        "kube_pod_init_container_resource_requests",
        of_pod(container="init", uid="u", resource="cpu"),
        at_times(2, 2),
    ),
    ("kube_pod_overhead_cpu_cores", of_pod(container=None, uid="u"), at_times(0.125, 0.125)),
]


def answered(name: str, some: Sequence[tuple[dict[str, str], list[Sample]]]) -> str:
    """An answer to a query with rate(), which has no name of a metric."""
    made: list[Made] = [(name, labels, values) for labels, values in some]
    document = json.loads(as_range(made))
    for one in document["data"]["result"]:
        del one["metric"]["__name__"]
    return json.dumps(document)


def files_beside(*paths: Path) -> dict[str, tuple[Opened, ...]]:
    kinds: dict[str, tuple[Opened, ...]] = {}
    for path in paths:
        [(_, word)] = recognised(path)
        kinds[word] = (*kinds.get(word, ()), opened(path))
    return kinds
