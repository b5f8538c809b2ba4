"""Whose use a series is: of nodes by any name, of lives of pods, beside what kubectl printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kubernetes_support import listed, node, pod, written
from reading_support import read
from series_support import (
    CLUSTER,
    MEMORY,
    MS,
    NAME,
    START,
    Made,
    Sample,
    amounts_of,
    answered,
    as_dump,
    as_range,
    at_times,
    files_beside,
    of_pod,
)


def test_a_node_uses_what_it_is_not_idle_with_and_memory_that_is_not_available(
    tmp_path: Path,
) -> None:
    at = {"instance": "10.0.0.1:9100"}
    made: list[Made] = [
        ("node_cpu_seconds_total", {**at, "cpu": "0", "mode": "user"}, at_times(0, 15)),
        ("node_cpu_seconds_total", {**at, "cpu": "1", "mode": "system"}, at_times(0, 3)),
        ("node_cpu_seconds_total", {**at, "cpu": "1", "mode": "idle"}, at_times(0, 27)),
        ("node_memory_MemTotal_bytes", at, [*at_times(100, 100), (START + 400, 100)]),
        ("node_memory_MemAvailable_bytes", at, at_times(40, 30)),
        ("node_uname_info", {**at, "nodename": "n1"}, at_times(1, 1)),
    ]
    found = read(NAME, written(tmp_path / "dump.txt", as_dump(made)))
    assert sorted(row[1:4] for row in amounts_of(found, "node")) == [
        ("n1", "cpu", pytest.approx(0.6)),
        ("n1", "memory", 60.0),
        ("n1", "memory", 70.0),
    ]
    [(_, _, reason)] = found.reasons
    assert reason.startswith("has 1 times with one of two metrics")


@pytest.mark.parametrize("by", ["kubectl", "Prometheus"])
def test_the_network_of_a_host_is_not_its_pods(tmp_path: Path, by: str) -> None:
    """A pod on the network of its host is seen with all that passes there."""
    metric, labels = "container_network_receive_bytes_total", {"interface": "eth0"}
    made: list[Made] = [
        (metric, of_pod(name, None, **labels), at_times(0, 3000, 6000))
        for name in ("proxy", "web-1")
    ]
    info = (
        "kube_pod_info",
        of_pod("proxy", None, uid="u", node="n1", host_network="true"),
        at_times(1),
    )
    seen = [info] if by == "Prometheus" else []
    path = written(tmp_path / "dump.txt", as_dump([*made, *seen]))
    pods = [pod("proxy", hostNetwork=by == "kubectl"), pod("web-1")]
    printed = written(tmp_path / "pods.json", listed(node("n1"), *pods))
    found = read(NAME, path, files_beside(printed, path))
    assert {row[1] for row in amounts_of(found)} == {"default/web-1"}


def _printed_node(name: str, address: str) -> dict[str, Any]:
    printed = node(name)
    printed["status"]["addresses"] = [{"type": "InternalIP", "address": address}]
    return printed


#: Names of two nodes with their addresses; labels of an exporter; which node that is.
CALLED = [
    (("a.corp", "b.corp"), {"nodename": "a"}, "a.corp"),
    (("a", "b"), {"nodename": "a.corp"}, "a"),
    (("a.corp", "b.corp"), {"node": "b.corp"}, "b.corp"),
    (("a.corp", "b.corp"), {"instance": "10.0.0.2:9100"}, "b.corp"),
    (("a.one", "a.two"), {"nodename": "a"}, None),
    (("a.one", "a.two"), {"nodename": "a.three"}, None),
    (("a.corp", "b.corp"), {"nodename": "c"}, None),
    (("a.corp", "b.corp"), {"instance": "10.0.0.9:9100"}, None),
]


@pytest.mark.parametrize(("names", "labels", "wanted"), CALLED)
def test_a_node_is_met_by_its_host_or_address_or_told(
    tmp_path: Path, names: tuple[str, str], labels: dict[str, str], wanted: str | None
) -> None:
    nodes = [_printed_node(name, f"10.0.0.{at}") for at, name in enumerate(names, 1)]
    printed = written(tmp_path / "nodes.json", listed(*nodes))
    made = answered("node_cpu_in_use", [(labels, at_times(2.0, 3.0))])
    path = written(tmp_path / "node_cpu_in_use.json", made)
    found = read(NAME, path, files_beside(printed, path))
    if wanted is None:
        [(_, column, reason)] = found.reasons
        assert column == "node"
        assert "which no file describes" in reason
        assert "node_amount" not in found.tables
    else:
        assert [(row[1], row[3]) for row in amounts_of(found, "node")] == [
            (wanted, 2.0), (wanted, 3.0)
        ]  # fmt: skip


def test_two_lives_of_a_name_are_two_containers_and_its_use_belongs_to_the_one_at_the_time(
    tmp_path: Path,
) -> None:
    def info(uid: str, where: str, first: int, last: int) -> Made:
        times: list[Sample] = [(START + 30 * at, 1) for at in range(first, last)]
        return ("kube_pod_info", of_pod("db-0", None, uid=uid, node=where), times)

    made: list[Made] = [
        info("one", "n1", 0, 3),
        info("two", "n2", 3, 9),
        (MEMORY, of_pod("db-0"), at_times(*range(1, 10))),
    ]
    found = read(NAME, written(tmp_path / "all.json", as_range(made)))
    columns = ("container", "node", "time_ms", "departure_ms")
    assert found.rows("container", *columns) == [
        ("default/db-0", "n1", START * MS, (START + 60) * MS),
        ("default/db-0@two", "n2", (START + 90) * MS, None),
    ]
    counts = found.tables["container_amount"].group_by("container").len().sort("container")
    assert counts.rows() == [("default/db-0", 3), ("default/db-0@two", 6)]


def test_what_kubectl_printed_is_not_said_again_and_what_it_did_not_print_is_added(
    tmp_path: Path,
) -> None:
    printed = written(tmp_path / "cluster.json", listed(node("n1"), pod("web-1", nodeName="n1")))
    made: list[Made] = [
        ("kube_node_status_allocatable", {"node": "n1", "resource": "cpu"}, at_times(8)),
        ("kube_node_status_allocatable", {"node": "n2", "resource": "cpu"}, at_times(8)),
        ("kube_pod_info", of_pod("web-1", None, uid="uid-web-1", node="n1"), at_times(1)),
        ("kube_pod_info", of_pod("gone-1", None, uid="g", node="n2"), at_times(1)),
        ("kube_pod_info", of_pod("lost-1", None, uid="l", node="n7"), at_times(1)),
    ]
    recorded = written(tmp_path / "series.json", as_range(made))
    found = read(NAME, recorded, files_beside(printed, recorded))
    assert found.rows("node", "node") == [("n2",)]
    assert found.rows("container", "container") == [("default/gone-1",)]
    assert found.reasons == [(5, "node", "is 'n7', which no file describes")]


def test_a_size_in_one_file_belongs_to_the_pod_of_another(tmp_path: Path) -> None:
    """Each of the fetched files holds one metric; together they give what one file would."""
    names = sorted({name for name, _, _ in CLUSTER})
    paths = [
        written(tmp_path / f"{at:02}.json", as_range([one for one in CLUSTER if one[0] == name]))
        for at, name in enumerate(names)
    ]
    parts = [read(NAME, path, files_beside(*paths)) for path in paths]
    sizes = [
        row
        for one in parts
        if "container_resource" in one.tables
        for row in one.rows("container_resource", "request", "limit")
    ]
    assert sizes == [(2.125, None)]
