"""SQL itself instead of the name of a query: one statement that only reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from store_support import tiny_store

import tracekit
from tracekit.cli import run
from tracekit.errors import TracekitError


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_store(tmp_path_factory.mktemp("sql")).path


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT zone, nodes FROM usage_zone_summary",
        "FROM usage_zone_summary SELECT zone, nodes;",
        "WITH z AS (FROM usage_zone_summary) SELECT zone, nodes FROM z\n",
    ],
)
def test_a_statement_gives_the_rows_of_the_view(store: Path, sql: str) -> None:
    expected = tracekit.query(store, "usage/zone_summary").select("zone", "nodes")
    assert expected.height
    assert tracekit.query(store, sql).equals(expected)


def test_it_may_use_parameters(store: Path) -> None:
    sql = "SELECT coalesce(getvariable('least')::BIGINT, 3) AS least"
    assert tracekit.query(store, sql).item() == 3
    assert tracekit.query(store, sql, {"least": "5"}).item() == 5
    with pytest.raises(TracekitError, match="no parameter 'most'"):
        tracekit.query(store, sql, {"most": "5"})


REFUSED = [
    ("COPY node_usage TO '{0}/x.csv'", "a query only reads, and this is COPY"),
    ("CREATE TABLE '{0}' AS SELECT 1", "a query only reads, and this is CREATE"),
    ("ATTACH '{0}/x.duckdb' AS x", "a query only reads, and this is ATTACH"),
    ("SELECT 1; SELECT 2", "2 SQL statements, expected one"),
    ("SELEC zone FROM y", "SQL: Parser Error"),
    ("SELECT zone FROM usage_zone_sumary", "SQL: Catalog Error"),
]


@pytest.mark.parametrize(("sql", "said"), REFUSED)
def test_what_does_more_than_read_is_refused(
    store: Path, tmp_path: Path, sql: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["query", str(store), sql.format(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {said}")
    assert list(tmp_path.iterdir()) == []


def test_json_names_its_schema_and_spells_no_nan(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = "SELECT 1 AS one, 'nan'::DOUBLE AS none"
    assert run(["query", str(store), sql, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema": "tracekit/query/1",
        "query": sql,
        "columns": {"one": "Int32", "none": "Float64"},
        "rows": [{"one": 1, "none": None}],
    }


def test_a_table_of_it_has_no_title_of_sql(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["query", str(store), "SELECT 1 AS one"]) == 0
    assert "SELECT" not in capsys.readouterr().out
