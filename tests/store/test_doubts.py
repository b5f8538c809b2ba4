"""Doubts that the tables of a store leave."""

from __future__ import annotations

from pathlib import Path

from cluster_support import workload
from facts_support import the
from kubernetes_support import listed, node, pod, written

from tracekit.intake.ingest import ingest
from tracekit.store.doubts import doubts
from tracekit.store.folder import open_store


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
    assert the(found, "node_cordoned_later").about["names"] == "n2"
    assert the(found, "node_opened_later").about["names"] == "n3"
    load = workload(open_store(tmp_path / "store"))
    assert load.cordoned is not None
    assert dict(zip(load.node_ids, load.cordoned.tolist(), strict=True)) == {
        "n1": False, "n2": True, "n3": False,
    }  # fmt: skip


def test_taints_that_come_or_go_are_told(tmp_path: Path) -> None:
    """A replay has those of when use began; a cordon, and NotReady, have words of their own."""
    gpu, mine, cordon = (
        {"key": key, "effect": "NoSchedule"}
        for key in ("gpu", "dedicated", "node.kubernetes.io/unschedulable")
    )
    first = {"n1": [gpu], "n2": [], "n3": [gpu, mine], "n4": []}
    last = {"n1": [gpu], "n2": [mine], "n3": [mine, gpu], "n4": [cordon]}
    folder = tmp_path / "cluster"
    folder.mkdir()
    for day, taints in ((1, first), (2, last)):
        beat = {"type": "Ready", "status": "True", "lastHeartbeatTime": f"2026-01-0{day}T12:00:00Z"}
        nodes = [node(name, taints=some) for name, some in taints.items()]
        for one in nodes:
            one["status"]["conditions"] = [beat]
        written(folder / f"nodes-{day}.json", listed(*nodes))
    written(folder / "pods.json", listed(pod("web-1", nodeName="n1")))
    ingest(folder, tmp_path / "store")
    changed = the(doubts(open_store(tmp_path / "store")), "node_retainted")
    assert (changed.value, changed.about["names"]) == (1, "n2")
