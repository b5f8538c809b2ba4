"""The views: base tables with their original ids, queries, and the quality tables.

The same statements serve ``catalog.duckdb`` inside the store, for the plain duckdb CLI, and
tracekit's own connections. Paths are absolute, or relative to the store.
"""

import re
from collections.abc import Callable, Container, Iterator
from pathlib import Path

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.base.files.places import parquet_file, scan_parquet
from tracekit.base.opened import check_file
from tracekit.store.broken_rows import DEFECTS, SOURCES, has_lines
from tracekit.store.folder import Store
from tracekit.store.sqlfiles import all_queries, in_reading_order
from tracekit.store.tables import Column, Table, all_entities, all_tables

NAME = "node_usage_steps"
_TABLE = "node_usage"
_BY_TIME = "PARTITION BY node_key ORDER BY time_ms"
_COLUMNS = ("time_ms", "cpu_fraction", "memory_fraction")


def steps_view(store: Store, *, in_file_order: bool) -> Iterator[str]:
    """Yield a ``CREATE VIEW`` with the step and the changes since the node's previous sample.

    The step and changes are NULL for a row without a previous sample.

    The rows of one part are in the order of node and time. If an engine keeps the order of the file
    (``in_file_order``), the previous row is the previous sample and nothing is sorted, which is a
    fifth of the work. Several parts are always sorted.
    """
    quick = in_file_order and len(store.table_files(_TABLE)) == 1
    before = ", ".join(
        f"lag({name}) OVER ({'' if quick else _BY_TIME}) AS {name}_before" for name in _COLUMNS
    )
    if quick:
        before += ", lag(node_key) OVER () AS node_key_before"
    changes = ", ".join(
        f"{_of_same_node(f'{name} - {name}_before', quick=quick)} AS {alias}"
        for name, alias in zip(_COLUMNS, ("step_ms", "cpu_change", "memory_change"), strict=True)
    )
    yield (
        f"CREATE VIEW {NAME} AS SELECT node_key, time_ms, {changes} FROM"
        f" (SELECT node_key, {', '.join(_COLUMNS)}, {before} FROM {_TABLE}_keyed) AS beside"
    )


def _of_same_node(change: str, *, quick: bool) -> str:
    return f"CASE WHEN node_key = node_key_before THEN {change} END" if quick else change


Scan = Callable[[list[Path]], str]

_PATTERN = re.compile(r"[*?\[]")

#: Where tables and views are told.
LISTED = "tables and views of a store: tracekit list tables"


def check_free(name: str, taken: Container[str]) -> None:
    """Raise TracekitError if a table of the store has the name of a user's own table."""
    if name.lower() in taken:
        raise TracekitError(
            f"--read: the store has a table '{name}'", hint=f"another name: --read my_{name}=FILE"
        )


def query_views(schema: str = "") -> Iterator[str]:
    """Yield ``CREATE VIEW`` statements for the files of ``queries/``, each after those it reads.

    ``schema`` is put before each view's name, and ends in a dot.
    """
    for query in in_reading_order(all_queries()):
        yield f"CREATE VIEW {schema}{query.view_name} AS {query.select}"


def base_views(
    store: Store, *, relative: bool, scan: Scan | None = None, ordered: bool = True
) -> Iterator[str]:
    """Yield ``CREATE VIEW`` statements for the base tables, dimensions, rejects and quality tables.

    ``scan`` makes the SQL that reads Parquet files; by default DuckDB's. Without ``ordered`` no
    statement depends on the order of rows in files, because the plain CLI may not keep it.
    """
    in_file_order = scan is None and ordered and not relative
    scan = scan or _scan
    root = Path() if relative else store.path.resolve()
    for entity in all_entities():
        yield _dimension_view(store, entity, root, scan)
    for table in all_tables().values():
        yield from _table_views(store, table, root, scan)
    yield from steps_view(store, in_file_order=in_file_order)
    yield _rejects_view(store, root, scan)
    yield _file_view("source_defect", root / DEFECTS, scan)
    # the view has the column in every store
    lines = "*" if has_lines(store.manifest.sources) else "*, CAST(NULL AS BIGINT) AS lines_read"
    yield _file_view("source_file", root / SOURCES, scan, lines)


def _dimension_view(store: Store, entity: str, root: Path, scan: Scan) -> str:
    files = [root / file.relative_to(store.path) for file in store.dimension_files(entity)]
    if not files:
        return (
            f"CREATE VIEW {entity}_id AS SELECT CAST(NULL AS INTEGER) AS {entity}_key,"
            f" CAST(NULL AS VARCHAR) AS {entity} WHERE false"
        )
    return (
        f"CREATE VIEW {entity}_id AS SELECT key AS {entity}_key, id AS {entity} FROM {scan(files)}"
    )


def _table_views(store: Store, table: Table, root: Path, scan: Scan) -> Iterator[str]:
    """The table with its original ids, and ``<table>_keyed``: as stored, quicker to aggregate."""
    files = [root / file.relative_to(store.path) for file in store.table_files(table.name)]
    if not files:
        yield _empty_view(f"{table.name}_keyed", table, keyed=True)
        yield _empty_view(table.name, table, keyed=False)
        return
    newer = "".join(
        f", CAST(NULL AS {one.sql_type}) AS {one.name}"
        for one in _newer_than(store.table_files(table.name)[0], table)
    )
    yield f"CREATE VIEW {table.name}_keyed AS SELECT *{newer} FROM {scan(files)}"
    columns = ", ".join(_view_column(column) for column in table.columns)
    joins = " ".join(
        f"LEFT JOIN {column.entity}_id AS d_{column.name}"
        f" ON d_{column.name}.{column.entity}_key = t.{column.stored_name}"
        for column in table.ids
    )
    yield f"CREATE VIEW {table.name} AS SELECT {columns} FROM {table.name}_keyed AS t {joins}"


def _newer_than(part: Path, table: Table) -> list[Column]:
    """The columns that a table got after a part was written; none of a part that is damaged."""
    absent = [one for one in table.columns if one.often_absent and one.kind != "id"]
    if not absent:
        return []
    try:
        with parquet_file(part) as file:
            stored = set(file.schema_arrow.names)
    except (OSError, ValueError, TracekitError):  # whoever reads it says what is wrong with it
        return []
    return [one for one in absent if one.name not in stored]


def _empty_view(name: str, table: Table, *, keyed: bool) -> str:
    columns = []
    for column in table.columns:
        if column.kind != "id" or not keyed:
            columns.append(f"CAST(NULL AS {column.sql_type}) AS {column.name}")
        if column.kind == "id":
            columns.append(f"CAST(NULL AS INTEGER) AS {column.stored_name}")
    return f"CREATE VIEW {name} AS SELECT {', '.join(columns)} WHERE false"


def _view_column(column: Column) -> str:
    if column.kind == "id":
        return f"d_{column.name}.{column.entity} AS {column.name}, t.{column.stored_name}"
    return f"t.{column.name}"


def _rejects_view(store: Store, root: Path, scan: Scan) -> str:
    parts = [
        f"SELECT '{table}' AS \"table\", * FROM"
        f" {scan([root / f.relative_to(store.path) for f in store.reject_files(table)])}"
        for table in all_tables()
        if store.reject_files(table)
    ]
    empty = (
        'SELECT CAST(NULL AS VARCHAR) AS "table", CAST(NULL AS VARCHAR) AS source_file,'
        ' CAST(NULL AS BIGINT) AS line, CAST(NULL AS VARCHAR) AS "column",'
        " CAST(NULL AS VARCHAR) AS reason, CAST(NULL AS VARCHAR) AS text WHERE false"
    )
    return f"CREATE VIEW reject AS {' UNION ALL '.join([*parts, empty])}"


def _file_view(name: str, path: Path, scan: Scan, columns: str = "*") -> str:
    return f"CREATE VIEW {name} AS SELECT {columns} FROM {scan([path])}"


def _scan(files: list[Path]) -> str:
    for file in files:
        if isinstance(file, Path) and file.is_absolute() and file.exists():
            check_file(file)  # DuckDB would wait for who writes into a pipe
    listed = ", ".join(f"'{quoted_plain(file)}'" for file in files)
    return f"read_parquet([{listed}])"


def quoted_plain(path: Path) -> str:
    """Return a path escaped for a quoted SQL string, with DuckDB's patterns ``*?[`` escaped too."""
    return _PATTERN.sub(r"[\g<0>]", quoted(path))


def quoted(path: Path) -> str:
    """Return a path escaped for a quoted SQL string, without the quotes."""
    return path.as_posix().replace("'", "''")


def read(store: Store, name: str) -> pl.DataFrame:
    """Return a table of a store with its ids as texts: the rows of all parts, in their order."""
    table = all_tables()[name]
    files = store.table_files(name)
    kinds = {"time": pl.Int64, "number": pl.Float64, "id": pl.String, "text": pl.String}
    if not files:
        return pl.DataFrame(schema={c.name: kinds[c.kind] for c in table.columns})
    rows = scan_parquet(*files).collect()
    for column in table.ids:
        assert column.entity is not None  # noqa: S101 - ids have one
        ids = ids_of(store, column.entity)
        rows = rows.with_columns(
            pl.Series(column.name, ids.gather(rows[column.stored_name]), pl.String)
        )
    lacking = [c for c in table.columns if c.name not in rows.columns]  # of an older store
    rows = rows.with_columns(pl.lit(None, kinds[c.kind]).alias(c.name) for c in lacking)
    return rows.select(column.name for column in table.columns)


def ids_of(store: Store, entity: str) -> pl.Series:
    """Return the original ids of an entity; the position of an id is its key."""
    files = store.dimension_files(entity)
    if not files:
        return pl.Series(entity, [], dtype=pl.String)
    return scan_parquet(*files).select("key", "id").collect().sort("key")["id"]
