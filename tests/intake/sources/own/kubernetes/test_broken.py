"""What is broken in a list of kubectl is told with its place, and the rest is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kubernetes_reading import NAME, ended, read_list
from kubernetes_support import (
    CREATED_MS,
    Object,
    container,
    listed,
    node,
    pod,
    written,
)
from reading_support import read, recognised

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest


def test_an_error_of_the_watch_is_told_with_its_line(tmp_path: Path) -> None:
    error = {"kind": "Status", "code": 410, "message": "too old resource version: 1 (2)"}
    events = [("ADDED", pod("w-0")), ("ERROR", error), ("ADDED", pod("w-1"))]
    lines = [json.dumps({"type": event, "object": thing}) for event, thing in events]
    found = read(NAME, written(tmp_path / "watch.json", "\n".join(lines)))
    assert found.rows("container", "container") == [("default/w-0",), ("default/w-1",)]
    [(line, _, reason)] = found.reasons
    assert line == 2
    assert reason.startswith("is an error of the watch (too old resource version: 1 (2))")


def test_a_uid_under_a_second_name_in_a_watch_log_is_told_with_its_line(tmp_path: Path) -> None:
    same = {"uid": "uid-w-0"}
    things = [pod("w-0"), pod("w-1", meta=same), pod("w-0"), pod("w-2")]
    lines = [json.dumps({"type": "ADDED", "object": thing}) for thing in things]
    found = read(NAME, written(tmp_path / "watch.json", "\n".join(lines)))
    assert found.rows("container", "container") == [("default/w-0",), ("default/w-2",)]
    assert found.reasons == [(2, "uid", "is 'uid-w-0', the uid of object 1, expected its own")]


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
        ("request", "of cpu of container main is 'lots', expected a quantity such as 100m or 2Gi"),
    ),
    (
        "a limit that is no quantity",
        pod("odd", containers=[container("1") | {"resources": {"limits": {"memory": "NaN"}}}]),
        ("limit", "of memory of container main is 'NaN', expected a quantity"),
    ),
    (
        "a size in the status that is no quantity",
        pod(
            "odd",
            containers=[container("1")],
            status={"containerStatuses": [{"name": "main", "resources": {"limits": {"cpu": "x"}}}]},
        ),
        ("request", "of cpu is 'x', expected a quantity"),
    ),
    (
        "an end before the beginning",
        pod(
            "back",
            status=ended(
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
    found = read_list(tmp_path, node("n1"), pod(nodeName="n1"), thing, pod("last", nodeName="n1"))
    assert found.rows("container", "container") == [("default/web-1",), ("default/last",)]
    [(line, column, reason)] = found.reasons
    assert (line, column) == (3, told[0])
    assert reason.startswith(told[1])


def test_a_node_keeps_what_of_its_sizes_can_be_used(tmp_path: Path) -> None:
    sizes = {"cpu": "-8", "memory": "lots", "pods": "110"}
    found = read_list(tmp_path, node("n1", allocatable=sizes), pod(nodeName="n1"))
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
