"""A node of one list is closed, and has its taints, from the times on that the list states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cluster_support import workload
from facts_support import causes
from kubernetes_support import (
    CREATED_MS,
    Object,
    answer,
    container,
    listed,
    node,
    pod,
    series,
    written,
)

from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
from tracekit.store.views import read

SPACE = "node.kubernetes.io"
GPU = {"key": "gpu", "effect": "NoSchedule"}


def _cordoned(time: str | None, *more: Any) -> Object:
    taint = {"key": f"{SPACE}/unschedulable", "effect": "NoSchedule"}
    dated = {} if time is None else {"timeAdded": time}
    return node("n2", unschedulable=True, taints=[*more, {**taint, **dated}])


def _store(folder: Path, closed: Object, *, begins_s: int | None = 3600) -> Path:
    made = folder / "cluster"
    made.mkdir()
    pods = [pod(f"p{at}", nodeName=name, containers=[container("1")])
            for at, name in enumerate(("n1", "n2"))]  # fmt: skip
    written(made / "cluster.json", listed(node("n1"), closed, *pods))
    if begins_s is not None:
        times = [(CREATED_MS // 1000 + begins_s + 60 * at, 0.5) for at in range(10)]
        use = [series(None, times, namespace="default", pod=name) for name in ("p0", "p1")]
        written(made / "container_cpu_in_use.json", answer(*use))
    ingest(made, folder / "store")
    return folder / "store"


def test_it_was_open_before(tmp_path: Path) -> None:
    store = open_store(_store(tmp_path, _cordoned("2026-01-01T01:05:00Z", GPU)))
    rows = read(store, "node").filter(node="n2").sort("time_ms")
    assert rows.select("time_ms", "state").rows() == [
        (CREATED_MS, "ready"), (CREATED_MS + 65 * 60_000, "closed"),
    ]  # fmt: skip
    first, last = rows["taints"].to_list()
    assert "gpu" in first
    assert "unschedulable" not in first
    assert "unschedulable" in last


@pytest.mark.parametrize(
    ("since", "is_open"),
    [("2026-01-01T01:05:00Z", True), ("2026-01-01T00:30:00Z", False), (None, False)],
    ids=["while use is recorded", "before", "not stated"],
)
def test_a_replay_has_it_as_it_is_when_use_begins(
    tmp_path: Path, since: str | None, is_open: bool
) -> None:
    load = workload(open_store(_store(tmp_path, _cordoned(since))))
    assert load.cordoned is not None
    assert load.cordoned.sum() == 1
    assert (load.constraints is None) is is_open
    # a node that a replay has open is not called one that takes nothing new
    about = [one for one in load.remarks if one.about.get("names") == "n2"]
    assert causes(about) == ["node_cordoned_later" if is_open else "node_cordoned"]


def test_a_list_alone_is_of_one_time(tmp_path: Path) -> None:
    closed = _cordoned("2026-01-01T01:05:00Z")
    store = open_store(_store(tmp_path, closed, begins_s=None))
    assert read(store, "node").filter(node="n2")["state"].to_list() == ["closed"]


@pytest.mark.slow
def test_a_taint_of_a_later_time_holds_all_the_time(tmp_path: Path) -> None:
    """A replay has the taints of when use begins: none is lost because it came later."""
    late = {"key": "maintenance", "effect": "NoExecute", "timeAdded": "2026-01-01T01:02:00Z"}
    store = open_store(_store(tmp_path, node("n2", taints=[GPU, late])))
    (row,) = read(store, "node").filter(node="n2").to_dicts()
    assert [one["key"] for one in json.loads(row["taints"])] == ["gpu", "maintenance"]
    constraints = workload(store).constraints
    assert constraints is not None
    closed = dict(constraints.keeper(workload(store).nodes, "first").closed(0))
    at = workload(store).node_ids.index("n2")
    assert closed["taints"][at]


def test_a_second_list_keeps_when_it_was_closed(tmp_path: Path) -> None:
    """Of two daily lists the first tells since when; it was closed from its creation."""
    made = tmp_path / "cluster"
    made.mkdir()
    for day, time in enumerate(("2026-01-01T02:00:00Z", "2026-01-02T02:00:00Z"), 1):
        closed = _cordoned("2026-01-01T01:05:00Z")
        closed["status"]["conditions"] = [
            {"type": "Ready", "status": "True", "lastHeartbeatTime": time}
        ]
        pods = [pod("p", nodeName="n2", containers=[container("1")])]
        written(made / f"{day}.json", listed(node("n1"), closed, *pods))
    times = [(CREATED_MS // 1000 + 3600 + 60 * at, 0.5) for at in range(10)]
    use = [series(None, times, namespace="default", pod="p")]
    written(made / "container_cpu_in_use.json", answer(*use))
    ingest(made, tmp_path / "store")
    rows = read(open_store(tmp_path / "store"), "node").filter(node="n2").sort("time_ms")
    assert rows.select("time_ms", "state").rows() == [
        (CREATED_MS, "ready"), (CREATED_MS + 65 * 60_000, "closed"),
    ]  # fmt: skip
