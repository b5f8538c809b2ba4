"""The store's own tables beside wide files: held against them, in the file's own terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from cluster_support import store_of, workload
from cluster_support import written as folder_of
from facts_support import the

from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store
from tracekit.store.query import Database, run
from tracekit.store.views import read

GIB = 2**30
ASKED = "time_ms,container,resource,request,limit,unit"
CLUSTER: Mapping[str, Sequence[str]] = {
    "containers.csv": [
        "container,service,node,arrival_ms,cpu_milli,memory_bytes",
        f"a,web,n1,0,500,{GIB}",
        f"b,web,n2,0,500,{GIB}",
    ],
    "nodes.csv": ["node,cpu_milli,memory_bytes", f"n1,8000,{32 * GIB}", f"n2,8000,{32 * GIB}"],
}


def _rejects(store: Store) -> list[tuple[object, ...]]:
    sql = 'SELECT source_file, line, "column", text FROM reject ORDER BY 1, 2'
    with Database(store) as database:
        return database.frame(sql).rows()


def _stored(tmp_path: Path, more: Mapping[str, Sequence[str]], *, later: bool) -> Store:
    if not later:
        return store_of(tmp_path, {**CLUSTER, **more})
    store = store_of(tmp_path, CLUSTER)
    ingest(folder_of(tmp_path / "later", more), store.path)
    return open_store(store.path)


@pytest.mark.slow
@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("0,a,cpu,900,2000,millicores", "request"),
        ("0,b,memory,16,,GiB", "request"),
        ("0,a,cpu,0.5,1,cores", "limit"),
        ("0,zz,cpu,1,1,cores", "container"),
        # the same, and a resource that is not stated yet
        ("0,a,cpu,500,,millicores", None),
        ("0,a,gpu,1,,count", None),
    ],
)
def test_requests_are_held_against_containers(
    tmp_path: Path, line: str, column: str | None, *, later: bool
) -> None:
    store = _stored(tmp_path, {"container_resource.csv": [ASKED, line]}, later=later)
    rejects = [] if column is None else [("container_resource.csv", 2, column, line)]
    assert _rejects(store) == rejects
    asked = read(store, "container_resource").filter(resource="cpu").sort("container")
    assert asked.select("container", "request", "limit").rows() == [
        ("a", 0.5, None),
        ("b", 0.5, None),
    ]
    (cpu,) = run(store, "usage/requested_capacity").filter(resource="cpu").to_dicts()
    assert (cpu["containers"], cpu["requested_in_all"]) == (2, 1.0)
    assert workload(store).request[:, 0].tolist() == [500, 500]


def test_a_request_of_a_later_time_is_a_change(tmp_path: Path) -> None:
    line = "60000,a,cpu,900,,millicores"
    store = _stored(tmp_path, {"container_resource.csv": [ASKED, line]}, later=False)
    assert _rejects(store) == []
    (cpu,) = run(store, "usage/requested_capacity").filter(resource="cpu").to_dicts()
    assert (cpu["requested_in_all"], workload(store).request[0, 0]) == (1.4, 500)


def test_use_of_a_node_that_nobody_lists_is_a_doubt(tmp_path: Path) -> None:
    use = ["time_ms,node,resource,amount,unit", "0,n1,cpu,1,cores", "0,n9,cpu,1,cores"]
    folder = folder_of(tmp_path / "traces", {**CLUSTER, "node_amount.csv": use})
    doubt = the(ingest(folder, tmp_path / "store").doubts, "use_of_unlisted")
    assert (doubt.value, doubt.about["table"], doubt.about["example"]) == (1, "node_amount", "n9")


TIME = "2026-01-31T08:00:00Z"
DATED: Mapping[str, Sequence[str]] = {
    "nodes.csv": CLUSTER["nodes.csv"],
    "containers.csv": [
        "container,node,arrival_ms,departure_ms,cpu_milli,memory_bytes,labels",
        f'a,n1,{TIME},,500,{GIB},"{{""app"": ""x""}}"',
        f'h,n9,{TIME},,500,{GIB},"{{""app"": ""x""}}"',
        f"a,n2,{TIME},2026-01-31T09:00:00Z,500,{GIB},",
        f"b,n1,2026-01-31T09:00:00Z,{TIME},500,{GIB},",
    ],
    "usage.csv": [
        "container,time_ms,cpu_milli",
        "a,2026-01-31T07:00:00Z,5",
        "a,,5",
        "a,2026-01-31T10:00:00Z,x",
    ],
    "container_usage.csv": [
        "time_ms,container,node,service,cpu_fraction,memory_fraction",
        f"{TIME},a,n1,s,-1,0.5",
    ],
}


def test_a_reject_shows_the_line_as_it_stands(tmp_path: Path) -> None:
    found = _rejects(store_of(tmp_path, DATED))
    assert {(name, line) for name, line, *_ in found} == {
        *(("containers.csv", line) for line in (3, 4, 5)),
        *(("usage.csv", line) for line in (2, 3, 4)),
        ("container_usage.csv", 2),
    }
    for name, line, _, text in found:
        assert text == DATED[str(name)][int(str(line)) - 1]
    columns = {(name, line): column for name, line, column, _ in found}
    assert columns["usage.csv", 2] == "time_ms"
    assert columns["containers.csv", 5] == "departure_ms"
