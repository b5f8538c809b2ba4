"""An own folder and kubectl: its word holds, whichever is taken in first, and all see the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from cluster_support import workload
from cluster_support import written as folder_of
from kubernetes_support import CREATED, listed, node, pod, written

from tracekit.intake.ingest import ingest
from tracekit.intake.ingest.repeated.once import STATED_TWICE
from tracekit.store.checksums import damaged_parts
from tracekit.store.doubts import OTHERWISE, doubts
from tracekit.store.folder import Store, open_store
from tracekit.store.node_states import nodes_of
from tracekit.store.query import Database, run
from tracekit.store.views import read

GIB = 2**30
NODES = "node,cpu_milli,memory_bytes"
CONTAINERS = "container,service,node,arrival_ms,departure_ms,cpu_milli,memory_bytes"
#: What contradicts kubectl, line by line, and what says the same.
CONTRADICTING: Mapping[str, Sequence[str]] = {
    "containers.csv": [
        CONTAINERS,
        f"default/p0,default/p0,n1,{CREATED},,2000,",
        f"default/p1,default/p1,n1,{CREATED},2026-01-01T00:20:00Z,500,",
        f"default/p2,other,n0,{CREATED},,500,",
    ],
    "nodes.csv": [NODES, f"n0,4000,{32 * GIB}", f"n1,8000,{32 * GIB}"],
}
REJECTS = [
    ("containers.csv", 2, "node", f"default/p0,default/p0,n1,{CREATED},,2000,"),
    (
        "containers.csv",
        3,
        "departure_ms",
        f"default/p1,default/p1,n1,{CREATED},2026-01-01T00:20:00Z,500,",
    ),
    ("containers.csv", 4, "service", f"default/p2,other,n0,{CREATED},,500,"),
    ("nodes.csv", 2, "amount", f"n0,4000,{32 * GIB}"),
]


def _kubectl(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pods = (pod(f"p{at}", nodeName=f"n{at % 2}") for at in range(3))
    some = node("n0", labels={"pool": "a"}), node("n1", labels={"pool": "b"})
    written(folder / "kubernetes.json", listed(*some, *pods))
    return folder


def _rejects(store: Store) -> list[tuple[object, ...]]:
    sql = 'SELECT source_file, line, "column", text FROM reject ORDER BY 1, 2'
    with Database(store) as database:
        return database.frame(sql).rows()


def _stored(tmp_path: Path, own: Mapping[str, Sequence[str]], order: str) -> Store:
    if order == "together":
        ingest(folder_of(_kubectl(tmp_path / "both"), own), tmp_path / "store")
    else:
        folders = [_kubectl(tmp_path / "kubectl"), folder_of(tmp_path / "own", own)]
        for one in folders if order == "kubectl first" else reversed(folders):
            ingest(one, tmp_path / "store")
    return open_store(tmp_path / "store")


def _is_as_kubectl_says(store: Store) -> None:
    """One row per pod and resource; the replay and the query agree."""
    asked = read(store, "container_resource").filter(resource="cpu").sort("container")
    pods = [f"default/p{at}" for at in range(3)]
    assert asked.select("container", "request").rows() == [(one, 0.5) for one in pods]
    lives = read(store, "container").sort("container")
    assert lives.select("container", "service", "node", "departure_ms").rows() == [
        (one, one, f"n{at % 2}", None) for at, one in enumerate(pods)
    ]
    (cpu,) = run(store, "usage/requested_capacity").filter(resource="cpu").to_dicts()
    assert (cpu["capacity"], cpu["containers"], cpu["requested_in_all"]) == (16.0, 3, 1.5)
    load = workload(store)
    assert sorted(load.containers.ids) == pods
    assert load.containers.request[:, 0].tolist() == [500] * 3
    assert load.nodes.capacity[:, 0].tolist() == [8000, 8000]
    assert not list(damaged_parts(store.path, store.manifest.sources))


@pytest.mark.slow
@pytest.mark.parametrize("order", ["kubectl first", "together"])
def test_what_kubectl_says_otherwise_is_a_reject(tmp_path: Path, order: str) -> None:
    store = _stored(tmp_path, CONTRADICTING, order)
    assert _rejects(store) == REJECTS
    _is_as_kubectl_says(store)


@pytest.mark.slow
def test_what_kubectl_says_later_replaces_what_was_stated_before(tmp_path: Path) -> None:
    store = _stored(tmp_path, CONTRADICTING, "own first")
    _is_as_kubectl_says(store)
    otherwise = [one for one in doubts(store) if one.because == OTHERWISE]
    assert (3, "containers.csv") in [(one.value, one.about["file"]) for one in otherwise]
    told = run(store, "quality/ledger").filter(defect=OTHERWISE)
    assert sorted(told["table"]) == ["container", "container_resource", "node_resource"]


@pytest.mark.slow
@pytest.mark.parametrize("order", ["kubectl first", "together", "own first"])
def test_the_same_statement_is_no_matter_and_more_is_taken(tmp_path: Path, order: str) -> None:
    own = {
        "containers.csv": [
            f"{CONTAINERS},gpu",
            f"default/p0,default/p0,n0,{CREATED},,500,,1",
            f"default/p1,,n1,{CREATED},,500.0,,",
        ],
        "nodes.csv": [
            f"{NODES},pool,drive,price_per_hour",
            f"n0,8000,{32 * GIB},a,ssd,0.4",
            f"n1,8000,{32 * GIB},,hdd,0.5",
        ],
    }
    store = _stored(tmp_path, own, order)
    assert _rejects(store) == []
    _is_as_kubectl_says(store)
    assert read(store, "container_resource").filter(resource="gpu")["request"].to_list() == [1.0]
    twice = run(store, "quality/ledger").filter(defect=STATED_TWICE)
    assert twice.group_by("table").len().height == 3
    load = workload(store)
    assert load.nodes.price_per_hour is not None
    assert load.nodes.price_per_hour.tolist() == [0.4, 0.5]
    nodes, _ = nodes_of(read(store, "node"), read(store, "node_resource"))
    labels = [json.loads(str(one)) for one in nodes.sort("node")["labels"]]
    assert labels == [{"pool": "a", "drive": "ssd"}, {"pool": "b", "drive": "hdd"}]


def test_a_label_that_kubectl_states_otherwise_is_a_reject(tmp_path: Path) -> None:
    own = {"nodes.csv": [f"{NODES},pool", f"n0,8000,{32 * GIB},b", f"n1,8000,{32 * GIB},b"]}
    store = _stored(tmp_path, own, "together")
    assert [one[:3] for one in _rejects(store)] == [("nodes.csv", 2, "labels")]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_folder_of_both_is_the_same_store_by_any_number_of_jobs(
    tmp_path: Path, jobs: int
) -> None:
    both = folder_of(_kubectl(tmp_path / "both"), CONTRADICTING)
    ingest(both, tmp_path / "store", jobs=jobs)
    assert _rejects(open_store(tmp_path / "store")) == REJECTS
