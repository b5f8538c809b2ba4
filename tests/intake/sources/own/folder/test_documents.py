"""A container whose row breaks the form of a column is a reject, and the others are replayed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tracekit.base.errors import TracekitError
from tracekit.base.seeds import stream
from tracekit.cluster.sized.workload import sized_assumptions, workload_from_sizes
from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
from tracekit.store.query import Database

ALTERNATIVES = (
    "a JSON list of alternatives, each a list of requirements, as"
    ' [[{"key":"shape","operator":"In","values":["t"]}]]'
)
NODES = "node,cpu_milli,memory_bytes\nn0,8000,17179869184\n"


def _store(folder: Path, **files: str) -> Path:
    (folder / "own").mkdir()
    for name, text in {"nodes": NODES, **files}.items():
        (folder / "own" / f"{name}.csv").write_text(text)
    ingest(folder / "own", folder / "store")
    return folder / "store"


def _asking(*names: str) -> str:
    """The store's own table of requests: a core for each."""
    rows = (f"5,{name},cpu,1,,cores" for name in names)
    return "\n".join(["time_ms,container,resource,request,limit,unit", *rows]) + "\n"


def _replayed(store: Path) -> tuple[str, ...]:
    load = workload_from_sizes(open_store(store), sized_assumptions(()), stream(0, "test"))
    return load.container_ids


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("priority", "high", "a number"),
        ("priority", "nan", "a number"),
        ("gang_minimum", "-1", "a number, 0 or more"),
        ("apart_most", "0", "a number, 1 or more"),
        ("numa_cells", "-1", "a number, 1 or more"),
        ("daemon", "maybe", "a number, 0 or more"),
        ("selector", "nonsense", ALTERNATIVES),
        ("selector", '"[{""matchExpressions"": [{""key"": ""shape""}]}]"', ALTERNATIVES),
        ("selector", '"[[{""values"": [""t""]}]]"', ALTERNATIVES),
        ("tolerations", '"{""key"": 1}"', "a JSON list"),
        ("labels", "[1]", "a JSON object"),
    ],
)
def test_a_row_of_another_form_is_one_reject(
    tmp_path: Path, column: str, value: str, expected: str
) -> None:
    text = (
        f"container,arrival_ms,cpu_milli,memory_bytes,{column}\n"
        f"ok,5,1000,1073741824,\nbad,5,1000,1073741824,{value}\n"
    )
    store = _store(tmp_path, containers=text)
    with Database(open_store(store)) as database:
        rows = database.frame("SELECT source_file, line, reason FROM reject").rows()
    assert [row[:2] for row in rows] == [("containers.csv", 3)]
    assert rows[0][2].endswith(f"expected {expected}"), rows
    assert _replayed(store) == ("ok",)


def test_requests_of_a_container_that_is_not_listed_are_left_out_and_told(tmp_path: Path) -> None:
    """Where requests come before any list, the row of one may be broken."""
    store = _store(tmp_path, container_resource=_asking("ok", "also", "bad"))
    rows = "time_ms,container,priority\n5,ok,\n5,also,\n5,bad,high\n"
    (tmp_path / "container.csv").write_text(rows)
    ingest(tmp_path / "container.csv", store)
    load = workload_from_sizes(open_store(store), sized_assumptions(()), stream(0, "test"))
    assert load.container_ids == ("ok", "also")
    assert load.facts["containers_not_listed"] == 1


def test_a_file_that_lists_containers_is_asked_for_where_most_are_unknown(tmp_path: Path) -> None:
    store = _store(tmp_path, container_resource=_asking("ok", "a", "b"))
    (tmp_path / "container.csv").write_text("time_ms,container\n5,ok\n")
    ingest(tmp_path / "container.csv", store)
    with pytest.raises(TracekitError, match="container 'a' has a request and is not in the table"):
        _replayed(store)


def test_what_a_good_document_is(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "container": ["a", "b"],
            "arrival_ms": [5, 5],
            "cpu_milli": [1000, 1000],
            "memory_bytes": [2**30, 2**30],
            "tolerations": ['[{"key": "k", "operator": "Exists"}]', None],
            "selector": [" ", '[[{"key":"shape","operator":"NotIn","values":["t"]}]]'],
        }
    )
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "nodes.csv").write_text(NODES)
    frame.write_csv(tmp_path / "own" / "containers.csv")
    ingest(tmp_path / "own", tmp_path / "store")
    assert _replayed(tmp_path / "store") == ("a", "b")
