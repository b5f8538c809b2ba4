"""Runs one query on a store, with its parameters checked against its header."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import polars as pl

from tracekit.base.errors import TracekitError, nearest
from tracekit.base.shown import Shown
from tracekit.store.doubts import doubts
from tracekit.store.folder import Store
from tracekit.store.manifest import SourceEntry
from tracekit.store.quantities import quantities
from tracekit.store.query.database import Database, Value
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
    """The rows of a query of ``queries/`` (or of any SQL file) on a store.

    ``engine`` is what ``tracekit.store.query.run.open_database`` understands; ``own`` are tables
    beside those of the store, by name.

    Raises TracekitError for an unknown query or parameter, or a value of the wrong type.
    """
    query = get_query(name)
    variables = bind(query, params or {})
    with open_database(store, engine) as database:
        for table, rows in (own or {}).items():
            database.add(table, rows)
        return database.frame(query.text, variables)


def bind(query: SqlFile, params: Mapping[str, Value | str]) -> dict[str, Value]:
    """The parameters as values of their declared types; unknown names are refused.

    DuckDB ignores a misspelt variable and takes the default, so the check must be here.
    """
    known = {param.name: param for param in query.params}
    bound: dict[str, Value] = {}
    for name, value in params.items():
        if name not in known:
            raise _unknown_param(query, name, list(known))
        bound[name] = _typed(query, known[name], value)
    return bound


def _unknown_param(query: SqlFile, name: str, known: list[str]) -> TracekitError:
    close = nearest(name, known)
    listed = f"its parameters: {', '.join(known)}" if known else "it has no parameters"
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

#: How ``tracekit info`` calls the number of distinct entities.
_PLURAL = {
    "node": "nodes",
    "service": "services",
    "container": "containers",
    "trace": "traces",
    "interface": "interfaces",
}


class StoreInfo(Shown, dict[str, Any]):
    """What ``describe`` tells of a store, which shows itself."""


class StoreCheck(Shown, dict[str, Any]):
    """What ``tracekit check`` tells of a store, which shows itself."""


def describe(store: Store) -> StoreInfo:
    """The store as one document: tables, quantities, doubts, sources.

    For each table with at least one source file: ``rows`` in the store, ``rows_read``,
    ``lines_read`` (of which one may give several rows), ``rejected``, ``duplicates_dropped``,
    ``time_min_ms``, ``time_max_ms`` (over all rows), ``span_ms`` (stray times left out),
    ``step_ms`` and the number of each entity it speaks of.
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
    """Distinct ids of each entity; an entity in two columns is counted over both."""
    counts = {}
    for entity in table.entities:
        columns = [column.stored_name for column in table.ids if column.entity == entity]
        every = " UNION ALL ".join(f"SELECT {c} AS id FROM {table.name}_keyed" for c in columns)
        counts[_PLURAL[entity]] = database.scalar(f"SELECT count(DISTINCT id) FROM ({every})")
    return counts


def _source(entry: SourceEntry) -> dict[str, Any]:
    document = dataclasses.asdict(entry)
    document["defects"] = [dataclasses.asdict(defect) for defect in entry.defects]
    return document


# Which engine answers: DuckDB in this process, or Spark.

#: What answers queries, whatever stands behind it.
AnyDatabase = Database | SparkDatabase


def open_database(store: Store, engine: str | None = None) -> AnyDatabase:
    """A store's views on an engine: ``duckdb``, ``spark:local[2]``, ``spark://HOST:PORT``, ...

    Raises TracekitError for an engine that is not known or not to be had.
    """
    check_engine(engine)
    return SparkDatabase(store, str(engine)) if is_spark(engine) else Database(store)
