"""Facts on contradictions of a store, on containers that never ran, and its quantities."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from cluster_support import CLUSTER, stored, workload
from kubernetes_support import (
    CREATED,
    Object,
    answer,
    container,
    listed,
    node,
    pod,
    series,
    written,
)
from store_support import tiny_store
from tests_support import causes, the

from tracekit.intake.ingest import ingest
from tracekit.sizing.requests.read_use import read_use
from tracekit.sizing.requests.study import every_policy, recommend_requests
from tracekit.store.broken_rows import broken_rows
from tracekit.store.doubts import doubts
from tracekit.store.folder import REJECTED, Defect, SourceEntry, Store, open_store
from tracekit.store.never_ran import never_ran
from tracekit.store.quantities import ABSENT, INFERRED, RECORDED, quantities, together
from tracekit.store.query.run import describe


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
    result = doubts(open_store(tmp_path / "store"))
    assert the(result, "node_cordoned_later").about["names"] == "n2"
    assert the(result, "node_opened_later").about["names"] == "n3"
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
    staying = Defect(defect="other", column="", rows=99, action="kept", example="line 1")
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
        defects=(staying, *defects),
        checksums={},
    )


def test_kinds_come_with_most_rows_first_and_all_further_ones_are_one_fact() -> None:
    some = _entry("a.csv", 100, [(f"c{at}", 10 - at, f"line {at}: is bad") for at in range(8)])
    whole = _entry("b.json", 50, [("", 50, "line 1: is a series without __name__")])
    first, second, *_, last = result = broken_rows([some, whole])
    assert len(result) == 6
    assert (first.subject, first.because, first.value) == ("b.json", "none_kept", 50)
    assert first.about["column"] is None
    assert (second.subject, second.because, second.value) == ("a.csv", "", 10)
    about = {"table": "node", "column": "c0", "of": 100, "example": "line 0: is bad"}
    assert dict(second.about) == about
    assert (last.because, last.value, last.about["kinds"]) == ("further", 6 + 5 + 4 + 3, 4)
    assert broken_rows([_entry("a.csv", 10, [])]) == []


FROM_S = 1_767_225_600


def _waiting(name: str, cpu: str, hour: int, service: str, **more: str) -> Object:
    wanted = container(cpu)
    wanted["resources"]["requests"] |= more
    meta = {
        "creationTimestamp": CREATED.replace("T00", f"T{hour:02}"),
        "ownerReferences": [{"kind": "StatefulSet", "name": service, "controller": True}],
    }
    return pod(name, meta=meta, containers=[wanted], status={"phase": "Pending"})


def _stored(folder: Path, *more: Object) -> Store:
    runs = pod("runs", nodeName="n1", containers=[container("2")])
    folder.mkdir(exist_ok=True)
    written(folder / "cluster.json", listed(node("n1"), runs, *more))
    times = range(FROM_S, FROM_S + 600, 60)
    labels = {"namespace": "default", "pod": "runs", "container": "main", "node": "n1"}
    use = [
        series("container_cpu_in_use", [(at, "0.5") for at in times], **labels),
        series("container_memory_working_set_bytes", [(at, "1e9") for at in times], **labels),
    ]
    for one in use:
        name = one["metric"]["__name__"]
        if name.startswith("container_cpu"):
            del one["metric"]["__name__"]
        written(folder / f"{name}.json", answer(one))
    ingest(folder, folder.parent / "store")
    return open_store(folder.parent / "store")


WAITING = (
    _waiting("db-0", "3", 1, "db", memory="2G"),
    _waiting("db-1", "3", 0, "db", memory="2G"),
    _waiting("train-0", "1", 2, "train", **{"nvidia.com/gpu": "1"}),
)


def test_the_service_of_most_and_the_sum_of_requests_are_a_doubt(tmp_path: Path) -> None:
    store = _stored(tmp_path / "cluster", *WAITING)
    assert sorted(never_ran(store)["container"]) == [
        "default/db-0",
        "default/db-1",
        "default/train-0",
    ]
    doubt = the(doubts(store), "never_ran")
    assert doubt.value == len(WAITING)
    assert dict(doubt.about) == {
        "service": "default/db",
        "of_service": 2,
        "since": "2026-01-01 00:00 UTC",
        "requested_cores": 7,
        "requested_bytes": 4e9,
        "requested_further": "1 gpu",
    }
    assert doubt.document() in describe(store)["doubts"]


def test_where_no_pod_waits_is_no_doubt(tmp_path: Path) -> None:
    store = _stored(tmp_path / "cluster")
    assert never_ran(store).is_empty()
    assert "never_ran" not in causes(doubts(store))


def test_recommended_requests_count_who_ran_alone(tmp_path: Path) -> None:
    store = _stored(tmp_path / "cluster", *WAITING)
    assert read_use(store).services == ("default/runs",)
    study = recommend_requests(store, every_policy())
    now = study.frames["policies"].filter(policy="now", resource="cpu")
    assert now["requested_now"].to_list() == [2.0]
    assert study.about["workload"]["never_ran"] == len(WAITING)
    json.dumps(study.about)


def test_a_cluster_of_ones_own(tmp_path: Path) -> None:
    expected = quantities(stored(tmp_path))
    recorded = ("node sizes", "requests", "use of containers", "placement", "departures")
    assert {expected[name] for name in (*recorded, "fault domains")} == {RECORDED}
    assert expected["use of nodes"] == INFERRED
    assert {expected[name] for name in ("limits", "priorities", "NUMA cells", "calls")} == {ABSENT}


@pytest.mark.slow
def test_a_trace_with_sizes_beside_it(tmp_path: Path) -> None:
    recorded = quantities(tiny_store(tmp_path))
    assert {recorded[name] for name in ("use of nodes", "use of containers", "placement")} == {
        RECORDED
    }
    assert {recorded[name] for name in ("node sizes", "requests", "arrivals")} == {RECORDED}


@pytest.mark.parametrize(("what", "lacks"), [("cpu", "memory"), ("memory", "cpu")])
def test_use_of_nodes_without_one_of_two_says_which(tmp_path: Path, what: str, lacks: str) -> None:
    made = tmp_path / "made"
    made.mkdir()
    use = series(None, [(1_767_225_600 + 60 * at, 1e9) for at in range(3)], nodename="n1")
    written(made / f"node_{what}_in_use.json", answer(use))
    ingest(made, tmp_path / "store")
    recorded = quantities(open_store(tmp_path / "store"))
    assert recorded["use of nodes"] == RECORDED
    assert {name: kind for name, kind in recorded.items() if name.startswith("use of nodes:")} == {
        f"use of nodes: {lacks}": ABSENT
    }


def test_a_column_without_a_value_is_absent(tmp_path: Path) -> None:
    header, *rows = CLUSTER["containers.csv"]
    parts = [row.split(",") for row in rows]
    empty = [",".join([*part[:4], "", *part[5:]]) for part in parts]
    recorded = quantities(stored(tmp_path, {"containers.csv": [header, *empty]}))
    assert recorded["departures"] == ABSENT


@pytest.mark.parametrize(
    ("before", "more", "both"),
    [
        (ABSENT, RECORDED, RECORDED),
        (RECORDED, ABSENT, RECORDED),
        (INFERRED, ABSENT, INFERRED),
        (INFERRED, RECORDED, RECORDED),
        (ABSENT, ABSENT, ABSENT),
    ],
)
def test_of_two_parts_the_better_known_counts(before: str, more: str, both: str) -> None:
    assert together({"requests": before}, {"requests": more}) == {"requests": both}
    assert together({}, {"requests": more}) == {"requests": more}
