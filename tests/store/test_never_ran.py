"""Pods that never had a node: who they are, what they ask for, and that no total has them."""

from __future__ import annotations

import json
from pathlib import Path

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
from tests_support import causes, the

from tracekit.intake.ingest import ingest
from tracekit.sizing.requests.read_use import read_use
from tracekit.sizing.requests.study import every_policy, recommend_requests
from tracekit.store.doubts import doubts
from tracekit.store.folder import Store, open_store
from tracekit.store.never_ran import never_ran
from tracekit.store.query.run import describe

FROM_S = 1_767_225_600


def _waiting(name: str, cpu: str, hour: int, service: str, **more: str) -> Object:
    asked = container(cpu)
    asked["resources"]["requests"] |= more
    meta = {
        "creationTimestamp": CREATED.replace("T00", f"T{hour:02}"),
        "ownerReferences": [{"kind": "StatefulSet", "name": service, "controller": True}],
    }
    return pod(name, meta=meta, containers=[asked], status={"phase": "Pending"})


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
