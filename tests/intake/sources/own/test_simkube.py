"""Traces of SimKube: replicas become pods, lives are kept, other versions are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from reading_support import Reading, read, recognised
from tests_support import shared_data

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
from tracekit.store.query import Database

START_S = 1_767_225_600
KIND = "apps/v1.Deployment"
Event = tuple[int, list[Any], list[Any]]


def _object(name: str, replicas: int | None = 1, cpu: str = "1", kind: str = "Deployment") -> Any:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
    }
    spec: dict[str, Any] = {"template": template}
    if replicas is not None:
        spec["replicas"] = replicas
    if kind == "CronJob":
        spec = {"jobTemplate": {"spec": spec}}
    version = "batch/v1" if "Job" in kind else "apps/v1"
    meta = {"name": name, "namespace": "ns"}
    return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}


def _trace(*events: Event, lives: Any = None, version: int = 2) -> dict[str, Any]:
    return {
        "version": version,
        "config": {"trackedObjects": {KIND: {"podSpecTemplatePaths": ["/spec/template"]}}},
        "events": [
            {"ts": START_S + at, "applied_objs": applied, "deleted_objs": deleted}
            for at, applied, deleted in events
        ],
        "index": {},
        "pod_lifecycles": lives or {},
    }


def _read(folder: Path, trace: Any) -> Reading:
    path = folder / "trace.json"
    path.write_text(json.dumps(trace))
    assert recognised(path) == [("simkube", "trace")]
    return read("simkube", path)


def _pods(found: Reading) -> list[tuple[object, ...]]:
    lives = found.tables["container"].join(
        found.tables["container_resource"].select("container", "request"), on="container"
    )
    begin, end = ((lives[name] / 1000 - START_S) for name in ("time_ms", "departure_ms"))
    rows = zip(lives["container"], lives["service"], begin, end, lives["request"], strict=True)
    return sorted(rows)


CASES: dict[str, tuple[dict[str, Any], list[tuple[object, ...]]]] = {
    "replicas": (
        _trace((0, [], []), (0, [_object("web", 2), _object("db", None)], [])),
        [("ns/db-0", "ns/db", 0, None, 1.0), ("ns/web-0", "ns/web", 0, None, 1.0),
         ("ns/web-1", "ns/web", 0, None, 1.0)],
    ),
    "more, then fewer": (
        _trace((0, [_object("web", 1)], []), (10, [_object("web", 3)], []),
               (20, [_object("web", 2)], [])),
        [("ns/web-0", "ns/web", 0, None, 1.0), ("ns/web-1", "ns/web", 10, None, 1.0),
         ("ns/web-2", "ns/web", 10, 20, 1.0)],
    ),
    "another template": (
        _trace((0, [_object("web", 2)], []), (10, [_object("web", 1, "500m")], [])),
        [("ns/web-0", "ns/web", 0, 10, 1.0), ("ns/web-1", "ns/web", 0, 10, 1.0),
         ("ns/web-2", "ns/web", 10, None, 0.5)],
    ),
    "deleted and back": (
        _trace((0, [_object("web")], []), (10, [], [_object("web")]), (20, [_object("web")], [])),
        [("ns/web-0", "ns/web", 0, 10, 1.0), ("ns/web-1", "ns/web", 20, None, 1.0)],
    ),
    "deleted, and never seen": (
        _trace((0, [_object("web")], [_object("other")])),
        [("ns/web-0", "ns/web", 0, None, 1.0)],
    ),
    "out of order": (
        _trace((20, [], [_object("web")]), (5, [_object("web", 2)], []), (5, [], [])),
        [("ns/web-0", "ns/web", 5, 20, 1.0), ("ns/web-1", "ns/web", 5, 20, 1.0)],
    ),
    "two kinds of one name": (
        _trace((0, [_object("web"), _object("web", kind="StatefulSet")], []),
               (9, [], [_object("web")])),
        [("ns/web-0", "ns/web", 0, 9, 1.0), ("ns/web-1", "ns/web", 0, None, 1.0)],
    ),
    "recorded lives": (
        _trace(
            (0, [_object("web", 5)], []), (15, [_object("web", 5, "2")], []),
            lives={f"{KIND}:ns/web": {"1": [{"Finished": [START_S + 3, START_S + 30]}],
                                      "2": [{"Running": START_S + 20}]}},
        ),
        [("ns/web-0", "ns/web", 3, 30, 1.0), ("ns/web-1", "ns/web", 20, None, 2.0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_objects_become_pods(tmp_path: Path, case: str) -> None:
    trace, wanted = CASES[case]
    found = _read(tmp_path, trace)
    assert found.broken == []
    assert _pods(found) == wanted


@pytest.mark.parametrize("case", CASES)
def test_msgpack_says_the_same(tmp_path: Path, case: str) -> None:
    msgpack = pytest.importorskip("msgpack", reason="the extra 'simkube' is not installed")
    trace, wanted = CASES[case]
    lives = {tuple(key.split(":")): value for key, value in trace["pod_lifecycles"].items()}
    path = tmp_path / "web.sktrace"
    path.write_bytes(msgpack.packb({**trace, "pod_lifecycles": lives}))
    assert recognised(path) == [("simkube", "trace")]
    assert _pods(read("simkube", path)) == wanted
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(TracekitError, match="is no whole trace of SimKube"):
        read("simkube", path)
    path.write_bytes(msgpack.packb([1, {}, []]))
    with pytest.raises(TracekitError, match="version 1, expected 2"):
        read("simkube", path)


BROKEN = {
    "a DaemonSet": (_object("x", kind="DaemonSet"), "has a pod on each node"),
    "a CronJob": (_object("x", kind="CronJob"), "no lives of its pods"),
    "no template": ({**_object("x"), "spec": {}}, "has no template of pods"),
    "no name": ({"kind": "Deployment", "metadata": {}}, "it has no kind or no name"),
    "replicas below 0": (_object("x", -1), "replicas is -1, expected a whole number, 0 or more"),
    "replicas as a text": (_object("x", cast("int", "3")), 'replicas is "3", expected a whole'),
    "half a replica": (_object("x", cast("int", 2.5)), "replicas is 2.5, expected a whole"),
    "no quantity": (_object("x", cpu="much"), "expected a quantity"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_broken_is_told_with_its_event(tmp_path: Path, case: str) -> None:
    value, reason = BROKEN[case]
    found = _read(tmp_path, _trace((0, [_object("web")], []), (5, [value], []), (9, [value], [])))
    assert {one.line for one in found.broken} <= {2, 3}
    assert found.broken[0].line == 2
    assert all(reason in one.reason for one in found.broken)
    assert _pods(found) == [("ns/web-0", "ns/web", 0, None, 1.0)]


@pytest.mark.parametrize(
    "event",
    [5, {"ts": True}, {"ts": "x"}, {"ts": START_S, "applied_objs": 5},
     {"ts": START_S, "deleted_objs": {"a": 1}}],
)  # fmt: skip
def test_an_event_that_is_none_is_told(tmp_path: Path, event: Any) -> None:
    trace = _trace((0, [_object("web")], []))
    found = _read(tmp_path, {**trace, "events": [event, *trace["events"]]})
    assert [one.line for one in found.broken] == [1]
    assert _pods(found) == [("ns/web-0", "ns/web", 0, None, 1.0)]


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (_trace(version=1), "version 1, expected 2"),
        ({**_trace(), "events": 5}, "has no events"),
    ],
)
def test_another_version_is_refused_in_one_line(tmp_path: Path, trace: Any, said: str) -> None:
    with pytest.raises(TracekitError, match=said):
        _read(tmp_path, trace)


def test_lives_without_an_object_and_lives_that_are_none_are_told(tmp_path: Path) -> None:
    lives = {f"{KIND}:ns/x": {"1": [{"Running": START_S}, {"Finished": "never"}]}}
    found = _read(tmp_path, _trace((0, [_object("web")], []), lives=lives))
    assert sorted(one.reason[:20] for one in found.broken) == [
        "has lives of pods, a",
        "is no life of a pod:",
    ]


def test_a_trace_in_a_store(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(CASES["more, then fewer"][0]))
    ingest(path, tmp_path / "store")
    with Database(open_store(tmp_path / "store")) as database:
        asked = "SELECT container, departure_ms FROM container ORDER BY ALL"
        assert database.frame(asked).rows() == [
            ("ns/web-0", None),
            ("ns/web-1", None),
            ("ns/web-2", (START_S + 20) * 1000),
        ]


def test_the_real_traces() -> None:
    folder = shared_data("simkube")
    pytest.importorskip("msgpack", reason="the extra 'simkube' is not installed")
    found = read("simkube", folder / "dsb-scaling.sktrace")
    assert found.broken == []
    pods = found.tables["container"]
    assert pods["service"].n_unique() == 27
    assert set(pods.filter(pods["time_ms"] == pods["time_ms"].min())["service"]) == set(
        pods["service"]
    )
    assert found.tables["container_resource"]["container"].n_unique() == pods.height
    found = read("simkube", folder / "cronjob.sktrace")
    assert found.broken == []
    assert found.rows("container", "service", "time_ms", "departure_ms") == [
        ("default/hello-simkube", 1_743_286_861_000 + at, 1_743_286_891_000 + at)
        for at in (0, 60_000, 120_000)
    ]
    found = read("simkube", folder / "trace.json")
    assert found.tables["container"].height == 2
