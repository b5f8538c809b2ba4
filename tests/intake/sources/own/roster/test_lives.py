"""When a pod took its place and gave it back, by what it says of itself and by its list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kubernetes_support import listed, node, owned, pod, written
from reading_support import read
from series_support import NAME, Made, as_dump

from tracekit.intake.sources.own._kubernetes.objects import time_ms

DAY = "2026-01-01T"
CREATED, STARTED, SCHEDULED, EVICTED, LISTED = (
    f"{DAY}{hour}:00:00Z" for hour in ("06", "07", "08", "09", "10")
)
BUSY: dict[str, Any] = {"phase": "Running", "startTime": STARTED}
OVER: dict[str, Any] = {"phase": "Failed", "reason": "Evicted", "startTime": STARTED}


def _condition(kind: str, time: str, status: str = "True") -> dict[str, str]:
    return {"type": kind, "status": status, "lastTransitionTime": time}


WAITED = _condition("PodScheduled", SCHEDULED)
PLACES: list[tuple[str, dict[str, Any], str | None, dict[str, Any], str]] = [
    ("scheduled", {**BUSY, "conditions": [WAITED]}, "n1", {}, SCHEDULED),
    ("started", BUSY, "n1", {}, STARTED),
    ("nothing known", {"phase": "Running"}, "n1", {}, CREATED),
    (
        "before its creation",
        {"phase": "Running", "startTime": f"{DAY}05:00:00Z"},
        "n1",
        {},
        CREATED,
    ),
    (
        "waits still",
        {"phase": "Pending", "conditions": [_condition("PodScheduled", SCHEDULED, "False")]},
        None,
        {},
        CREATED,
    ),
    ("of its node", {**BUSY, "conditions": [WAITED]}, "n1", owned("Node", "n1"), CREATED),
]


def _read(tmp_path: Path, status: dict[str, Any], where: str | None, meta: dict[str, Any]) -> Any:
    one = pod("web-1", meta={**meta, "creationTimestamp": CREATED}, nodeName=where)
    last = pod("last", meta={"creationTimestamp": LISTED}, nodeName="n1")
    made = listed(node("n1"), {**one, "status": status}, last)
    found = read(NAME, written(tmp_path / "k.json", made))
    assert found.broken == []
    return found.rows("container", "time_ms", "departure_ms")[0]


@pytest.mark.parametrize(
    ("status", "where", "meta", "expected"),
    [case[1:] for case in PLACES],
    ids=[case[0] for case in PLACES],
)
def test_a_pod_holds_its_node_from_when_it_was_scheduled(
    tmp_path: Path, status: dict[str, Any], where: str | None, meta: dict[str, Any], expected: str
) -> None:
    assert _read(tmp_path, status, where, meta)[0] == time_ms(expected)


GONE = _condition("DisruptionTarget", EVICTED)
NOT_READY = _condition("Ready", EVICTED, "False")
ENDS: list[tuple[str, dict[str, Any], str]] = [
    ("evicted", {**OVER, "conditions": [GONE, _condition("Ready", LISTED, "False")]}, EVICTED),
    ("not ready since", {**OVER, "conditions": [NOT_READY]}, EVICTED),
    ("began only", OVER, LISTED),
    ("scheduled only", {**OVER, "conditions": [_condition("PodScheduled", STARTED)]}, LISTED),
    ("never ready", {**OVER, "conditions": [_condition("Ready", STARTED, "False")]}, LISTED),
]


@pytest.mark.parametrize(
    ("status", "expected"), [case[1:] for case in ENDS], ids=[case[0] for case in ENDS]
)
def test_when_a_pod_began_is_not_when_it_ended(
    tmp_path: Path, status: dict[str, Any], expected: str
) -> None:
    assert _read(tmp_path, status, "n1", {})[1] == time_ms(expected)


@pytest.mark.parametrize(
    ("owner", "expected"), [("ReplicaSet", SCHEDULED), ("Node", CREATED)], ids=["waited", "static"]
)
def test_kube_state_metrics_know_when_a_pod_was_scheduled(
    tmp_path: Path, owner: str, expected: str
) -> None:
    of = {"namespace": "shop", "pod": "web-1", "uid": "u1"}
    at = time_ms(LISTED)
    info = {**of, "node": "n1", "created_by_kind": owner, "created_by_name": "n1"}
    made: list[Made] = [
        ("kube_pod_info", info, [(at / 1000, 1)]),
        ("kube_pod_created", of, [(at / 1000, time_ms(CREATED) / 1000)]),
        ("kube_pod_status_scheduled_time", of, [(at / 1000, time_ms(SCHEDULED) / 1000)]),
    ]
    found = read(NAME, written(tmp_path / "dump.txt", as_dump(made)))
    assert found.rows("container", "time_ms") == [(time_ms(expected),)]
