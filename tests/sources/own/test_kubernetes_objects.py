"""Nodes and pods that kubectl printed: sizes, owners, lives, rules; what is broken is told."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes_support import (
    CREATED_MS,
    Object,
    container,
    listed,
    node,
    owned,
    pod,
    written,
)
from reading_support import Reading, opened, read, recognised

from tracekit.errors import TracekitError
from tracekit.ingest import ingest
from tracekit.sources.own._kubernetes_requests import QuantityError, amount, effective

NAME = "kubernetes"


def _read(tmp_path: Path, *objects: Object) -> Reading:
    return read(NAME, written(tmp_path / "cluster.json", listed(*objects), indent=4))


QUANTITIES = [
    ("100m", "0.1"),
    ("1", "1"),
    ("1.5", "1.5"),
    ("2e3", "2000"),
    ("129E6", "129000000"),
    ("128974848", "128974848"),
    ("129M", "129000000"),
    ("123Mi", "128974848"),
    ("128974848000m", "128974848"),
    ("12345678n", "0.012345678"),
    ("5u", "0.000005"),
    ("1234Ki", "1263616"),
    ("1E", "1000000000000000000"),
    ("1Ei", "1152921504606846976"),
    ("-500m", "-0.5"),
]


@pytest.mark.parametrize(("text", "value"), QUANTITIES)
def test_quantities_are_those_of_kubernetes(text: str, value: str) -> None:
    assert amount(text) == float(Decimal(value))


@pytest.mark.parametrize("text", ["", "two", "1 GB", "5%", "$3", "nan", "inf", "1_000", "1c"])
def test_other_texts_are_no_quantities(text: str) -> None:
    with pytest.raises(QuantityError, match="expected a quantity"):
        amount(text)


@given(
    st.decimals(0, 10**9, places=3),
    st.sampled_from([("", 0), ("m", -3), ("k", 3), ("M", 6), ("u", -6), ("n", -9), ("G", 9)]),
)
def test_a_decimal_quantity_is_exact_to_the_last_bit(
    number: Decimal, suffix: tuple[str, int]
) -> None:
    assert amount(f"{number}{suffix[0]}") == float(number.scaleb(suffix[1]))


SIZES: list[tuple[str, Mapping[str, Any], dict[str, tuple[float | None, float | None]]]] = [
    ("two add up", {"containers": [container("500m"), container("1")]}, {"cpu": (1.5, None)}),
    (
        "an init container that is larger",
        {"containers": [container("1")], "initContainers": [container("3")]},
        {"cpu": (3.0, None)},
    ),
    (
        "a sidecar is added, and runs beside the init containers after it",
        {
            "containers": [container("1")],
            "initContainers": [
                container("4"),
                container("1", restartPolicy="Always"),
                container("3500m"),
            ],
        },
        {"cpu": (4.5, None)},
    ),
    (
        "a limit without a request is the request",
        {"containers": [container(limits={"cpu": "2", "memory": "1Gi"})]},
        {"cpu": (2.0, 2.0), "memory": (2.0**30, 2.0**30)},
    ),
    (
        "one without a limit, and the pod has none",
        {"containers": [container("1", limits={"cpu": "2"}), container("1")]},
        {"cpu": (2.0, None)},
    ),
    (
        "overhead comes on top",
        {"containers": [container("1", limits={"cpu": "2"})], "overhead": {"cpu": "250m"}},
        {"cpu": (1.25, 2.25)},
    ),
    (
        "what the pod states holds",
        {"containers": [container("1")], "resources": {"requests": {"cpu": "5"}}},
        {"cpu": (5.0, None)},
    ),
    (
        "overhead comes on top of what the pod states, too",
        {
            "containers": [container("1")],
            "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "4"}},
            "overhead": {"cpu": "250m"},
        },
        {"cpu": (2.25, 4.25)},
    ),
    ("nothing is stated", {"containers": [container()]}, {}),
]


@pytest.mark.parametrize(("_", "spec", "sizes"), SIZES, ids=[case[0] for case in SIZES])
def test_a_pod_asks_for_what_the_scheduler_counts(
    _: str, spec: Mapping[str, Any], sizes: dict[str, tuple[float | None, float | None]]
) -> None:
    assert effective(spec) == sizes


def _has(cpu: str, **more: Any) -> dict[str, Any]:
    """The status of a container."""
    return {"name": "main", "resources": {"requests": {"cpu": cpu}}, **more}


PENDING = {"type": "PodResizePending", "status": "True"}
RESIZED: list[tuple[str, dict[str, Any], float]] = [
    ("as asked for", {"containerStatuses": [_has("1")]}, 1.5),
    ("it has still more", {"containerStatuses": [_has("3")]}, 3.5),
    ("it has still less", {"containerStatuses": [_has("100m")]}, 1.5),
    (
        "more is kept for it",
        {"containerStatuses": [_has("100m", allocatedResources={"cpu": "2"})]},
        2.5,
    ),
    (
        "the node cannot give what is asked for",
        {
            "containerStatuses": [_has("250m")],
            "conditions": [{**PENDING, "reason": "Infeasible"}],
        },
        0.75,
    ),
    (
        "it is put off",
        {"containerStatuses": [_has("250m")], "conditions": [{**PENDING, "reason": "Deferred"}]},
        1.5,
    ),
    ("a status that says nothing of it", {"containerStatuses": [{"name": "main"}]}, 1.5),
    ("a sidecar", {"initContainerStatuses": [{**_has("2"), "name": "side"}]}, 3.0),
    ("no sidecar", {"initContainerStatuses": [{**_has("2"), "name": "init"}]}, 1.5),
]


@pytest.mark.parametrize(("_", "status", "cores"), RESIZED, ids=[case[0] for case in RESIZED])
def test_a_container_that_is_resized_in_place_counts_as_the_scheduler_counts_it(
    _: str, status: dict[str, Any], cores: float
) -> None:
    inits = [
        {**container("500m"), "name": "side", "restartPolicy": "Always"},
        {**container("100m"), "name": "init"},
    ]
    spec = {"containers": [container("1")], "initContainers": inits}
    assert effective(spec, status)["cpu"][0] == pytest.approx(cores)


def test_a_node_has_its_place_its_labels_and_all_its_resources(tmp_path: Path) -> None:
    labels = {
        "topology.kubernetes.io/zone": "z1",
        "topology.example.com/rack": "r7",
        "node.kubernetes.io/instance-type": "m5.large",
    }
    taints = [{"key": "gpu", "effect": "NoSchedule"}]
    amounts = {"cpu": "7910m", "memory": "1Ki", "nvidia.com/gpu": "4", "ephemeral-storage": "1k"}
    found = _read(
        tmp_path,
        node("n1", labels=labels, allocatable=amounts, taints=taints, unschedulable=True),
        node("n2"),
    )
    columns = ("node", "time_ms", "state", "zone", "rack", "platform")
    assert found.rows("node", *columns) == [
        ("n1", CREATED_MS, "closed", "z1", "r7", "m5.large"),
        ("n2", CREATED_MS, "ready", None, None, None),
    ]
    first = found.tables["node"].row(0, named=True)
    assert json.loads(first["labels"]) == labels
    assert json.loads(first["taints"]) == [{"key": "gpu", "value": "", "effect": "NoSchedule"}]
    assert found.rows("node_resource", "node", "resource", "amount", "unit")[:4] == [
        ("n1", "cpu", 7.91, "cores"),
        ("n1", "memory", 1024.0, "bytes"),
        ("n1", "gpu", 4.0, "count"),
        ("n1", "disk", 1000.0, "bytes"),
    ]


OWNERS = [
    (owned("ReplicaSet", "web-7d4b9c6f5d"), "default/web", 0),
    ({**owned("ReplicaSet", "web-abc"), "labels": {"pod-template-hash": "abc"}}, "default/web", 0),
    (owned("ReplicaSet", "by-hand"), "default/by-hand", 0),
    (owned("StatefulSet", "db"), "default/db", 0),
    (owned("Job", "backup-29012345"), "default/backup", 0),
    ({**owned("Job", "train-run-3"), "labels": {"app": "train"}}, "default/train-run", 0),
    ({**owned("Job", "run-3"), "labels": {"app.kubernetes.io/name": "run"}}, "default/run", 0),
    (
        {**owned("Job", "set-worker-0"), "labels": {"jobset.sigs.k8s.io/jobset-name": "set"}},
        "default/set-worker",
        0,
    ),
    # nothing says that these belong to others
    (owned("Job", "train-run-3"), "default/train-run-3", 0),
    ({**owned("Job", "load-2024"), "labels": {"app": "etl"}}, "default/load-2024", 0),
    ({**owned("Job", "train-run-x"), "labels": {"app": "train"}}, "default/train-run-x", 0),
    ({**owned("Job", "trainer-3"), "labels": {"app": "train"}}, "default/trainer-3", 0),
    (owned("DaemonSet", "agent"), "default/agent", 1),
    (owned("Node", "n1"), "default/web-1", 1),
    ({}, "default/web-1", 0),
]


@pytest.mark.parametrize(("meta", "service", "daemon"), OWNERS)
def test_the_service_is_what_owns_the_pod(
    tmp_path: Path, meta: Mapping[str, Any], service: str, daemon: int
) -> None:
    found = _read(tmp_path, pod(meta=meta))
    assert found.rows("container", "service", "daemon") == [(service, daemon)]


@pytest.mark.parametrize("document", [listed(), listed(kind="PodList")])
def test_a_list_of_nothing_is_refused(tmp_path: Path, document: Object) -> None:
    path = written(tmp_path / "kubernetes.json", document)
    with pytest.raises(TracekitError, match="neither nodes nor pods: wrong context") as caught:
        ingest(path, tmp_path / "store")
    assert "kubectl config current-context" in str(caught.value.hint)


def test_a_list_of_nothing_beside_nodes_is_none_of_these(tmp_path: Path) -> None:
    """No budget in the cluster: kubectl get pdb -A -o json prints an empty list."""
    folder = tmp_path / "made"
    folder.mkdir()
    written(folder / "kubernetes.json", listed(node("n1"), pod(nodeName="n1")))
    written(folder / "pdb.json", listed())
    assert len(ingest(folder, tmp_path / "store").ingested) == 5


def _ended(phase: str, **status: Any) -> dict[str, Any]:
    return {"phase": phase, **status}


def _at(hour: int) -> str:
    return f"2026-01-01T{hour:02}:00:00Z"


LIVES: list[tuple[str, dict[str, Any], int | None]] = [
    ("running stays", _ended("Running"), None),
    (
        "the last container that finished",
        _ended(
            "Succeeded",
            containerStatuses=[
                {"state": {"terminated": {"finishedAt": _at(2)}}},
                {"state": {"terminated": {"finishedAt": _at(1)}}},
            ],
        ),
        2,
    ),
    (
        "evicted, without containers: the latest time it speaks of",
        _ended("Failed", startTime=_at(1), conditions=[{"lastTransitionTime": _at(3)}]),
        3,
    ),
]


@pytest.mark.parametrize(("_", "status", "hours"), LIVES, ids=[case[0] for case in LIVES])
def test_a_pod_that_ended_departs(
    tmp_path: Path, _: str, status: dict[str, Any], hours: int | None
) -> None:
    found = _read(tmp_path, pod(status=status))
    departure = None if hours is None else CREATED_MS + hours * 3_600_000
    assert found.rows("container", "time_ms", "departure_ms") == [(CREATED_MS, departure)]


def test_rules_about_where_a_pod_may_run(tmp_path: Path) -> None:
    own = {"labelSelector": {"matchLabels": {"app": "web"}}}
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]},
                ]
            }
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {**own, "topologyKey": "topology.kubernetes.io/zone"},
                {**own, "topologyKey": "kubernetes.io/hostname"},
                {**own, "topologyKey": "example.com/unknown"},
            ]
        },
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "x/rack"},
            ]
        },
    }
    found = _read(
        tmp_path,
        pod(
            meta={"labels": {"app": "web"}},
            nodeSelector={"disk": "ssd"},
            affinity=affinity,
            tolerations=[{"operator": "Exists"}],
            priority=7,
        ),
    )
    row = found.tables["container"].row(0, named=True)
    disk = {"key": "disk", "operator": "In", "values": ["ssd"]}
    assert json.loads(row["selector"]) == [
        [disk, {"key": "a", "operator": "Exists", "values": []}],
        [disk, {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n"]}],
    ]
    assert json.loads(row["tolerations"]) == [
        {"key": "", "operator": "Exists", "value": "", "effect": ""}
    ]
    stated = [(one["kind"], one["topologyKey"]) for one in json.loads(row["rules"])]
    assert stated == [
        ("podAntiAffinity", "topology.kubernetes.io/zone"),
        ("podAntiAffinity", "kubernetes.io/hostname"),
        ("podAntiAffinity", "example.com/unknown"),
        ("podAffinity", "x/rack"),
    ]
    assert (row["namespace"], row["labels"]) == ("default", '{"app": "web"}')
    assert (row["host_ports"], row["priority"]) == (None, 7)


def test_a_gang_is_what_a_pod_group_says(tmp_path: Path) -> None:
    label = {"labels": {"scheduling.x-k8s.io/pod-group": "train"}}
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"minMember": 3},
    }
    found = _read(tmp_path, pod(meta=label), group)
    assert found.rows("container", "gang", "gang_minimum") == [("default/train", 3)]


def test_a_watch_log_leaves_each_pod_as_it_was_last_and_keeps_lives_apart(tmp_path: Path) -> None:
    first = pod("db-0", meta={"uid": "one"})
    gone = pod("db-0", meta={"uid": "one", "deletionTimestamp": _at(1)}, nodeName="n1")
    second = pod("db-0", meta={"uid": "two", "creationTimestamp": _at(2)}, nodeName="n1")
    events = [
        ("ADDED", node("n1")),
        ("ADDED", first),
        ("DELETED", gone),
        ("ADDED", second),
        ("BOOKMARK", {"kind": "Pod", "metadata": {}}),
    ]
    lines = [json.dumps({"type": event, "object": thing}) for event, thing in events]
    path = written(tmp_path / "watch.json", "\n".join(lines))
    assert recognised(path) == [(NAME, "objects")]
    found = read(NAME, path)
    hour = 3_600_000
    assert found.rows("container", "container", "time_ms", "departure_ms", "node") == [
        ("default/db-0", CREATED_MS, CREATED_MS + hour, "n1"),
        ("default/db-0@two", CREATED_MS + 2 * hour, None, "n1"),
    ]
    assert found.broken == []


def test_a_watch_log_keeps_what_changed_of_a_node_since_when(tmp_path: Path) -> None:
    """Resized after an hour, cordoned after two; an event that changes nothing adds no row."""

    def at(hour: int, cores: str, *, closed: bool = False) -> Object:
        made = node("n1", allocatable={"cpu": cores, "memory": "32Gi"})
        made["status"]["conditions"] = [{"type": "Ready", "lastHeartbeatTime": _at(hour)}]
        made["spec"] = {**made.get("spec", {}), "unschedulable": closed}
        return made

    hours = [(0, "8", False), (1, "16", False), (2, "16", True), (3, "16", True)]
    things = [at(hour, cores, closed=closed) for hour, cores, closed in hours]
    lines = [
        json.dumps({"type": "MODIFIED" if number else "ADDED", "object": thing})
        for number, thing in enumerate(things)
    ]
    found = read(NAME, written(tmp_path / "watch.json", "\n".join(lines)))
    hour = 3_600_000
    assert found.rows("node", "time_ms", "state") == [
        (CREATED_MS, "ready"),
        (CREATED_MS + 2 * hour, "closed"),
    ]
    sizes = found.rows("node_resource", "resource", "time_ms", "amount")
    assert [row[1:] for row in sizes if row[0] == "cpu"] == [
        (CREATED_MS, 8.0),
        (CREATED_MS + hour, 16.0),
    ]
    assert len([row for row in sizes if row[0] == "memory"]) == 1
    assert found.broken == []


def test_a_deletion_without_a_time_is_no_earlier_than_what_the_log_spoke_of_before(
    tmp_path: Path,
) -> None:
    later = pod("db-1", meta={"uid": "later", "creationTimestamp": _at(3)})
    events = [
        ("ADDED", pod("db-0", meta={"uid": "one"})),
        ("ADDED", later),
        ("DELETED", pod("db-0", meta={"uid": "one"})),
    ]
    lines = [json.dumps({"type": event, "object": thing}) for event, thing in events]
    found = read(NAME, written(tmp_path / "watch.json", "\n".join(lines)))
    assert found.rows("container", "container", "departure_ms") == [
        ("default/db-0", CREATED_MS + 3 * 3_600_000),
        ("default/db-1", None),
    ]


def test_an_error_of_the_watch_is_told_with_its_line(tmp_path: Path) -> None:
    error = {"kind": "Status", "code": 410, "message": "too old resource version: 1 (2)"}
    events = [("ADDED", pod("w-0")), ("ERROR", error), ("ADDED", pod("w-1"))]
    lines = [json.dumps({"type": event, "object": thing}) for event, thing in events]
    found = read(NAME, written(tmp_path / "watch.json", "\n".join(lines)))
    assert found.rows("container", "container") == [("default/w-0",), ("default/w-1",)]
    [(line, _, reason)] = found.reasons
    assert line == 2
    assert reason.startswith("is an error of the watch (too old resource version: 1 (2))")


def test_nodes_and_pods_may_lie_in_two_files(tmp_path: Path) -> None:
    nodes = written(tmp_path / "nodes.json", listed(node("n1"), kind="NodeList"))
    bare = {key: value for key, value in pod(nodeName="n1").items() if key != "kind"}
    document = {"kind": "PodList", "apiVersion": "v1", "items": [bare]}
    pods = written(tmp_path / "pods.json", document)
    found = read(NAME, pods, {"objects": (opened(nodes),)})
    assert found.rows("container", "container", "node") == [("default/web-1", "n1")]


TWICE = {"uid": "uid-web-1"}
BROKEN: list[tuple[str, Object, tuple[str | None, str]]] = [
    (
        "a pod on an unknown node",
        pod("lost", nodeName="n9"),
        ("node", "is 'n9', which no file describes"),
    ),
    (
        "a uid twice",
        pod("other", meta=TWICE),
        ("uid", "is 'uid-web-1', the uid of object 2, expected its own"),
    ),
    (
        "a request that is no quantity",
        pod("odd", containers=[container("lots")]),
        (None, "is 'lots', expected a quantity such as 100m or 2Gi"),
    ),
    (
        "an end before the beginning",
        pod(
            "back",
            status=_ended(
                "Failed",
                containerStatuses=[
                    {"state": {"terminated": {"finishedAt": "2025-12-31T23:59:59Z"}}}
                ],
            ),
        ),
        ("departure_ms", f"is {CREATED_MS - 1000}, before the arrival at {CREATED_MS}"),
    ),
    (
        "no time",
        pod("timeless", meta={"creationTimestamp": None}),
        (None, "has no creationTimestamp"),
    ),
    (
        "a time that is none",
        pod("when", meta={"creationTimestamp": "soon"}),
        (None, "time is 'soon', expected one such as 2026-01-01T00:00:00Z"),
    ),
    (
        "a number for a time",
        pod("when", meta={"creationTimestamp": 5}),
        (None, "time is '5', expected"),
    ),
    (
        "containers that are a text",
        pod("flat", containers="x"),
        (None, "has not the shape of a Pod: spec.containers is a text, expected a list"),
    ),
    (
        "a container that is a number",
        pod("flat", containers=[7]),
        (None, "has not the shape of a Pod: spec.containers.* is a number, expected an object"),
    ),
    (
        "a negative request",
        pod("owing", containers=[container("-500m")]),
        ("request", "of cpu of container main is -0.5, expected 0 or more"),
    ),
    (
        "a negative request beside a larger one",
        pod("owing", containers=[container("1"), container("-500m")]),
        ("request", "of cpu of container main is -0.5, expected 0 or more"),
    ),
    (
        "a negative request of an init container",
        pod("owing", containers=[container("1")], initContainers=[container("-5")]),
        ("request", "of cpu of container main is -5, expected 0 or more"),
    ),
    (
        "a negative overhead",
        pod("owing", containers=[container("1")], overhead={"cpu": "-500m"}),
        ("request", "of cpu of overhead is -0.5, expected 0 or more"),
    ),
    ("no object", {"kind": "Pod"}, (None, "is no object of Kubernetes")),
]


@pytest.mark.parametrize(("_", "thing", "told"), BROKEN, ids=[case[0] for case in BROKEN])
def test_what_is_broken_is_told_with_its_place_and_the_rest_is_kept(
    tmp_path: Path, _: str, thing: Object, told: tuple[str | None, str]
) -> None:
    found = _read(tmp_path, node("n1"), pod(nodeName="n1"), thing, pod("last", nodeName="n1"))
    assert found.rows("container", "container") == [("default/web-1",), ("default/last",)]
    [(line, column, reason)] = found.reasons
    assert (line, column) == (3, told[0])
    assert reason.startswith(told[1])


def test_a_node_keeps_what_of_its_sizes_can_be_used(tmp_path: Path) -> None:
    sizes = {"cpu": "-8", "memory": "lots", "pods": "110"}
    found = _read(tmp_path, node("n1", allocatable=sizes), pod(nodeName="n1"))
    assert found.rows("node", "node") == [("n1",)]
    assert found.rows("node_resource", "resource", "amount") == [("pods", 110.0)]
    assert found.rows("container", "node") == [("n1",)]
    assert found.reasons == [
        (1, "amount", "of cpu is -8, expected 0 or more"),
        (1, "amount", "of memory is 'lots', expected a quantity such as 100m or 2Gi"),
    ]


ITEM = re.compile(r'"name": "web-3"')


@pytest.mark.parametrize("indent", [None, 4])
@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (lambda text: text[: len(text) * 2 // 3], r"object \d is cut off"),
        (lambda text: text[:-2], "is cut off: the file ends before the list does"),
        (lambda text: ITEM.sub('"name: "web-3"', text), "object 4 is no JSON"),
    ],
    ids=["cut off", "without its end", "a quote is missing"],
)
def test_a_list_that_breaks_off_is_refused(
    tmp_path: Path, broken: Callable[[str], str], told: str, indent: int | None
) -> None:
    text = json.dumps(listed(*(pod(f"web-{at}") for at in range(9)))["items"], indent=indent)
    path = written(tmp_path / "cut.json", broken(f'{{"kind": "List", "items": {text}}}'))
    with pytest.raises(TracekitError, match=told):
        read(NAME, path)


def test_what_kubectl_refused_is_said_in_its_own_words(tmp_path: Path) -> None:
    said = {"kind": "Status", "apiVersion": "v1", "message": "nodes is forbidden", "code": 403}
    with pytest.raises(TracekitError, match="kubectl answered: nodes is forbidden"):
        ingest(written(tmp_path / "cluster.json", said), tmp_path / "store")
    page = written(tmp_path / "page.json", "<html>403 Forbidden</html>")
    with pytest.raises(TracekitError, match="a web page and no data; it says '403 Forbidden'"):
        ingest(page, tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_a_broken_line_of_a_watch_log_does_not_end_it(tmp_path: Path) -> None:
    whole = [json.dumps({"type": "ADDED", "object": pod(f"w-{at}")}) for at in range(3)]
    path = written(tmp_path / "watch.json", "\n".join([whole[0], whole[1][:80], whole[2]]))
    found = read(NAME, path)
    assert found.rows("container", "container") == [("default/w-0",), ("default/w-2",)]
    assert [line for line, _, _ in found.reasons] == [2]


MEASURED = {
    "kind": "PodMetricsList",
    "apiVersion": "metrics.k8s.io/v1beta1",
    "items": [
        {
            "metadata": {"name": "web-1", "namespace": "default"},
            "timestamp": "2026-01-01T00:00:30Z",
            "window": "15s",
            "containers": [
                {"usage": {"cpu": "12345678n", "memory": "1234Ki"}},
                {"usage": {"cpu": "1m", "memory": "1Mi"}},
            ],
        },
        {"metadata": {"name": "n1"}, "timestamp": "2026-01-01T00:00:30Z", "usage": {"cpu": "2"}},
        {"metadata": {"name": "n2"}, "timestamp": "2026-01-01T00:00:30Z", "usage": {"cpu": "much"}},
        {"metadata": {"name": "n3"}, "usage": {"cpu": "2"}},
    ],
}


def test_metrics_server_gives_one_sample_of_each(tmp_path: Path) -> None:
    found = read(NAME, written(tmp_path / "metrics.json", MEASURED))
    columns = ("time_ms", "container", "resource", "amount", "unit")
    assert found.rows("container_amount", *columns) == [
        (CREATED_MS + 30_000, "default/web-1", "cpu", 0.013345678, "cores"),
        (CREATED_MS + 30_000, "default/web-1", "memory", 1234 * 1024 + 2**20, "bytes"),
    ]
    assert found.rows("node_amount", "node", "amount") == [("n1", 2.0)]
    assert [line for line, _, _ in found.reasons] == [3, 4]


@pytest.mark.parametrize(
    "document",
    [
        {"pods": [], "nodes": []},
        {"time": "2026-01-01", "event": "Add", "resource": {"kind": "Pod"}},
        {"apiVersion": "apps/v1", "kind": "Deployment"},
        {"resourceSpans": []},
        {"data": [{"traceID": "x"}]},
    ],
)
def test_other_documents_are_not_taken(tmp_path: Path, document: Any) -> None:
    assert not {("kubernetes", word) for word in ("objects", "range", "export")} & set(
        recognised(written(tmp_path / "x.json", document))
    )
