"""Nodes and pods as kube-state-metrics recorded them: ends, lives, sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from kubernetes_support import written
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
