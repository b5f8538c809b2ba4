"""What is in a store: tables, rows, times, steps, entities, source files."""

import dataclasses
from typing import Any

from tracekit.base.shown import Shown
from tracekit.store.doubts import doubts
from tracekit.store.folder import Store
from tracekit.store.manifest import SourceEntry
from tracekit.store.quantities import quantities
from tracekit.store.query.database import Database
from tracekit.store.sqlfiles import get_query
from tracekit.store.tables import Table, all_tables

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
