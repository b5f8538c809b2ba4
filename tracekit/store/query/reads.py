"""Whether a statement only reads the tables of a store: the first wall of ``tracekit query``.

The statement is parsed by DuckDB and walked. What may stand in it is listed here; everything else
is refused, in any nesting. The second wall is the engine's: see ``tracekit.store.query.database``.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.base.opened import read_bytes
from tracekit.store.query.database import as_error

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
    """Raise TracekitError unless this is one statement, which only reads tables of a store."""
    try:
        sql.encode()
        kinds = [one.type for one in duckdb.extract_statements(sql)]
    except duckdb.Error as error:
        raise as_error(error) from error
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
    """The rows of each file, by the name of its table.

    Raises TracekitError for a name that SQL cannot have, and a file that holds no table.
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
