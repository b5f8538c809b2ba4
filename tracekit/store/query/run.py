"""Runs one query on a store, with its parameters checked against its header.

A statement of a user may only read tables of the store. This is the first wall of ``tracekit
query``: DuckDB parses the statement, and every part of it must be in the lists here, at any depth.
The second wall is that of the engine: see ``tracekit.store.query.database``.
"""

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from tracekit.base.errors import TracekitError, nearest
from tracekit.base.opened import read_bytes
from tracekit.base.shown import Shown
from tracekit.base.words import plural
from tracekit.store.doubts import doubts
from tracekit.store.folder import SourceEntry, Store
from tracekit.store.quantities import quantities
from tracekit.store.query.database import Database, Value, as_error
from tracekit.store.spark import SparkDatabase, check_engine, is_spark
from tracekit.store.sqlfiles import Described, SqlFile, get_query
from tracekit.store.tables import Table, all_tables


def run(
    store: Store,
    name: str,
    params: Mapping[str, Value | str] | None = None,
    *,
    engine: str | None = None,
    own: Mapping[str, pl.DataFrame] | None = None,
) -> pl.DataFrame:
    """Return the rows of a query of ``queries/`` (or of any SQL file) on a store.

    ``engine`` is a name for ``tracekit.store.query.run.open_database``. ``own`` has further tables
    that the query may read, by name.

    Raises TracekitError for an unknown query or parameter, or a value of the wrong type.
    """
    query = get_query(name)
    variables = bind(query, params or {})
    with open_database(store, engine) as database:
        for table, rows in (own or {}).items():
            database.add(table, rows)
        return database.frame(query.text, variables)


def bind(query: SqlFile, params: Mapping[str, Value | str]) -> dict[str, Value]:
    """Return parameters as values of the types that the query declares.

    Raises TracekitError for an undeclared name, which DuckDB would silently ignore.
    """
    declared = {param.name: param for param in query.params}
    bound: dict[str, Value] = {}
    for name, value in params.items():
        if name not in declared:
            raise _unknown_param(query, name, list(declared))
        bound[name] = _typed(query, declared[name], value)
    return bound


def _unknown_param(query: SqlFile, name: str, names: list[str]) -> TracekitError:
    close = nearest(name, names)
    listed = f"its parameters: {', '.join(names)}" if names else "it has no parameters"
    return TracekitError(
        f"query '{query.name}' has no parameter '{name}'",
        hint=f"did you mean '{close}'? {listed}" if close else listed,
    )


def _typed(query: SqlFile, param: Described, value: Value | str) -> Value:
    try:
        if param.type in {"BIGINT", "INTEGER"}:
            return int(str(value))
        if param.type == "DOUBLE":
            return float(str(value))
    except ValueError:
        raise TracekitError(
            f"parameter {param.name} of query '{query.name}' must be {param.type}, got '{value}'",
            hint=param.description or None,
        ) from None
    if param.type == "BOOLEAN":
        return _boolean(query, param, value)
    return str(value)


def _boolean(query: SqlFile, param: Described, value: Value | str) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    word = str(value).lower()
    if word not in words:
        raise TracekitError(
            f"parameter {param.name} of query '{query.name}' must be true or false, got '{value}'"
        )
    return words[word]


# What is in a store: tables, rows, times, steps, entities, source files.


class StoreInfo(Shown, dict[str, Any]):
    """The result of ``describe``; a notebook shows it as a table."""


class StoreCheck(Shown, dict[str, Any]):
    """The result of ``tracekit check``; a notebook shows it as a table."""


def describe(store: Store) -> StoreInfo:
    """Return what a store holds, as a dict: tables, quantities, doubts, sources.

    Each table with at least one source file has ``rows`` in the store, ``rows_read``,
    ``lines_read`` (a line may give several rows), ``rejected``, ``duplicates_dropped``,
    ``time_min_ms``, ``time_max_ms`` (over all rows), ``span_ms`` (without stray times), ``step_ms``
    and the number of each of its entities.
    """
    with Database(store) as database:
        grid = {row["table"]: row for row in database.rows(get_query("quality/time_grid").text)}
        tables = {
            table.name: _describe_table(store, table, database, grid.get(table.name))
            for table in all_tables().values()
            if store.manifest.parts(table.name)
        }
    return StoreInfo(
        tables=tables,
        quantities=quantities(store),
        doubts=[one.document() for one in doubts(store)],
        made_up=store.manifest.made_up,
        sources=[_source(entry) for entry in store.manifest.sources],
    )


def _describe_table(
    store: Store, table: Table, database: Database, grid: dict[str, Any] | None
) -> dict[str, Any]:
    parts = store.manifest.parts(table.name)
    described: dict[str, Any] = {
        name: sum(getattr(part, name) for part in parts)
        for name in ("rows", "rows_read", "rejected", "duplicates_dropped")
    }
    described["lines_read"] = sum(part.units_read for part in parts)
    starts = [part.time_min_ms for part in parts if part.time_min_ms is not None]
    ends = [part.time_max_ms for part in parts if part.time_max_ms is not None]
    described["time_min_ms"] = min(starts, default=None)
    described["time_max_ms"] = max(ends, default=None)
    described["span_ms"] = (described["time_max_ms"] or 0) - (described["time_min_ms"] or 0)
    if table.step:
        described["step_ms"] = grid["step_ms"] if grid else None
        described["stray_rows"] = grid["stray_rows"] if grid else 0
        if grid and grid["time_max_ms"] is not None:
            described["span_ms"] = grid["time_max_ms"] - grid["time_min_ms"]
    return described | _entity_counts(table, database)


def _entity_counts(table: Table, database: Database) -> dict[str, int]:
    """The number of distinct ids of each entity, over all its columns."""
    counts = {}
    for entity in table.entities:
        columns = [column.stored_name for column in table.ids if column.entity == entity]
        every = " UNION ALL ".join(f"SELECT {c} AS id FROM {table.name}_keyed" for c in columns)
        counts[plural(2, entity)] = database.scalar(f"SELECT count(DISTINCT id) FROM ({every})")
    return counts


def _source(entry: SourceEntry) -> dict[str, Any]:
    document = dataclasses.asdict(entry)
    document["defects"] = [dataclasses.asdict(defect) for defect in entry.defects]
    return document


# Which engine answers: DuckDB in this process, or Spark.

#: A database of either engine.
AnyDatabase = Database | SparkDatabase


def open_database(store: Store, engine: str | None = None) -> AnyDatabase:
    """Open a database on an engine, with the views of a store.

    Engines are ``duckdb``, ``spark:local[2]``, ``spark://HOST:PORT`` and so on.

    Raises TracekitError for an unknown engine, and for an engine that cannot be used.
    """
    check_engine(engine)
    return SparkDatabase(store, str(engine)) if is_spark(engine) else Database(store)


#: What a read is built of: queries, what stands in FROM, modifiers, the details of types.
_PARTS = frozenset({
    "SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE",
    "BASE_TABLE", "SUBQUERY", "JOIN", "EMPTY", "EXPRESSION_LIST", "PIVOT", "SHOW_REF",
    "TABLE_FUNCTION", "COLUMN_DATA",
    "ORDER_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "DISTINCT_MODIFIER",
    "ORDER_DEFAULT", "ASCENDING", "DESCENDING",
})  # fmt: skip
#: Table functions that make rows of their arguments, or list what a connection has.
_TABLE_FUNCTIONS = frozenset({
    "range", "generate_series", "unnest", "repeat", "repeat_row", "json_each", "json_tree",
    "summary", "histogram", "histogram_values", "test_all_types", "test_vector_types",
    "duckdb_columns", "duckdb_functions", "duckdb_keywords", "duckdb_schemas", "duckdb_tables",
    "duckdb_types", "duckdb_views", "pragma_table_info", "pragma_show", "pragma_version",
    "pg_timezone_names", "icu_calendar_names",
    "explode", "posexplode", "inline", "stack",
})  # fmt: skip
#: Functions of values that reach out of the statement; the last three call Java, on Spark.
_REACHING = frozenset(
    {"getenv", "write_log", "json_serialize_plan", "reflect", "java_method", "try_reflect"}
)
#: Where views and the tables about tables are; Spark would read a file in place of other schemas.
_SCHEMAS = frozenset({"", "main", "memory", "temp", "system", "information_schema", "pg_catalog"})
#: A table whose name has one of these may be a file.
_OF_FILES = re.compile(r"[./\\:*?\[]")
#: What stands before the statement that is explained; ANALYZE runs that statement.
_EXPLAIN = re.compile(r"\s*EXPLAIN\b\s*(ANALYZE\b)?\s*(\([^()]*\))?", re.IGNORECASE)
#: A PIVOT without its values is several statements, which DuckDB serializes none of: its words say
#: whether it could be more than a read.
_PIVOT = re.compile(r"[\s(]*(PIVOT|PIVOT_WIDER|UNPIVOT|SELECT|FROM|WITH)\b", re.IGNORECASE)
_NO_PIVOT = re.compile(
    rf"\b(COPY|INSERT|UPDATE|DELETE|MERGE|CREATE|{'|'.join(_REACHING)})\b", re.IGNORECASE
)
#: What Spark reads in another way than DuckDB: escapes in texts, and variables of the process.
_ELSE_ON_SPARK = re.compile(r"\\|\$\{")

_MORE = "a file of your own is a table by --read NAME=FILE; to do more: tracekit duckdb STORE"


def check_only_reads(sql: str, *, on_spark: bool = False) -> None:
    """Raise TracekitError unless the SQL is one statement that only reads tables of a store."""
    try:
        sql.encode()
        kinds = [one.type for one in duckdb.extract_statements(sql)]
    except duckdb.Error as error:
        raise as_error(error) from None
    except UnicodeEncodeError:
        raise TracekitError(
            "the SQL is no text in UTF-8", hint="set the locale to UTF-8: LC_ALL=C.UTF-8"
        ) from None
    except ValueError:  # a statement that the Python package has no name for
        raise _refused(sql.strip()[:60]) from None
    if len(kinds) != 1:
        raise TracekitError(
            f"{len(kinds)} SQL statements, expected one", hint="write one SELECT statement"
        )
    if on_spark and (one := _ELSE_ON_SPARK.search(sql)):
        raise TracekitError(f"SQL for Spark has '{one[0]}'", hint="write it for DuckDB, or without")
    if kinds[0] == duckdb.StatementType.EXPLAIN and _EXPLAIN.match(sql):
        check_only_reads(_EXPLAIN.sub("", sql, count=1), on_spark=on_spark)
    elif kinds[0] == duckdb.StatementType.SELECT:
        _check_parsed(sql)
    elif kinds[0] != duckdb.StatementType.MULTI or not _PIVOT.match(sql):
        raise _refused(kinds[0].name)
    elif one := _NO_PIVOT.search(sql):
        raise _refused(f"'{one[0]}' in a PIVOT without its values")


def _check_parsed(sql: str) -> None:
    with duckdb.connect() as con:
        row = con.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
    try:
        parsed = json.loads(row[0]) if row else {}
    except RecursionError:
        raise TracekitError("the SQL is nested too deeply", hint="name its parts: WITH") from None
    if "statements" not in parsed:
        raise _refused(f"no SELECT: {sql.strip()[:60]}")
    for node in _nodes(parsed["statements"]):
        _check(node)


def _nodes(parsed: Any) -> Iterator[dict[str, Any]]:
    """Every object of a parsed statement."""
    left = [parsed]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            yield one
            left += one.values()
        elif isinstance(one, list):
            left += one


def _check(node: dict[str, Any]) -> None:
    kind = node.get("type")
    if "info_type" in node:
        raise _refused(str(node["info_type"]))
    if "function_name" in node and str(node["function_name"]).lower() in _REACHING:
        raise _refused(f"{node['function_name']}()")
    if "class" in node or not isinstance(kind, str) or kind.endswith("_TYPE_INFO"):
        return
    if kind not in _PARTS:
        raise _refused(kind)
    function = node.get("function", {}).get("function_name", "")
    if kind == "TABLE_FUNCTION" and function.lower() not in _TABLE_FUNCTIONS:
        raise _refused(f"{function}()")
    schemas = {str(node.get(key, "")).lower() for key in ("schema_name", "catalog_name")}
    name = str(node.get("table_name", ""))
    if not schemas <= _SCHEMAS or _OF_FILES.search(name):
        raise _refused(f"the table '{name}'")


def _refused(what: str) -> TracekitError:
    return TracekitError(f"a query only reads the store's tables, and this has {what}", hint=_MORE)


# Tables of one's own beside those of a store: a file each, under a name.

_READERS: Mapping[str, Callable[[BytesIO], pl.DataFrame]] = {
    ".csv": lambda file: pl.read_csv(file, infer_schema_length=None),
    ".tsv": lambda file: pl.read_csv(file, separator="\t", infer_schema_length=None),
    ".parquet": pl.read_parquet,
    ".json": lambda file: pl.read_json(file, infer_schema_length=None),
    ".jsonl": lambda file: pl.read_ndjson(file, infer_schema_length=None),
}


def read_own_tables(files: Mapping[str, Path | str]) -> dict[str, pl.DataFrame]:
    """Read a user's files as tables; ``files`` and the result are by table name.

    Raises TracekitError for a name that is no SQL name, and for a file that is no table.
    """
    return {name: _read(name, Path(file)) for name, file in files.items()}


def _read(name: str, file: Path) -> pl.DataFrame:
    if not (name.isidentifier() and name.isascii()):
        raise TracekitError(
            f"'{name}' is no name of a table: {file}",
            hint="letters, digits and _, e.g. --read prices=prices-1.csv",
        )
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise TracekitError(f"{file} is no table", hint=f"its name ends in {', '.join(_READERS)}")
    try:
        return reader(BytesIO(read_bytes(file)))
    except pl.exceptions.PolarsError as error:
        first = str(error).partition("\n")[0]
        raise TracekitError(f"cannot read {file}: {first}") from error
