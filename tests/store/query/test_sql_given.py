"""SQL itself instead of the name of a query: one statement that only reads."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from store_support import tiny_store

import tracekit
from tracekit.base.errors import TracekitError
from tracekit.commands.shell import run
from tracekit.store.sqlfiles import get_query


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
    with pytest.raises(TracekitError):
        tracekit.query(store, sql, {"most": "5"})


EVERY_TYPE = sorted(
    str(row[0])
    for row in duckdb.execute(
        "SELECT column_name FROM (DESCRIBE SELECT * FROM test_all_types())"
    ).fetchall()
)
FORMATS = ("--json", "--format=csv", "--format=table")


@pytest.mark.parametrize("column", EVERY_TYPE)
def test_a_value_of_any_type_is_printed_or_refused_in_one_line(
    store: Path, tmp_path: Path, column: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The least and the largest of each type, and none: intervals, blobs, infinite times."""
    sql = f'SELECT "{column}" AS value FROM test_all_types()'
    for words in [*([one] for one in FORMATS), ["--out", str(tmp_path / "x.parquet")]]:
        code = run(["query", str(store), sql, *words])
        printed = capsys.readouterr()
        if code == 0:
            assert printed.err == ""
            if "json" in words[0]:
                json.loads(printed.out)
            continue
        assert code == 2
        error, hint = printed.err.splitlines()
        assert "column 'value'" in error
        assert 'CAST("value" AS VARCHAR)' in hint
        as_text = sql.replace(f'"{column}"', f'CAST("{column}" AS VARCHAR)')
        assert run(["query", str(store), as_text, *words]) == 0
        capsys.readouterr()


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


def test_what_is_explained_is_shown(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("EXPLAIN", "explain analyze", "EXPLAIN (FORMAT json)"):
        assert run(["query", str(store), f"{word} SELECT 1 AS a"]) == 0
        assert capsys.readouterr().out


UNUSUAL = (
    "SELECT 'nan'::DOUBLE AS n, 'inf'::DOUBLE AS i, [1, 2] AS l, {'a': 'inf'::DOUBLE} AS s,"
    " '\\xAA'::BLOB AS b, NULL::INTEGER[] AS e"
)


def test_unusual_values_have_a_spelling_in_json_and_csv(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["query", str(store), UNUSUAL, "--json"]) == 0
    wanted = {"n": None, "i": None, "l": [1, 2], "s": {"a": None}, "b": "aa", "e": None}
    assert json.loads(capsys.readouterr().out)["rows"] == [wanted]
    assert run(["query", str(store), UNUSUAL, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [wanted]
    assert run(["query", str(store), UNUSUAL, "--format", "csv"]) == 0
    assert capsys.readouterr().out == ('n,i,l,s,b,e\nNaN,inf,"[1, 2]","{""a"": null}",aa,\n')


COMMENTED = [
    "-- a comment\nSELECT 1 AS one",
    "--a comment\nSELECT 1 AS one",
    "-- only\n\nSELECT 1 one",
]


@pytest.mark.parametrize("sql", COMMENTED)
def test_sql_that_begins_with_a_comment_is_sql(
    store: Path,
    sql: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run(["query", str(store), sql, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["rows"], shown["query"]) == ([{"one": 1}], sql)
    started: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda _, words: started.append(words))
    monkeypatch.setattr("shutil.which", lambda *_, **__: "/bin/duckdb")
    assert run(["duckdb", str(store), sql]) == 0
    assert [words[-1].strip() for words in started] == [sql]


def test_the_text_of_a_query_is_sql(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = get_query("usage/zone_summary").text
    assert text.startswith("-- title:")
    assert run(["query", str(store), text, "--format", "csv"]) == 0
    given = capsys.readouterr().out
    assert run(["query", str(store), "usage/zone_summary", "--format", "csv"]) == 0
    assert given == capsys.readouterr().out


OUTPUTS = [
    ["--out", "{0}/z.csv", "--json"],
    ["--format", "csv", "--json"],
    ["--out", "{0}/b.xlsx"],
    ["--out", "{0}/b.tsv"],
    ["--out", "{0}/b.csv.gz"],
    ["--out", "{0}/b.xlsx", "--format", "csv"],
    ["--out", "{0}/b.json", "--format", "csv"],
]


@pytest.mark.parametrize("words", OUTPUTS)
def test_an_output_that_is_two_things_is_refused(
    store: Path, tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = [word.format(tmp_path) for word in words]
    assert run(["query", str(store), "usage/zone_summary", *wanted]) == 2
    assert (capsys.readouterr().out, list(tmp_path.iterdir())) == ("", [])


@pytest.mark.parametrize(
    ("name", "more", "begins"),
    [
        ("z.csv", [], b"one\n1"),
        ("z", [], b"one\n1"),
        ("z.txt", [], b"one\n1"),
        ("z.JSON", [], b"[\n"),
        ("z.parquet", [], b"PAR1"),
        ("z", ["--format", "parquet"], b"PAR1"),
        ("z.csv", ["--format", "csv"], b"one\n1"),
    ],
)
def test_a_file_is_what_its_name_says(
    store: Path, tmp_path: Path, name: str, more: list[str], begins: bytes
) -> None:
    out = tmp_path / name
    assert run(["query", str(store), "SELECT 1 AS one", "--out", str(out), *more]) == 0
    assert out.read_bytes().startswith(begins)
