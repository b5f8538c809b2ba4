"""A container whose own row is a reject is one that nobody lists, whatever names it and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from cluster_support import workload, written
from facts_support import causes, the
from kubernetes_support import container, listed, node, pod
from kubernetes_support import written as document

from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact
from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store
from tracekit.store.query import Database, run
from tracekit.store.views import read

GIB = 2**30
NODES = ["node,cpu_milli,memory_bytes", f"n1,8000,{32 * GIB}", f"n2,8000,{32 * GIB}"]
CONTAINERS = [
    "container,arrival_ms,cpu_milli,memory_bytes,service,node",
    *(f"{one},0,1000,{GIB},s,n1" for one in "abcd"),
    f"x,0,1000,{GIB},s,n7",
]
ASKED = ["time_ms,container,resource,request,unit", "0,x,cpu,3,cores", "0,x,memory,2,GiB"]
USAGE = [
    "container,time_ms,cpu_milli,memory_bytes",
    *(f"{one},{at * 60_000},500,1e9" for one in "abcdx" for at in range(3)),
]
LISTS: Mapping[str, Sequence[str]] = {"nodes.csv": NODES, "containers.csv": CONTAINERS}
REQUESTS: Mapping[str, Sequence[str]] = {"container_resource.csv": ASKED}
USE: Mapping[str, Sequence[str]] = {"usage.csv": USAGE}
ROW = "its own row in containers.csv is a reject"
WHOLE: Sequence[Mapping[str, Sequence[str]]] = ({**LISTS, **REQUESTS, **USE},)


def _stored(
    tmp_path: Path, turns: Sequence[Mapping[str, Sequence[str]]], *, one: bool
) -> tuple[Store, tuple[Fact, ...]]:
    """The store of folders that are ingested one after another, and the doubts of the last."""
    doubts: tuple[Fact, ...] = ()
    for at, files in enumerate(turns):
        folder = written(tmp_path / ("traces" if one else str(at)), files)
        doubts = ingest(folder, tmp_path / "store").doubts
    return open_store(tmp_path / "store"), doubts


def _rejects(store: Store, name: str) -> list[tuple[object, ...]]:
    sql = f"SELECT line, reason FROM reject WHERE source_file = '{name}' ORDER BY 1"
    with Database(store) as database:
        return database.frame(sql).rows()


@pytest.mark.slow
@pytest.mark.parametrize("one", [False, True])
@pytest.mark.parametrize(
    "turns",
    [
        WHOLE,
        ({**LISTS, **USE}, REQUESTS),
        (LISTS, {**REQUESTS, **USE}),
        (LISTS, USE, REQUESTS),
        (REQUESTS, LISTS, USE),
        (REQUESTS, {**LISTS, **USE}),
        ({**REQUESTS, **USE}, LISTS),
        (USE, LISTS, REQUESTS),
    ],
)
def test_all_agree_on_what_is_requested(
    tmp_path: Path, turns: Sequence[Mapping[str, Sequence[str]]], *, one: bool
) -> None:
    store, _ = _stored(tmp_path, turns, one=one)
    capacity = {row["resource"]: row for row in run(store, "usage/requested_capacity").to_dicts()}
    assert [capacity[name]["containers"] for name in ("cpu", "memory")] == [4, 4]
    assert [capacity[name]["requested_in_all"] for name in ("cpu", "memory")] == [4.0, 4.0 * GIB]
    assert [row["containers"] for row in run(store, "services/requests").to_dicts()] == [4]
    load = workload(store)
    assert sorted(load.container_ids) == ["a", "b", "c", "d"]
    assert load.request[:, 0].tolist() == [1000] * 4
    assert set(read(store, "container_usage")["container"]) == set("abcd")


def test_what_names_it_is_a_reject_that_says_so(tmp_path: Path) -> None:
    store, doubts = _stored(tmp_path, WHOLE, one=True)
    assert not {"use_of_rejects", "use_of_unlisted"} & {*causes(doubts)}
    both = f"is 'x', expected a container of the files beside; {ROW}"
    assert _rejects(store, "usage.csv") == [(line, both) for line in (14, 15, 16)]
    stored = f"is 'x', expected a container of the files beside or of the store; {ROW}"
    assert _rejects(store, "container_resource.csv") == [(2, stored), (3, stored)]


@pytest.mark.slow
def test_what_the_store_has_of_a_list_holds(tmp_path: Path) -> None:
    """A node that is known now makes no row of an earlier reject."""
    folder = written(tmp_path / "traces", LISTS)
    ingest(folder, tmp_path / "store")
    written(folder, {**REQUESTS, "nodes_2.csv": [NODES[0], f"n7,8000,{32 * GIB}"]})
    ingest(folder, tmp_path / "store")
    store = open_store(tmp_path / "store")
    assert [line for line, _ in _rejects(store, "container_resource.csv")] == [2, 3]
    assert ROW in str(_rejects(store, "container_resource.csv")[0][1])
    assert "x" not in read(store, "container_resource")["container"].to_list()


def test_the_stores_own_list_is_read_alike(tmp_path: Path) -> None:
    files = {
        "container.csv": ["time_ms,container,priority", "5,ok,", "5,bad,high", "soon,late,"],
        "container_resource.csv": [
            ASKED[0],
            *(f"5,{one},cpu,1,cores" for one in ("ok", "bad", "late", "other")),
        ],
    }
    store, _ = _stored(tmp_path, (files,), one=True)
    row = "; its own row in container.csv is a reject"
    assert _rejects(store, "container_resource.csv") == [
        (line, f"is '{one}', expected a container of the files beside{end}")
        for line, one, end in ((3, "bad", row), (4, "late", row), (5, "other", ""))
    ]


USED = ("cpu,0.5,cores", "memory,1,GiB")
AMOUNTS = [
    "time_ms,container,resource,amount,unit",
    *(f"{at},{one},{use}" for one in "ax" for at in (0, 60_000) for use in USED),
]


@pytest.mark.parametrize("strange", [False, True])
def test_use_of_it_is_a_doubt_of_its_own(tmp_path: Path, *, strange: bool) -> None:
    lines = [*AMOUNTS, "0,ghost,cpu,0.5,cores"] if strange else AMOUNTS
    store, doubts = _stored(tmp_path, ({**LISTS, "container_amount.csv": lines},), one=True)
    rejected = ("use_of_rejects", 4, "x (containers.csv, line 6)")
    unlisted = [("use_of_unlisted", 1, "ghost")] if strange else []
    of_use = [(one.because, one.value, one.about.get("example")) for one in doubts]
    assert of_use[: 1 + strange] == [rejected, *unlisted]
    assert set(read(store, "container_usage")["container"]) == {"a"}


def test_a_pod_that_kubectl_has_on_an_unknown_node(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "traces",
        {
            "container_resource.csv": [ASKED[0], "0,default/y,cpu,2,cores"],
            "container_amount.csv": [
                AMOUNTS[0],
                *(f"{at},default/{one},cpu,0.5,cores" for one in ("p", "y") for at in (0, 60_000)),
            ],
        },
    )
    pods = [pod("p", nodeName="n1", containers=[container("1")]), pod("y", nodeName="typo")]
    document(folder / "cluster.json", listed(node("n1"), *pods))
    doubt = the(ingest(folder, tmp_path / "store").doubts, "use_of_rejects")
    assert str(doubt.about["example"]).startswith("default/y (cluster.json, object")
    (cpu,) = (
        run(open_store(tmp_path / "store"), "usage/requested_capacity")
        .filter(resource="cpu")
        .to_dicts()
    )
    assert (cpu["containers"], cpu["requested_in_all"]) == (1, 1.0)


def test_where_most_lists_are_rejects_these_are_named(tmp_path: Path) -> None:
    asked = [ASKED[0], *(f"0,{one},cpu,1,cores" for one in "abc")]
    rows = [CONTAINERS[0], f"a,0,1000,{GIB},s,n1", *(f"{one},0,1000,{GIB},s,n7" for one in "bc")]
    turns = ({"container_resource.csv": asked}, {"nodes.csv": NODES, "containers.csv": rows})
    store, _ = _stored(tmp_path, turns, one=False)
    with pytest.raises(TracekitError) as found:
        workload(store)
    assert (
        "container 'b' has a request and is not in the table container, nor is 1 other of 3"
        in found.value.what
    )
    assert "line 3: is 'n7'" in found.value.what
    assert found.value.hint == (
        'each broken row: tracekit query STORE "FROM reject WHERE \\"table\\" = \'container\'";'
        " mend these, and ingest all into a new store"
    )


LATE = ("rejects_listed_later", 2, "node 'n0' in containers.csv (line 3)")


@pytest.mark.slow
@pytest.mark.parametrize(("node_name", "listed_later"), [("n0", [LATE]), ("n5", [])])
def test_rejects_of_before_that_would_be_taken_now_are_a_doubt(
    tmp_path: Path, node_name: str, listed_later: list[tuple[str, int, str]]
) -> None:
    rows = [CONTAINERS[0], f"a,0,1000,{GIB},s,n1", f"b,0,1000,{GIB},s,n0"]
    asked = [ASKED[0], "0,default/p4,gpu,1,count"]
    files = {"nodes.csv": NODES, "containers.csv": rows, "container_resource.csv": asked}
    folder = written(tmp_path / "traces", files)
    assert not ingest(folder, tmp_path / "store").doubts
    name = "p4" if listed_later else "p5"
    pods = [pod(name, nodeName=node_name, containers=[container("1")])]
    document(folder / "cluster.json", listed(node(node_name), *pods))
    late = ingest(folder, tmp_path / "store").doubts
    assert [(one.because, one.value, one.about["example"]) for one in late] == listed_later
