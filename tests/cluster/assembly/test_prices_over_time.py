"""Prices with times beside a cluster's list: the last counts, and nothing else changes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from cluster_support import workload
from kubernetes_support import CREATED_MS, answer, container, listed, node, pod, series, written
from tests_support import causes, the

from tracekit.cluster.workload import Workload
from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
from tracekit.store.views import read

GPU = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
HOUR_MS = 3_600_000


def _load(folder: Path, *prices: str) -> Workload:
    """Two nodes, one of them tainted, whose use begins after an hour; and rows of node.csv."""
    made = folder / "cluster"
    made.mkdir()
    pods = [pod("p0", nodeName="n1", containers=[container("1")])]
    written(made / "cluster.json", listed(node("n1"), node("n2", taints=[GPU]), *pods))
    times = [((CREATED_MS + HOUR_MS) // 1000 + 60 * at, 0.5) for at in range(120)]
    written(
        made / "container_cpu_in_use.json",
        answer(series(None, times, namespace="default", pod="p0")),
    )
    written(made / "node.csv", "\n".join(["time_ms,node,price_per_hour", *prices]) + "\n")
    ingest(made, folder / "store")
    return workload(open_store(folder / "store"))


def _closed(load: Workload) -> list[bool]:
    assert load.rules.constraints is not None
    closed = dict(load.rules.constraints.keeper(load.nodes.count, "first").closed(0))
    return [bool(closed["taints"][load.nodes.ids.index(one)]) for one in ("n1", "n2")]


def test_a_price_with_a_time_takes_no_taint_away(tmp_path: Path) -> None:
    begins = CREATED_MS + HOUR_MS
    load = _load(tmp_path, f"{begins},n1,0.4", f"{begins},n2,0.8")
    assert _closed(load) == [False, True]
    assert load.nodes.price_per_hour is not None
    assert dict(zip(load.nodes.ids, load.nodes.price_per_hour.tolist(), strict=True)) == {
        "n1": 0.4, "n2": 0.8,
    }  # fmt: skip
    assert "node_repriced" not in causes(load.provenance.remarks)


def test_the_last_price_counts_and_a_line_says_so(tmp_path: Path) -> None:
    begins, later = CREATED_MS + HOUR_MS, CREATED_MS + 2 * HOUR_MS
    load = _load(tmp_path, f"{begins},n1,0.4", f"{begins},n2,0.8", f"{later},n2,1.6")
    assert load.nodes.price_per_hour is not None
    assert np.sort(load.nodes.price_per_hour).tolist() == [0.4, 1.6]
    assert the(load.provenance.remarks, "node_repriced").about["names"] == "n2"
    assert "node_resized" not in causes(load.provenance.remarks)
    assert _closed(load) == [False, True]


def test_a_later_list_without_taints_says_that_there_are_none(tmp_path: Path) -> None:
    made = tmp_path / "cluster"
    made.mkdir()
    for hour, taints in enumerate(([GPU], []), 2):
        one = node("n1", taints=taints)
        time = f"2026-01-01T{hour:02}:00:00Z"
        one["status"]["conditions"] = [
            {"type": "Ready", "status": "True", "lastHeartbeatTime": time}
        ]
        written(made / f"{hour}.json", listed(one, pod("p0", nodeName="n1")))
    ingest(made, tmp_path / "store")
    rows = read(open_store(tmp_path / "store"), "node").sort("time_ms")
    assert [json.loads(one) for one in rows["taints"]] == [[GPU], []]
