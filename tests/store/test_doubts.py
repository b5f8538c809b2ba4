"""Doubts that the tables of a store leave."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cluster_support import workload
from kubernetes_support import listed, node, pod, written
from tests_support import the

from tracekit.intake.ingest import ingest
from tracekit.store.broken_rows import broken_rows
from tracekit.store.doubts import doubts
from tracekit.store.folder import REJECTED, Defect, SourceEntry, open_store


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
    assert load.nodes.cordoned is not None
    assert dict(zip(load.nodes.ids, load.nodes.cordoned.tolist(), strict=True)) == {
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


# Broken rows: most rows first, what is left over counted.


def _entry(file: str, read: int, kinds: Sequence[tuple[str, int, str]]) -> SourceEntry:
    defects = [
        Defect(defect="kind", column=column, rows=rows, action=REJECTED, example=example)
        for column, rows, example in kinds
    ]
    kept = Defect(defect="other", column="", rows=99, action="kept", example="line 1")
    rejected = sum(one.rows for one in defects)
    return SourceEntry(
        file=file,
        size_bytes=1,
        sha256="",
        content="",
        release="kubernetes",
        table="node",
        part=0,
        rows_read=read,
        rows=read - rejected,
        rejected=rejected,
        duplicates_dropped=0,
        time_min_ms=None,
        time_max_ms=None,
        defects=(kept, *defects),
        checksums={},
    )


def test_kinds_come_with_most_rows_first_and_all_further_ones_are_one_fact() -> None:
    some = _entry("a.csv", 100, [(f"c{at}", 10 - at, f"line {at}: is bad") for at in range(8)])
    whole = _entry("b.json", 50, [("", 50, "line 1: is a series without __name__")])
    first, second, *_, last = found = broken_rows([some, whole])
    assert len(found) == 6
    assert (first.subject, first.because, first.value) == ("b.json", "none_kept", 50)
    assert first.about["column"] is None
    assert (second.subject, second.because, second.value) == ("a.csv", "", 10)
    about = {"table": "node", "column": "c0", "of": 100, "example": "line 0: is bad"}
    assert dict(second.about) == about
    assert (last.because, last.value, last.about["kinds"]) == ("further", 6 + 5 + 4 + 3, 4)
    assert broken_rows([_entry("a.csv", 10, [])]) == []
