"""Names and labels of series, as exporters of any age and Prometheus itself call them."""

from __future__ import annotations

from pathlib import Path

import pytest
from kubernetes_support import written
from reading_support import read
from series_support import MEMORY, NAME, Made, amounts_of, as_dump, at_times

from tracekit.intake.sources.own._prometheus.lines import Known, labels_of


def test_labels_from_before_kubernetes_1_16_are_those_of_now(tmp_path: Path) -> None:
    old = {"namespace": "default", "pod_name": "web-1", "container_name": "main"}
    found = read(NAME, written(tmp_path / "dump.txt", as_dump([(MEMORY, old, at_times(7, 8))])))
    assert [(row[1], row[3]) for row in amounts_of(found)] == [
        ("default/web-1", 7.0), ("default/web-1", 8.0),
    ]  # fmt: skip


def test_labels_that_prometheus_renamed_are_those_of_the_pod(tmp_path: Path) -> None:
    """Without honor_labels ``pod`` is that of kube-state-metrics itself."""
    own = {"namespace": "monitoring", "pod": "ksm-0", "container": "ksm", "node": "n9"}
    made: list[Made] = []
    for name in ("web-1", "web-2"):
        about = {"exported_namespace": "shop", "exported_pod": name, "uid": name}
        on = {**own, **about, "exported_node": "n1"}
        size = {"exported_container": "main", "resource": "cpu", "unit": "core"}
        made += [
            ("kube_pod_info", on, at_times(1, 1)),
            ("kube_pod_container_resource_requests", {**on, **size}, at_times(0.5, 0.5)),
        ]
    size = {"resource": "cpu", "unit": "core", "exported_node": "n1"}
    made.append(("kube_node_status_allocatable", {**own, **size}, at_times(8, 8)))
    found = read(NAME, written(tmp_path / "dump.txt", as_dump(made)))
    assert sorted(found.rows("container", "container", "node")) == [
        ("shop/web-1", "n1"),
        ("shop/web-2", "n1"),
    ]
    assert found.rows("node", "node") == [("n1",)]


HEADS: list[tuple[bytes, Known]] = [
    (b'{"my.metric", pod="a"}', ("my.metric", {"pod": "a"})),
    (b'{pod="a", "my.metric"}', ("my.metric", {"pod": "a"})),
    (b'{"my.metric"}', ("my.metric", {})),
    (b'{__name__="up", "label.name"="x, y=\\"z\\""}', ("up", {"label.name": 'x, y="z"'})),
    (b'up{"a b"="1",c="2"}', ("up", {"a b": "1", "c": "2"})),
    (b'up{"my.metric"}', None),
    (b"{up}", None),
    (b"{pod=a}", None),
]


@pytest.mark.parametrize(("head", "expected"), HEADS)
def test_names_of_any_letters_are_quoted(head: bytes, expected: Known) -> None:
    assert labels_of(head) == expected


_OF_EXPORTER = {"namespace": "monitoring", "pod": "cadvisor-x", "container": "cadvisor"}
_OF_WEB = {"exported_namespace": "shop", "exported_pod": "web"}
_CGROUP = "/kubepods/burstable/pod0a-1b"
MEASURED: list[tuple[str, dict[str, str], set[tuple[str, float]]]] = [
    ("container", {**_OF_WEB, "exported_container": "main"}, {("shop/web", 7.0)}),
    ("as before", {}, {("monitoring/cadvisor-x", 7.0)}),
    # the cgroup around the containers would count as one of them, called as the exporter's
    ("cgroup of the pod", {**_OF_WEB, "id": _CGROUP}, {("shop/web", 7.0)}),
    ("machine", {"id": "/"}, set()),
    ("service of the machine", {"id": "/system.slice/podman.service"}, set()),
    ("own", {"id": f"{_CGROUP}/1f"}, {("monitoring/cadvisor-x", 7.0)}),
]


@pytest.mark.parametrize(
    ("more", "expected"), [case[1:] for case in MEASURED], ids=[case[0] for case in MEASURED]
)
def test_use_is_of_whom_it_is_measured_and_not_of_its_exporter(
    tmp_path: Path, more: dict[str, str], expected: set[tuple[str, float]]
) -> None:
    made: list[Made] = [(MEMORY, {**_OF_EXPORTER, **more}, at_times(7, 7))]
    found = read(NAME, written(tmp_path / "dump.txt", as_dump(made)))
    measured = amounts_of(found) if expected else []
    assert {(row[1], row[3]) for row in measured} == expected
    assert bool(found.tables) == bool(expected)


def test_a_cgroup_around_containers_is_no_container_of_its_own(tmp_path: Path) -> None:
    web = {**_OF_EXPORTER, **_OF_WEB}
    made: list[Made] = [
        (MEMORY, {**web, "exported_container": "main", "id": f"{_CGROUP}/1f"}, at_times(7, 7)),
        (MEMORY, {**web, "id": _CGROUP}, at_times(8, 8)),
    ]
    found = read(NAME, written(tmp_path / "dump.txt", as_dump(made)))
    assert {(row[1], row[3]) for row in amounts_of(found)} == {("shop/web", 7.0)}
