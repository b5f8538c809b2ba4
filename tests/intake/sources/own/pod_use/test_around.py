"""Cgroups around the containers of a pod: counted where no container is seen, else not again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from kubernetes_support import written
from reading_support import read
from series_support import (
    MEMORY,
    NAME,
    Made,
    amounts_of,
    answered,
    as_dump,
    as_export,
    at_times,
    files_beside,
    of_pod,
)

RATE = "container_cpu_usage_seconds_total"


#: What rate() gives of a pod: its container, its sandbox, and the cgroup around both.
KEPT_APART: dict[str, tuple[dict[str, str], ...]] = {
    "all labels": (
        {"container": "main", "id": "/kubepods/pod1/a"},
        {"container": "POD", "id": "/kubepods/pod1/b"},
        {"id": "/kubepods/pod1"},
    ),
    "summed by container": ({"container": "main"}, {"container": "POD"}, {}),
    "the cgroup first": ({}, {"container": "POD"}, {"container": "main"}),
    "an empty container": ({"container": "main"}, {"container": ""}),
}


@pytest.mark.parametrize("labels", KEPT_APART.values(), ids=KEPT_APART)
def test_an_answer_counts_what_is_around_a_container_not_again(
    tmp_path: Path, labels: Sequence[dict[str, str]]
) -> None:
    cores = {"main": 0.5, "POD": 0.0001}
    some = [
        (
            {"namespace": "default", "pod": pod, **more},
            at_times(*([cores.get(more.get("container", ""), 0.5001)] * 3)),
        )
        for pod in ("web-1", "web-2")
        for more in labels
    ]
    found = read(NAME, written(tmp_path / f"{RATE}.json", answered(RATE, some)))
    assert [(row[1], row[3]) for row in amounts_of(found)] == [
        (f"default/web-{pod}", 0.5) for pod in (1, 2) for _ in range(3)
    ]


POD_CGROUPS = ["/kubepods/burstable/pod1a-2b", "/kubepods.slice/kubepods-pod1a_2b.slice"]


@pytest.mark.parametrize("cgroup", POD_CGROUPS)
def test_of_a_pod_whose_containers_are_not_seen_the_cgroup_around_them_counts(
    tmp_path: Path, cgroup: str
) -> None:
    """Some runtimes tell of no container; of web-2 the containers are seen, and count once."""
    whole, space = {"id": cgroup}, {"namespace": "default"}
    made: list[Made] = [
        (MEMORY, {**space, "pod": "web-1", **whole}, at_times(700, 710)),
        (MEMORY, {**space, "pod": "web-2", **whole}, at_times(950, 950)),
        (MEMORY, {**space, "pod": "web-2", "container": "main", "id": "/a/b"}, at_times(900, 900)),
        (MEMORY, {**space, "pod": "web-2", "container": "POD", "id": "/a/c"}, at_times(1, 1)),
        (MEMORY, {"id": "/kubepods/burstable"}, at_times(5000, 5000)),
    ]
    for form, name in ((as_dump, "dump.txt"), (as_export, "export.jsonl")):
        found = read(NAME, written(tmp_path / name, form(made)))
        assert sorted((row[1], row[3]) for row in amounts_of(found)) == [
            ("default/web-1", 700.0), ("default/web-1", 710.0),
            ("default/web-2", 900.0), ("default/web-2", 900.0),
        ]  # fmt: skip


def test_an_answer_that_was_summed_up_by_pod_counts(tmp_path: Path) -> None:
    some = [({"namespace": "default", "pod": "web-1"}, at_times(0.5, 0.25))]
    found = read(NAME, written(tmp_path / f"{RATE}.json", answered(RATE, some)))
    assert [row[3] for row in amounts_of(found)] == [0.5, 0.25]


def test_containers_of_another_time_leave_the_cgroup_its_use(tmp_path: Path) -> None:
    """Before a node had a runtime that tells of containers."""
    whole = {"namespace": "default", "pod": "web-1", "id": POD_CGROUPS[0]}
    inner = {**whole, "container": "main", "id": "/a/b"}
    later = [(at + 86_400, value) for at, value in at_times(600, 610)]
    pods = written(tmp_path / "pods.txt", as_dump([(MEMORY, whole, at_times(700, 710))]))
    mine = written(tmp_path / "mine.txt", as_dump([(MEMORY, inner, later)]))
    beside = files_beside(pods, mine)
    assert [row[3] for row in amounts_of(read(NAME, pods, beside))] == [700.0, 710.0]


HOST_POD: Made = (
    "kube_pod_info", of_pod(container=None, node="n1", host_network="true"), at_times(1, 1)
)  # fmt: skip


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (
            ("node_cpu_seconds_total", {"instance": "n1", "mode": "idle"}, at_times(1, 2)),
            "modes alone that are no use",
        ),
        ((MEMORY, {"id": "/system.slice"}, at_times(1, 2)), "cgroups alone"),
        ((MEMORY, of_pod(container="POD"), at_times(1, 2)), "cgroups alone"),
        (
            ("container_network_receive_bytes_total", of_pod(container=None), at_times(1, 2)),
            "on the network of their host",
        ),
    ],
    ids=["idle", "machine", "pause", "host"],
)
def test_a_file_says_why_nothing_of_a_metric_is_used(tmp_path: Path, made: Made, why: str) -> None:
    """It gave no rows, and the reason was one of two."""
    found = read(NAME, written(tmp_path / "dump.txt", as_dump([HOST_POD, made])))
    assert [why in reason for _, _, reason in found.reasons] == [True]


def test_what_is_left_out_beside_use_of_its_metric_is_not_told(tmp_path: Path) -> None:
    modes = ("idle", "user")
    made: list[Made] = [
        ("node_cpu_seconds_total", {"instance": "n1", "mode": mode}, at_times(1, 2))
        for mode in modes
    ]
    assert read(NAME, written(tmp_path / "dump.txt", as_dump(made))).reasons == []


@pytest.mark.parametrize(
    ("metric", "told"),
    [("container_memory_rss", True), ("pod_cpu_usage_seconds_total", True), ("up", False)],
)
def test_a_file_of_use_by_a_metric_that_is_not_read_is_told(
    tmp_path: Path, metric: str, told: bool
) -> None:
    state = written(tmp_path / "state.txt", as_dump([HOST_POD]))
    other = written(tmp_path / "other.txt", as_dump([(metric, of_pod(), at_times(1, 2))]))
    found = read(NAME, other, files_beside(state, other))
    assert len(found.reasons) == told
