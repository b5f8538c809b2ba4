"""Snapshots and records of kube-scheduler-simulator: nodes and pods, lives, broken lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from reading_support import Reading, read, recognised

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
from tracekit.store.query import Database

NAME = "kube_scheduler_simulator"
CREATED = "2026-01-01T00:00:00Z"
CREATED_MS = 1_767_225_600_000


def _node(name: str, **meta: Any) -> dict[str, Any]:
    return {
        "kind": "Node",
        "metadata": {"name": name, **meta},
        "spec": {},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    }


def _pod(name: str, node: str | None = None, cpu: str = "500m", **meta: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu}}
    spec: dict[str, Any] = {"containers": [{"name": "c", "resources": resources}]}
    if node:
        spec["nodeName"] = node
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "ns", **meta}, "spec": spec}


def _line(time: str, event: str, resource: dict[str, Any]) -> str:
    return json.dumps({"time": f"2026-01-01T{time}Z", "event": event, "resource": resource})


def _snapshot(**lists: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {
        name: [] for name in ("pods", "nodes", "pvs", "pvcs", "storageClasses")
    }
    rest = {"priorityClasses": [], "schedulerConfig": {"kind": "x"}, "namespaces": []}
    return {**empty, **rest, **lists}


def _read(path: Path, text: str, word: str) -> Reading:
    path.write_text(text)
    assert recognised(path) == [(NAME, word)]
    return read(NAME, path)


def test_a_snapshot_has_nodes_and_pods(tmp_path: Path) -> None:
    urgent = _pod("b")
    urgent["spec"]["priorityClassName"] = "urgent"
    snapshot = _snapshot(
        pods=[_pod("a", "n1", creationTimestamp=CREATED), urgent, _pod("c", "n9"), {"spec": {}}],
        nodes=[_node("n1", creationTimestamp="2026-01-02T00:00:00Z")],
        priorityClasses=[{"metadata": {"name": "urgent"}, "value": 1000}],
    )
    found = _read(tmp_path / "snapshot.json", json.dumps(snapshot, indent=1), "snapshot")
    assert found.rows("node_resource", "node", "resource", "amount") == [
        ("n1", "cpu", 4.0),
        ("n1", "memory", 2.0**33),
        ("n1", "pods", 110.0),
    ]
    assert found.rows("container", "container", "node", "priority", "time_ms", "departure_ms") == [
        ("ns/a", "n1", None, CREATED_MS, None),
        ("ns/b", None, 1000.0, CREATED_MS, None),
    ]
    assert found.rows("container_resource", "container", "resource", "request") == [
        ("ns/a", "cpu", 0.5),
        ("ns/b", "cpu", 0.5),
    ]
    assert [(line, column) for line, column, _ in found.reasons] == [(4, "node"), (5, None)]


@pytest.mark.parametrize(
    ("lists", "line", "reason"),
    [
        ({"priorityClasses": [{"value": 3}]}, 3, "is no PriorityClass with a name"),
        ({"priorityClasses": [7]}, 3, "is no PriorityClass with a name"),
        ({"pods": [_pod("a"), {"metadata": 3}]}, 3, "is no Pod with a name"),
        ({"nodes": [_node("n1"), {"metadata": [1]}]}, 2, "is no Node with a name"),
    ],
)
def test_an_object_of_another_shape_in_a_snapshot_is_told(
    tmp_path: Path, lists: dict[str, Any], line: int, reason: str
) -> None:
    snapshot = _snapshot(**{"pods": [_pod("a")], "nodes": [_node("n1")], **lists})
    found = _read(tmp_path / "snapshot.json", json.dumps(snapshot), "snapshot")
    assert found.rows("container", "container") == [("ns/a",)]
    assert found.rows("node", "node") == [("n1",)]
    assert found.reasons == [(line, None, reason)]


def test_an_empty_and_a_large_snapshot_are_known(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(_snapshot()))
    assert recognised(path) == [(NAME, "snapshot")]
    path.write_text(json.dumps(_snapshot(pods=[_pod(f"p{at}") for at in range(1000)])))
    assert path.stat().st_size > 1 << 16
    assert recognised(path) == [(NAME, "snapshot")]
    path.write_text(json.dumps({"pods": 3, "nodes": 4}))
    assert recognised(path) == []


def test_a_snapshot_that_is_cut_off_is_one_line(tmp_path: Path) -> None:
    text = json.dumps(_snapshot(pods=[_pod("a")], nodes=[_node("n1")]))
    with pytest.raises(TracekitError, match="is no whole JSON"):
        _read(tmp_path / "snapshot.json", text[:-25], "snapshot")


RECORD = [
    _line("00:00:00", "Add", {"kind": "Namespace", "metadata": {"name": "ns"}}),
    _line("00:00:00", "Add", _node("n1")),
    _line("00:00:10", "Add", _pod("a")),
    _line("00:00:11", "Update", _pod("a", "n1")),
    _line("00:00:20", "Add", _pod("b", "n1", uid="u1")),
    _line("00:00:40", "Delete", _pod("a", "n1")),
    _line("00:00:50", "Add", _pod("a", cpu="2")),
    _line("00:00:55", "Delete", _pod("b", "n1", uid="u1")),
    _line("00:01:00", "Add", _pod("b", uid="u2")),
    _line("00:02:00", "Delete", _node("n1")),
]
LIVES = [
    ("ns/a", "n1", 10, 40),
    ("ns/a@life-2", None, 50, None),
    ("ns/b", "n1", 20, 55),
    ("ns/b@u2", None, 60, None),
]


def _lives(found: Reading) -> list[tuple[object, ...]]:
    rows = found.tables["container"].sort("container")
    seconds = [(rows[name] - CREATED_MS) // 1000 for name in ("time_ms", "departure_ms")]
    return list(zip(rows["container"], rows["node"], *seconds, strict=True))


def test_a_record_tells_lives(tmp_path: Path) -> None:
    found = _read(tmp_path / "record.jsonl", "\n".join(RECORD) + "\n", "record")
    assert found.broken == []
    assert _lives(found) == LIVES
    states = found.tables["node"].select("node", "time_ms", "state").rows()
    assert states == [("n1", CREATED_MS, "ready"), ("n1", CREATED_MS + 120_000, "gone")]


def test_pods_of_a_record_without_uids_are_told_apart_by_their_names(tmp_path: Path) -> None:
    adds = [_line(f"00:01:{at:02}", "Add", _pod(f"p{at}", "n1")) for at in range(10)]
    again = [
        _line("00:02:00", "Delete", _pod("p3", "n1")),
        _line("00:03:00", "Add", _pod("p3", "n1")),
        _line("00:04:00", "Delete", _pod("p3", "n1")),
        _line("00:05:00", "Add", _pod("p3", "n1")),
    ]
    text = "\n".join([_line("00:00:00", "Add", _node("n1")), *adds, *again])
    found = _read(tmp_path / "record.jsonl", text, "record")
    assert found.broken == []
    ends = {"ns/p3": 120, "ns/p3@life-2": 240}
    begins = {**{f"ns/p{at}": 60 + at for at in range(10)}, "ns/p3@life-2": 180}
    begins["ns/p3@life-3"] = 300
    assert _lives(found) == [
        (name, "n1", begin, ends.get(name)) for name, begin in sorted(begins.items())
    ]
    assert found.tables["container_resource"]["container"].n_unique() == 12


def test_a_uid_of_a_record_under_a_second_name_is_told_with_its_line(tmp_path: Path) -> None:
    other = [
        _line("00:00:30", "Add", _pod("z", "n1", uid="u1")),
        _line("00:00:31", "Delete", _pod("z", "n1", uid="u1")),
    ]
    text = "\n".join([*RECORD[:5], *other, *RECORD[5:]])
    found = _read(tmp_path / "record.jsonl", text, "record")
    assert _lives(found) == LIVES
    said = "is 'u1', the uid of object 5, expected its own"
    assert found.reasons == [(6, "uid", said), (7, "uid", said)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{oops", "is no JSON"),
        ("5", "is no event of an object with a name"),
        (_line("00:00:00", "Grow", _pod("z")), "is no event of an object with a name"),
        (
            json.dumps({"time": "x", "event": ["Add"], "resource": _pod("z")}),
            "is no event of an object with a name",
        ),
        (_line("00:00:00", "Add", {"kind": "Pod"}), "is no event of an object with a name"),
        (_line("noon", "Add", _pod("z")), "has no time as RFC 3339 writes it"),
        (_line("00:00:00", "Add", _pod("z", "n9")), "is 'n9', which no file describes"),
        (_line("00:00:00", "Add", _pod("z", cpu="much")), "expected a quantity"),
    ],
)
def test_a_broken_line_is_told_and_the_rest_is_kept(tmp_path: Path, line: str, reason: str) -> None:
    text = "\n".join([*RECORD[:4], line, *RECORD[4:]])
    found = _read(tmp_path / "record.jsonl", text, "record")
    assert _lives(found) == LIVES
    assert [one.line for one in found.broken] == [5]
    assert reason in found.broken[0].reason


def test_a_record_in_a_store(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    path.write_text("\n".join(RECORD) + "\n")
    ingest(path, tmp_path / "store")
    with Database(open_store(tmp_path / "store")) as database:
        asked = "SELECT container, request FROM container_resource ORDER BY ALL"
        assert database.frame(asked).rows() == [
            ("ns/a", 0.5),
            ("ns/a@life-2", 2.0),
            ("ns/b", 0.5),
            ("ns/b@u2", 0.5),
        ]
