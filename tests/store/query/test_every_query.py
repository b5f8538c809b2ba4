"""Every file of queries/ does what its header says; DuckDB itself is the judge."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from tests_support import TraceFolder

from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store
from tracekit.store.query import Database, run
from tracekit.store.sqlfiles import all_queries

NAMES = list(all_queries())
#: A parameter as a statement uses it: its name and type.
PARAM = re.compile(r"coalesce\(getvariable\('(\w+)'\)::(\w+)")
#: What a column or parameter name may end in, and the unit that its documentation must state.
SUFFIX_UNITS = {
    "_ms": "ms",
    "_bytes": "bytes",
    "_cores": "cores",
    "_milli": "millicores",
    "_fraction": "0..1",
    "_share": "0..1",
}
UNIT = re.compile(r"\[([^\[\]]+)\]\.$")
COUNTED = {"BIGINT", "DOUBLE"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("store")
    traces = TraceFolder.written(folder / "traces")
    ingest(traces.path, folder / "store")
    return open_store(folder / "store")


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("empty")
    (folder / "Node_0.csv").write_text("timestamp,nodeid,node_cpu_usage,node_memory_usage\n")
    ingest(folder / "Node_0.csv", folder / "store")
    return open_store(folder / "store")


@pytest.fixture(scope="module")
def database(store: Store) -> Iterator[Database]:
    with Database(store) as opened:
        yield opened


@pytest.fixture(scope="module")
def empty_database(empty_store: Store) -> Iterator[Database]:
    with Database(empty_store) as opened:
        yield opened


def described(database: Database, name: str) -> list[tuple[str, str]]:
    frame = database.frame(f"DESCRIBE {all_queries()[name].select}")
    return list(zip(frame["column_name"], frame["column_type"], strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_the_header_is_whole(name: str) -> None:
    query = all_queries()[name]
    assert query.title
    assert not query.title.endswith(".")
    assert query.description.endswith(".")
    assert query.columns
    assert query.order
    assert query.run.startswith("duckdb ")
    assert f"queries/{name}.sql" in query.run
    for thing in (*query.params, *query.columns):
        assert thing.description.endswith("."), thing.name


@pytest.mark.parametrize("name", NAMES)
def test_the_columns_are_those_of_the_header(name: str, database: Database) -> None:
    expected = [(column.name, column.type) for column in all_queries()[name].columns]
    assert described(database, name) == expected


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_store_gives_the_same_columns(name: str, empty_database: Database) -> None:
    expected = [(column.name, column.type) for column in all_queries()[name].columns]
    assert described(empty_database, name) == expected
    rows = empty_database.frame(all_queries()[name].text)
    assert rows.columns == [column for column, _ in expected]


@pytest.mark.parametrize("name", NAMES)
def test_numbers_have_units_and_names_agree_with_them(name: str) -> None:
    for thing in (*all_queries()[name].params, *all_queries()[name].columns):
        if thing.type not in COUNTED:
            continue
        unit = UNIT.search(thing.description)
        assert unit, f"{thing.name} states no [unit]"
        for suffix, wanted in SUFFIX_UNITS.items():
            if thing.name.endswith(suffix):
                assert unit[1] == wanted, thing.name


@pytest.mark.parametrize("name", NAMES)
def test_the_parameters_are_those_of_the_header(name: str) -> None:
    query = all_queries()[name]
    used = {(name, kind.replace("STRING", "VARCHAR")) for name, kind in PARAM.findall(query.text)}
    assert used == {(param.name, param.type) for param in query.params}
    assert query.text.count("getvariable(") == len(re.findall(r"coalesce\(getvariable", query.text))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_one_select_that_reads_what_it_says(name: str) -> None:
    query = all_queries()[name]
    with duckdb.connect() as con:
        assert len(con.extract_statements(query.text)) == 1
        assert con.get_table_names(query.text) == set(query.reads)


@pytest.mark.parametrize("name", NAMES)
def test_rows_come_in_the_stated_order_and_the_same_each_time(
    name: str, store: Store, database: Database
) -> None:
    query = all_queries()[name]
    first, second = run(store, name), database.frame(query.text)
    assert first.equals(second)
    keys = first.select(query.order)
    falling = [column in query.falling for column in query.order]
    assert keys.equals(keys.sort(query.order, descending=falling, nulls_last=True))
    assert keys.is_unique().all()


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_unchanged_in_the_duckdb_cli(name: str, store: Store) -> None:
    cli = shutil.which(
        "duckdb", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    if cli is None:
        pytest.skip("the duckdb CLI is not installed (pip install duckdb-cli)")
    done = subprocess.run(
        [
            cli,
            "-readonly",
            "-csv",
            "-init",
            os.devnull,
            "catalog.duckdb",
            "-f",
            str(all_queries()[name].path),
        ],
        cwd=store.path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    header, *rows = done.stdout.splitlines()
    assert header.split(",") == [column.name for column in all_queries()[name].columns]
    assert len(rows) == run(store, name).height
