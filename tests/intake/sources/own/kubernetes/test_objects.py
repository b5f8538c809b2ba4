"""Nodes and pods that kubectl printed: sizes, owners, lives, rules; what is broken is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from kubernetes_reading import NAME, ended, read_list
from kubernetes_support import (
    CREATED_MS,
    Object,
    listed,
    node,
    owned,
    pod,
    written,
)
from reading_support import opened, read, recognised

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest


def test_a_node_has_its_place_its_labels_and_all_its_resources(tmp_path: Path) -> None:
    labels = {
        "topology.kubernetes.io/zone": "z1",
        "topology.example.com/rack": "r7",
        "node.kubernetes.io/instance-type": "m5.large",
    }
    taints = [{"key": "gpu", "effect": "NoSchedule"}]
    amounts = {"cpu": "7910m", "memory": "1Ki", "nvidia.com/gpu": "4", "ephemeral-storage": "1k"}
    found = read_list(
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
    found = read_list(tmp_path, pod(meta=meta))
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


def _at(hour: int) -> str:
    return f"2026-01-01T{hour:02}:00:00Z"


LIVES: list[tuple[str, dict[str, Any], int | None]] = [
    ("running stays", ended("Running"), None),
    (
        "the last container that finished",
        ended(
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
        ended("Failed", startTime=_at(1), conditions=[{"lastTransitionTime": _at(3)}]),
        3,
    ),
]


@pytest.mark.parametrize(("_", "status", "hours"), LIVES, ids=[case[0] for case in LIVES])
def test_a_pod_that_ended_departs(
    tmp_path: Path, _: str, status: dict[str, Any], hours: int | None
) -> None:
    found = read_list(tmp_path, pod(status=status))
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
    found = read_list(
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
        [disk, {"key": "metadata.name", "operator": "In", "values": ["n"]}],
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
    found = read_list(tmp_path, pod(meta=label), group)
    assert found.rows("container", "gang", "gang_minimum") == [("default/train", 3)]


def test_a_gang_is_what_a_pod_says_of_its_group(tmp_path: Path) -> None:
    """By the fields of Kubernetes 1.35 and of 1.36; a group that is no gang needs one."""

    def group(kind: str, name: str, spec: Object) -> Object:
        return {"kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}

    found = read_list(
        tmp_path,
        pod("a", schedulingGroup={"podGroupName": "train"}),
        pod("b", schedulingGroup={"podGroupName": "loose"}),
        pod("c", workloadRef={"name": "job", "podGroup": "workers"}),
        group("PodGroup", "train", {"schedulingPolicy": {"gang": {"minCount": 4}}}),
        group("PodGroup", "loose", {"schedulingPolicy": {"basic": {}}}),
        group(
            "Workload",
            "job",
            {"podGroups": [{"name": "workers", "policy": {"gang": {"minCount": 2}}}]},
        ),
    )
    assert found.rows("container", "gang", "gang_minimum", "not_held") == [
        ("default/train", 4, None),
        ("default/loose", 1, None),
        ("default/job/workers", 2, None),
    ]


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


def test_nodes_and_pods_may_lie_in_two_files(tmp_path: Path) -> None:
    nodes = written(tmp_path / "nodes.json", listed(node("n1"), kind="NodeList"))
    bare = {key: value for key, value in pod(nodeName="n1").items() if key != "kind"}
    document = {"kind": "PodList", "apiVersion": "v1", "items": [bare]}
    pods = written(tmp_path / "pods.json", document)
    found = read(NAME, pods, {"objects": (opened(nodes),)})
    assert found.rows("container", "container", "node") == [("default/web-1", "n1")]


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
    assert found.reasons[0][1:] == (
        "amount",
        "of cpu is 'much', expected a quantity such as 100m or 2Gi",
    )
