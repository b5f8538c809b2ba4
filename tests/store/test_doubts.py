"""What nodes are at the start, from files with times and from one without."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from cluster_support import workload
from kubernetes_support import listed, node, pod, written

from tracekit.ingest import ingest
from tracekit.store import open_store
from tracekit.store.doubts import doubts, nodes_of

NOW = 1_767_225_600_000


def test_a_file_without_times_adds_what_the_others_do_not_say() -> None:
    nodes = pl.DataFrame(
        {
            "time_ms": [0, 0, NOW, NOW + 1],
            "node": ["n1", "spare", "n1", "n1"],
            "position": [None, None, 1, 1],
            "state": [None, None, "ready", "closed"],
            "labels": [None, None, '{"disk": "ssd"}', None],
            "price_per_hour": [0.4, 0.2, None, None],
        }
    )
    sizes = pl.DataFrame(
        {
            "time_ms": [0, 0, NOW],
            "node": ["n1", "spare", "n1"],
            "resource": ["cpu", "cpu", "cpu"],
            "cell": [None, None, None],
            "amount": [4.0, 2.0, 8.0],
            "unit": ["cores", "cores", "cores"],
        },
        schema_overrides={"cell": pl.Int64},
    )
    found, capacity = nodes_of(nodes, sizes)
    columns = ("node", "state", "labels", "price_per_hour")
    assert found.select(columns).rows() == [
        ("n1", "ready", '{"disk": "ssd"}', 0.4),
        ("spare", None, None, 0.2),
    ]
    assert sorted(capacity.select("node", "amount").rows()) == [("n1", 8.0), ("spare", 2.0)]


def test_who_is_cordoned_at_the_end_is_told(tmp_path: Path) -> None:
    """By the last of several lists; opened again it is none."""
    first = {"n1": False, "n2": False, "n3": True}
    last = {"n1": False, "n2": True, "n3": False}
    folder = tmp_path / "cluster"
    folder.mkdir()
    for day, state in ((1, first), (2, last)):
        beat = {"type": "Ready", "status": "True", "lastHeartbeatTime": f"2026-01-0{day}T12:00:00Z"}
        nodes = [node(name, unschedulable=shut) for name, shut in state.items()]
        for one in nodes:
            one["status"]["conditions"] = [beat]
        written(folder / f"nodes-{day}.json", listed(*nodes))
    written(folder / "pods.json", listed(pod("web-1", nodeName="n1")))
    ingest(folder, tmp_path / "store")
    found = doubts(open_store(tmp_path / "store"))
    assert "node n2 is cordoned at the end: it takes nothing new" in found
    load = workload(open_store(tmp_path / "store"))
    assert load.cordoned is not None
    assert dict(zip(load.node_ids, load.cordoned.tolist(), strict=True)) == {
        "n1": False, "n2": True, "n3": False,
    }  # fmt: skip
