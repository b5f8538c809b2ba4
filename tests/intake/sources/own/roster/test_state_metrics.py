"""Nodes and pods as kube-state-metrics recorded them: ends, lives, sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from kubernetes_support import listed, node, pod, written
from reading_support import read, recognised
from series_support import (
    CLUSTER,
    FORMS,
    MS,
    NAME,
    START,
    Made,
    as_dump,
    as_range,
    at_times,
    files_beside,
    of_pod,
)


def _phases(uid: str | None, phase: str, since: int, *, samples: int = 9) -> list[Made]:
    """All phases of a pod, as kube-state-metrics reports them: it is Running before."""
    labels = {} if uid is None else {"uid": uid}
    return [
        (
            "kube_pod_status_phase",
            of_pod("web-1", None, phase=one, **labels),
            at_times(
                *(float((phase if at >= since else "Running") == one) for at in range(samples))
            ),
        )
        for one in ("Pending", "Running", "Succeeded", "Failed", "Unknown")
    ]


@pytest.mark.parametrize(("word", "name", "form"), FORMS, ids=[case[1] for case in FORMS])
@pytest.mark.parametrize(
    ("phases", "completed_s", "left_s"),
    [
        (_phases("u", "Failed", 3), None, START + 90),
        (_phases("u", "Succeeded", 4), None, START + 120),
        (_phases("u", "Succeeded", 4), START + 95, START + 95),
        (_phases("u", "Failed", 0), None, START),
        (_phases(None, "Failed", 3), None, START + 90),
        (_phases("u", "Running", 0), None, None),
        (_phases("u", "Unknown", 2), None, None),
    ],
    ids=["evicted", "succeeded", "finished", "before", "without uid", "running", "lost"],
)
def test_a_pod_that_failed_or_succeeded_departs_however_long_it_is_reported(
    tmp_path: Path,
    word: str,
    name: str,
    form: Callable[[Sequence[Made]], str],
    phases: list[Made],
    completed_s: int | None,
    left_s: int | None,
) -> None:
    end = [completed_s] * 9 if completed_s else []
    made: list[Made] = [
        ("kube_pod_info", of_pod("web-1", None, uid="u", node="n1"), at_times(*[1] * 9)),
        *phases,
        *(
            [("kube_pod_completion_time", of_pod("web-1", None, uid="u"), at_times(*end))]
            if end
            else []
        ),
    ]
    found = read(NAME, written(tmp_path / name, form(made)))
    assert recognised(tmp_path / name) == [(NAME, word)]
    assert found.broken == []
    assert found.rows("container", "container", "departure_ms") == [
        ("default/web-1", None if left_s is None else left_s * MS)
    ]


def test_of_two_lives_the_one_that_was_there_failed(tmp_path: Path) -> None:
    """Its phase was recorded without the uid."""
    failed = [(START + 30 * at, float(at == 2)) for at in range(3)]
    made: list[Made] = [
        ("kube_pod_info", of_pod("web-1", None, uid="one", node="n1"), at_times(1, 1, 1, 1)),
        ("kube_pod_info", of_pod("web-1", None, uid="two", node="n1"), at_times(*[1] * 9)[5:]),
        ("kube_pod_status_phase", of_pod("web-1", None, phase="Failed"), failed),
    ]
    found = read(NAME, written(tmp_path / "all.json", as_range(made)))
    assert found.rows("container", "container", "departure_ms") == [
        ("default/web-1", (START + 60) * MS),
        ("default/web-1@two", None),
    ]


def test_sizes_that_the_scheduler_states_hold(tmp_path: Path) -> None:
    whole: Made = (
        "kube_pod_resource_request",
        {"namespace": "default", "pod": "web-1", "resource": "cpu", "unit": "cores"},
        at_times(3, 3),
    )
    found = read(NAME, written(tmp_path / "all.json", as_range([*CLUSTER, whole])))
    assert found.rows("container_resource", "container", "request") == [("default/web-1", 3.0)]


#: What is recorded of init containers beside 0.5 and 0.25 cores of two containers, 0.125 of
#: overhead and an init container of 2: request, init, own request.
SIDECARS: list[tuple[list[Made], float, float, float]] = [
    ([], 2.125, 2.0, 0.75),
    ([("kube_pod_init_container_info", of_pod(container="init", uid="u", restart_policy="Never"),
       at_times(1, 1))], 2.125, 2.0, 0.75),
    # it goes on running, and leaves no init container
    ([("kube_pod_init_container_info", of_pod(container="init", uid="u", restart_policy="Always"),
       at_times(1, 1))], 2.875, 0.0, 2.75),
    # one more that goes on: the other counts beside it
    ([("kube_pod_init_container_info", of_pod(container="proxy", uid="u", restart_policy="Always"),
       at_times(1, 1)),
      ("kube_pod_init_container_resource_requests",
       of_pod(container="proxy", uid="u", resource="cpu"), at_times(0.5, 0.5))], 2.625, 2.5, 1.25),
]  # fmt: skip


@pytest.mark.parametrize(("more", "request_cores", "init_cores", "own_cores"), SIDECARS)
def test_sidecars_are_no_init_containers(
    tmp_path: Path, more: list[Made], request_cores: float, init_cores: float, own_cores: float
) -> None:
    found = read(NAME, written(tmp_path / "all.json", as_range([*CLUSTER, *more])))
    assert found.rows("container_resource", "request") == [(request_cores,)]
    init = init_cores or None
    assert found.rows("fixed_request", "init", "overhead", "own_request") == [
        (init, 0.125, own_cores)
    ]


def test_a_part_below_zero_makes_the_request_a_reject(tmp_path: Path) -> None:
    """It was taken off the rest."""
    less: Made = (
        "kube_pod_container_resource_requests",
        of_pod(container="odd", uid="u", resource="cpu"),
        at_times(-0.5, -0.5),
    )
    found = read(NAME, written(tmp_path / "all.json", as_range([*CLUSTER, less])))
    assert found.rows("container_resource", "request") == [(-0.5,)]
    assert "fixed_request" not in found.tables


def test_a_node_is_closed_from_the_time_on_at_which_it_was_cordoned(tmp_path: Path) -> None:
    """Two Prometheus saw it; n2 is opened again, n3 was closed all the time."""
    taint = {"key": "node.kubernetes.io/unschedulable", "value": "", "effect": "NoSchedule"}
    shut = {"n1": (0, 0, 1, 1), "n2": (0, 1, 1, 0), "n3": (1, 1, 1, 1)}
    made: list[Made] = []
    for at, replica in enumerate(("a", "b")):
        for name, values in shut.items():
            labels = {"node": name, "prometheus_replica": replica}
            times = [(time + at, value) for time, value in at_times(*values)]
            made.append(("kube_node_spec_unschedulable", labels, times))
            if values[-1]:
                made.append(
                    ("kube_node_spec_taint", {**labels, **taint}, [(time, 1) for time, _ in times])
                )
    found = read(NAME, written(tmp_path / "dump.txt", as_dump(made)))
    rows = found.tables["node"].sort("node", "time_ms").select("node", "time_ms", "state").rows()
    assert rows == [
        ("n1", START * MS, "ready"), ("n1", (START + 60) * MS, "closed"),
        ("n2", START * MS, "ready"), ("n2", (START + 30) * MS, "closed"),
        ("n2", (START + 90) * MS, "ready"),
        ("n3", START * MS, "closed"),
    ]  # fmt: skip
    marks = found.tables["node"].filter(node="n1").sort("time_ms")["taints"].to_list()
    assert marks[0] is None
    assert "unschedulable" in marks[1]


NODES: list[Made] = [
    ("kube_node_status_allocatable", {"node": name, "resource": "cpu"}, at_times(8, 8))
    for name in ("n1", "n2")
]
ADDRESSES: dict[str, Made] = {
    "kube_node_info": ("kube_node_info", {"node": "n1", "internal_ip": "10.0.0.1"}, at_times(1, 1)),
    "kube_node_status_addresses": (
        "kube_node_status_addresses",
        {"node": "n1", "type": "InternalIP", "address": "10.0.0.1"},
        at_times(1, 1),
    ),
    "kube_pod_info": (
        "kube_pod_info",
        of_pod(container=None, uid="u", node="n1", host_ip="10.0.0.1"),
        at_times(1, 1),
    ),
}
BUSY: list[Made] = [
    ("node_cpu_seconds_total", {"instance": instance, "cpu": "0", "mode": "user"}, at_times(0, 15))
    for instance in ("10.0.0.1:9100", "n2")
]


@pytest.mark.parametrize("metric", sorted(ADDRESSES))
def test_an_exporter_is_met_by_an_address_that_kube_state_metrics_knows(
    tmp_path: Path, metric: str
) -> None:
    made = [*NODES, ADDRESSES[metric], *BUSY]
    found = read(NAME, written(tmp_path / "dump.txt", as_dump(made)))
    assert sorted(found.rows("node_amount", "node", "amount")) == [("n1", 0.5), ("n2", 0.5)]
    assert found.reasons == []


def test_an_address_that_two_nodes_had_is_nobody_s(tmp_path: Path) -> None:
    other: Made = ("kube_node_info", {"node": "n2", "internal_ip": "10.0.0.1"}, at_times(1, 1))
    made = [*NODES, ADDRESSES["kube_node_info"], other, *BUSY]
    found = read(NAME, written(tmp_path / "dump.txt", as_dump(made)))
    assert found.rows("node_amount", "node") == [("n2",)]
    assert [reason.split(",")[0] for _, _, reason in found.reasons] == ["is '10.0.0.1'"]


def test_the_host_of_an_exporter_may_have_no_port(tmp_path: Path) -> None:
    named: Made = ("node_uname_info", {"instance": "10.0.0.1", "nodename": "n1"}, at_times(1, 1))
    bare: Made = ("node_cpu_seconds_total", {**BUSY[0][1], "instance": "10.0.0.1"}, BUSY[0][2])
    found = read(NAME, written(tmp_path / "dump.txt", as_dump([*NODES, named, bare])))
    assert found.rows("node_amount", "node") == [("n1",)]


def test_static_pods_of_a_node_are_services_of_their_own(tmp_path: Path) -> None:
    """They were one service, called as the node, where kubectl printed no pod."""
    made: list[Made] = [
        (
            "kube_pod_info",
            of_pod(
                f"{name}-n1",
                None,
                node="n1",
                created_by_kind="Node",
                created_by_name="n1",
                uid=name,
            ),
            at_times(1, 1),
        )
        for name in ("etcd", "proxy")
    ]
    found = read(NAME, written(tmp_path / "dump.txt", as_dump([*NODES, *made])))
    assert found.rows("container", "service", "daemon") == [
        ("default/etcd", 1), ("default/proxy", 1)
    ]  # fmt: skip


def test_an_evicted_pod_that_says_only_when_it_began_failed_when_that_was_seen(
    tmp_path: Path,
) -> None:
    """It left at its start, and its use went on."""
    evicted = pod("web-1", nodeName="n1", status={"phase": "Failed", "reason": "Evicted"})
    mine = written(tmp_path / "list.json", listed(node("n1"), evicted))
    seen = written(tmp_path / "dump.txt", as_dump(_phases("uid-web-1", "Failed", 6)))
    found = read(NAME, mine, files_beside(mine, seen))
    assert found.rows("container", "departure_ms") == [((START + 180) * MS,)]
    alone = read(NAME, mine)
    assert alone.rows("container", "departure_ms") == [(START * MS,)]
