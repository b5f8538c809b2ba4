"""Forms in which lists of nodes, pods and measurements come, besides kubectl's own."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes_support import CREATED_MS, Object, listed, node, pod, written
from reading_support import read, recognised

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest

API = "metrics.k8s.io/v1beta1"
TIME = "2026-01-01T00:05:00Z"


@pytest.mark.parametrize("start", ["", "\ufeff", "\n"], ids=["plain", "mark", "blank"])
def test_what_jq_makes_of_a_list_is_an_array(tmp_path: Path, start: str) -> None:
    text = start + json.dumps([node("n1"), pod(nodeName="n1")], indent=1)
    path = written(tmp_path / "items.json", text)
    assert recognised(path) == [("kubernetes", "objects")]
    assert read("kubernetes", path).rows("container", "container", "node") == [
        ("default/web-1", "n1")
    ]


def _measured(kind: str, **more: object) -> Object:
    meta = {"name": "n1"} if kind == "NodeMetrics" else {"name": "web-1", "namespace": "default"}
    return {"apiVersion": API, "kind": kind, "metadata": meta, "timestamp": TIME, **more}


def test_measurements_as_kubectl_get_lists_them_are_measurements(tmp_path: Path) -> None:
    """Their list is a List as that of pods: nothing of it was read, without a word."""
    usage = {"cpu": "250m", "memory": "1Mi"}
    pods = _measured("PodMetrics", containers=[{"name": "main", "usage": usage}])
    nodes = _measured("NodeMetrics", usage=usage)
    for one, table in ((pods, "container"), (nodes, "node")):
        path = written(tmp_path / f"{table}.json", listed(one), indent=4)
        assert recognised(path) == [("kubernetes", "measurements")]
        found = read("kubernetes", path).rows(f"{table}_amount", "time_ms", "resource", "amount")
        assert found == [
            (CREATED_MS + 300_000, "cpu", 0.25),
            (CREATED_MS + 300_000, "memory", 2.0**20),
        ]


@pytest.fixture
def _elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine in New York."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_elsewhere")
def test_a_time_without_a_zone_is_utc_wherever_it_is_read(tmp_path: Path) -> None:
    bare = pod(meta={"creationTimestamp": "2026-01-01T01:00:00"}, nodeName="n1")
    other = pod("web-2", meta={"creationTimestamp": "2026-01-01T03:00:00+02:00"}, nodeName="n1")
    path = written(tmp_path / "list.json", listed(node("n1"), bare, other))
    found = read("kubernetes", path).rows("container", "time_ms")
    assert found == [(CREATED_MS + 3_600_000,)] * 2


def test_a_list_whose_items_are_null_is_empty(tmp_path: Path) -> None:
    text = '{"apiVersion": "v1", "kind": "List", "items": null}'
    written(tmp_path / "list.json", text)
    with pytest.raises(TracekitError, match="neither nodes nor pods: wrong context or rights"):
        ingest(tmp_path / "list.json", tmp_path / "store")
