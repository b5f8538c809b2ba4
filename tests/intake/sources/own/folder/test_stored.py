"""A folder that is ingested into a store of another one: what the store has counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from cluster_support import written

from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store
from tracekit.store.query import Database
from tracekit.store.views import read

GIB = 2**30
NODES = "node,cpu_milli,memory_bytes,price_per_hour,rack"
CONTAINERS = "container,service,node,arrival_ms,cpu_milli,memory_bytes"
CLUSTER: Mapping[str, Sequence[str]] = {
    "nodes.csv": [NODES, f"n0,8000,{32 * GIB},1.0,r1", f"n1,8000,{32 * GIB},1.0,"],
    "containers.csv": [
        CONTAINERS,
        f"a,s,n0,0,1000,{GIB}",
        f"b,s,n0,0,-5,{GIB}",
        f"c,s,n1,0,1000,{GIB}",
    ],
}


def _rejects(store: Store, name: str) -> list[tuple[int, str]]:
    sql = f"SELECT line, \"column\" FROM reject WHERE source_file = '{name}' ORDER BY 1, 2"
    with Database(store) as database:
        return [(int(line), str(why)) for line, why in database.frame(sql).rows()]


def _twice(folder: Path, second: Mapping[str, Sequence[str]]) -> tuple[Store, list[str]]:
    ingest(written(folder / "one", CLUSTER), folder / "store")
    summary = ingest(written(folder / "two", second), folder / "store")
    return open_store(folder / "store"), summary.again


def test_a_mended_file_is_not_counted_on_top(tmp_path: Path) -> None:
    lines = [one.replace("-5", "1000") for one in CLUSTER["containers.csv"]]
    store, again = _twice(tmp_path, {**CLUSTER, "containers.csv": lines})
    assert again == ["containers.csv"]
    assert sorted(read(store, "container")["container"]) == ["a", "b", "c"]
    cpu = read(store, "container_resource").filter(resource="cpu")
    assert cpu["request"].to_list() == [1.0] * 3
    assert store.manifest.parts("container")[1].duplicates_dropped == 2
    # the reject of the file before is what it was: a new store is without it
    assert len(_rejects(store, "containers.csv")) == 1


USE = "container,time_ms,cpu_milli,memory_bytes"
LATER: Mapping[str, Sequence[str]] = {
    "nodes_2.csv": [NODES, f"n2,8000,{32 * GIB},1.0,r1"],
    "containers_2.csv": [CONTAINERS, f"d,s,n1,0,1000,{GIB}", f"e,s,n2,0,1000,{GIB}"],
    "usage_2.csv": [USE, *(f"{one},60000,500,5e8" for one in "acde")],
    "background_2.csv": ["node,time_ms,cpu_milli", "n0,60000,5", "n2,60000,5"],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        [*LATER],
        ["containers_2.csv", "nodes_2.csv"],
        ["nodes_2.csv", "usage_2.csv", "containers_2.csv"],
    ],
)
def test_a_later_folder_may_name_what_the_store_lists(tmp_path: Path, names: list[str]) -> None:
    store, _ = _twice(tmp_path, {name: LATER[name] for name in names})
    assert not any(_rejects(store, name) for name in names)
    placed = read(store, "container").select("container", "node").rows()
    assert sorted(placed) == [("a", "n0"), ("c", "n1"), ("d", "n1"), ("e", "n2")]
    used = read(store, "container_amount")["container"].unique().sort().to_list()
    assert used == (["a", "c", "d", "e"] if "usage_2.csv" in names else [])


@pytest.mark.parametrize(
    ("name", "lines", "column"),
    [
        ("containers_2.csv", LATER["containers_2.csv"], "node"),
        ("usage_2.csv", [USE, "a,0,5,5e8", "b,0,5,5e8"], "container"),
        ("background_2.csv", LATER["background_2.csv"], "node"),
    ],
)
def test_who_neither_the_store_nor_a_file_lists_is_a_reject(
    tmp_path: Path, name: str, lines: Sequence[str], column: str
) -> None:
    store, _ = _twice(tmp_path, {name: lines})
    assert _rejects(store, name) == [(3, column)]


def test_where_nobody_lists_nodes_containers_may_name_any(tmp_path: Path) -> None:
    first = {"containers.csv": CLUSTER["containers.csv"]}
    ingest(written(tmp_path / "one", first), tmp_path / "store")
    later = {"containers_2.csv": LATER["containers_2.csv"]}
    ingest(written(tmp_path / "two", later), tmp_path / "store")
    assert not _rejects(open_store(tmp_path / "store"), "containers_2.csv")
