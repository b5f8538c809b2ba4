"""Nothing that is given to ``query`` writes a file or reads one outside of the store."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from store_support import tiny_store

import tracekit
from tracekit.base.errors import TracekitError
from tracekit.commands.shell import run
from tracekit.store.folder import open_store
from tracekit.store.query import Database
from tracekit.store.query.run import check_only_reads

_CONTENT = "4f1c9be7"
#: In a CTE, in an explanation and in front of a PIVOT: the body runs in all of them.
_BODIES = [
    "COPY (SELECT 1) TO '{at}'",
    "COPY (SELECT 1) TO '{store}/manifest.json' (FORMAT csv)",
    "COPY (SELECT 1 AS a) TO '{folder}' (FORMAT parquet, PARTITION_BY (a), OVERWRITE)",
    "COPY node_usage TO '{store}/new.csv'",
    "INSERT INTO node_usage SELECT * FROM node_usage",
    "UPDATE node_usage SET cpu_fraction = 0",
    "DELETE FROM node_usage",
]
_ROUND = [
    "{}",
    "EXPLAIN ANALYZE {}",
    "WITH x AS ({}) SELECT 1 AS a",
    "WITH x AS MATERIALIZED ({}), y AS (SELECT 2 AS a) FROM y",
    "EXPLAIN ANALYZE WITH x AS ({}) SELECT 1",
    "WITH x AS ({}) PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b)",
    "WITH x AS ({}) PIVOT (SELECT 1 AS a, 2 AS b) ON a IN (1) USING sum(b)",
    "SELECT (WITH x AS ({}) SELECT 1)",
    "FROM (WITH x AS ({}) SELECT 1)",
    "WITH RECURSIVE x AS ({}) SELECT 1 UNION ALL SELECT 2",
    "SELECT 1; {}",
    "PREPARE p AS {}",
]
_ALONE = [
    "FROM read_text('{at}')",
    "FROM '{at}'",
    "FROM read_csv('{store}/../outside/secret.csv')",
    "FROM main.read_csv_auto(['{at}'])",
    "SELECT (SELECT content FROM read_blob('{at}'))",
    "SELECT * FROM node_usage WHERE node IN (FROM '{at}')",
    "DESCRIBE '{at}'",
    "SUMMARIZE '{at}'",
    "FROM (SHOW '{at}')",
    "FROM sniff_csv('{at}')",
    "FROM glob('{folder}/*')",
    "FROM read_text('{store}/manifest.json')",
    "FROM query('FROM ''{at}''')",
    "FROM query_table('{at}')",
    "FROM parquet_metadata('{at}')",
    'FROM parquet."{at}"',
    "FROM csv.`{at}`",
    "PIVOT (FROM '{at}') ON v",
    "PIVOT (SELECT getenv('HOME') AS a) ON a",
    "FROM read_csv('http://127.0.0.1:9/a.csv')",
    "FROM 's3://b/a.parquet'",
    "FROM json_execute_serialized_sql(json_serialize_sql('FROM read_text(''{at}'')'))",
    "SELECT json_serialize_plan('FROM read_csv(''{at}'')')",
    "SELECT getenv('HOME')",
    "SELECT write_log('x')",
    "SELECT reflect('java.lang.System', 'getenv', 'HOME')",
    "FROM enable_logging(storage='file', storage_config={{'path': '{folder}'}})",
    "FROM enable_profiling(save_location='{folder}/x')",
    "FROM checkpoint()",
    "FROM duckdb_secrets()",
    "EXPORT DATABASE '{folder}/x'",
    "IMPORT DATABASE '{folder}'",
    "ATTACH '{folder}/x.duckdb' AS x",
    "CREATE TABLE t AS SELECT 1",
    "CREATE OR REPLACE VIEW node_usage AS SELECT 1",
    "COPY (PIVOT (SELECT 1 a, 2 b) ON a USING sum(b)) TO '{folder}/x'",
    "INSTALL httpfs",
    "FORCE INSTALL httpfs FROM community",
    "LOAD '{at}'",
    "UPDATE EXTENSIONS",
    "SET enable_external_access = true",
    "RESET ALL",
    "PRAGMA enable_profiling",
    "PRAGMA database_list",
    "CALL enable_logging()",
    "USE memory",
    "VACUUM",
    "CHECKPOINT",
    "BEGIN",
    "SELECT 1; SELECT 2",
    "SELEC 1 FROM x",
    "SELECT '\udce9' AS a",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_store(tmp_path_factory.mktemp("reads")).path


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store, and beside it a folder with a file that is none of the store's."""
    shutil.copytree(made, tmp_path / "store")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.csv").write_text(f"v\n{_CONTENT}\n")
    monkeypatch.setenv("HOME", f"{tmp_path}/{_CONTENT}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _files(folder: Path) -> dict[str, bytes | None]:
    every = folder.rglob("*")
    return {str(one): one.read_bytes() if one.is_file() else None for one in every}


def _filled(sql: str, folder: Path) -> str:
    outside = folder / "outside"
    return sql.format(at=outside / "secret.csv", folder=outside, store=folder / "store")


@pytest.mark.parametrize(
    "sql", [*(shape.format(_BODIES[at % len(_BODIES)]) for at, shape in enumerate(_ROUND)), *_ALONE]
)
def test_what_does_more_than_read_is_refused(
    folder: Path, sql: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = _filled(sql, folder)
    before = _files(folder)
    assert run(["query", "store", text]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert [line.split(":")[0] for line in printed.err.splitlines()] in (
        ["error"],
        ["error", " hint"],
    )
    assert _CONTENT not in printed.err.replace(text, "").replace(str(folder), "")
    assert _files(folder) == before
    (folder / "own.sql").write_text(text, errors="surrogateescape")
    assert run(["query", "store", "own.sql"]) == 2
    (folder / "own.sql").unlink()
    assert _files(folder) == before


@pytest.mark.parametrize("sql", ["COPY (SELECT 1) TO '{at}'", "FROM '{at}'", "LOAD httpfs"])
def test_behind_the_first_wall_the_engine_refuses_too(folder: Path, sql: str) -> None:
    before = _files(folder)
    with Database(open_store(folder / "store")) as database, pytest.raises(TracekitError):
        database.frame(_filled(sql, folder))
    assert _files(folder) == before


READING = [
    "PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b)",
    "FROM (PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b))",
    "EXPLAIN SELECT 1",
    "EXPLAIN ANALYZE SELECT 1",
    "SUMMARIZE node_usage",
    "DESCRIBE node_usage",
    "SHOW TABLES",
    "FROM information_schema.tables",
    "FROM duckdb_columns()",
    "VALUES (1)",
    'WITH "my nodes" AS (TABLE node_usage) SELECT DISTINCT node FROM "my nodes" ORDER BY ALL',
    "WITH RECURSIVE x AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM x WHERE a < 3) FROM x",
    """SELECT node, row_number() OVER (ORDER BY a.time_ms) FROM node_usage a JOIN node_usage b
    USING (node) WHERE a.cpu_fraction::DECIMAL(4, 3) BETWEEN 0 AND 1 QUALIFY true LIMIT 10%""",
    """SELECT list_transform([1], lambda x: x + 1), {'a': 1}, (SELECT max(time_ms) FROM node_usage),
    CASE WHEN true THEN INTERVAL 1 DAY::VARCHAR END, 'COPY' FROM range(2), unnest([1])""",
    "FROM node_usage TABLESAMPLE 100% UNION BY NAME SELECT DISTINCT ON (node) * FROM node_usage",
    "SELECT 1 WHERE '' NOT IN ({})".format(",".join(f"'a-node-of-a-name-{n}'" for n in range(600))),
]


@pytest.mark.parametrize("sql", READING)
def test_what_only_reads_is_answered(folder: Path, sql: str) -> None:
    assert tracekit.query(folder / "store", sql).height


@pytest.mark.parametrize("sql", ["SELECT '\\', reflect('a', 'b') , ''", "SELECT '${env:HOME}'"])
def test_what_spark_reads_in_another_way_is_refused(sql: str) -> None:
    check_only_reads(sql.replace("reflect", "concat"))
    with pytest.raises(TracekitError):
        check_only_reads(sql, on_spark=True)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "json", "jsonl"])
def test_a_table_of_ones_own_stands_beside_those_of_the_store(folder: Path, ending: str) -> None:
    nodes = tracekit.query(folder / "store", "SELECT DISTINCT node FROM node_usage ORDER BY node")
    prices = nodes.with_columns(price=pl.int_range(pl.len()) / 4)
    writers: dict[str, Callable[[Path], object]] = {
        "csv": prices.write_csv,
        "tsv": lambda file: prices.write_csv(file, separator="\t"),
        "parquet": prices.write_parquet,
        "json": prices.write_json,
        "jsonl": prices.write_ndjson,
    }
    writers[ending](folder / f"prices.{ending}")
    sql = "SELECT DISTINCT node, price FROM node_usage JOIN prices USING (node) ORDER BY node"
    read = {"prices": folder / f"prices.{ending}"}
    assert tracekit.query(folder / "store", sql, read=read).equals(prices)


@pytest.mark.parametrize("name", ["manifest.json", "rows.json", "tables/new.json"])
def test_rows_are_not_written_into_a_store(name: str, folder: Path) -> None:
    store = folder / "store"
    files = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    command = ["query", str(store), "SELECT 1 AS a", "--out", str(store / name), "--format", "json"]
    assert run(command) == 2
    assert {path: path.read_bytes() for path in store.rglob("*") if path.is_file()} == files
