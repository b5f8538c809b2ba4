"""A DuckDB connection with the views of a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb


def connect(store: Path | str) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection with every table and query of a store as a view, from any folder.

    ``connect("mystore").sql("FROM usage_zone_summary")`` has its rows as ``.pl()``, ``.df()`` of
    pandas and ``.to_arrow_table()``. The database is in memory: nothing in it changes the store.
    SQL in the connection reads and writes files as in DuckDB. ``tracekit.query`` is for foreign
    SQL, as it only reads.
    The catalog of a store that was moved or copied is made anew.

    Parameters
    ----------
    store : a store's folder, or its URL on an object store

    Raises TracekitError for any other folder.
    """
    import duckdb

    from tracekit.store.catalog import mend_moved_catalog
    from tracekit.store.folder import open_store
    from tracekit.store.query.database import connection

    # DuckDB's classes allow no subclasses and no attributes of single objects
    duckdb.DuckDBPyConnection._repr_html_ = _html  # type: ignore[attr-defined]
    duckdb.DuckDBPyRelation._repr_html_ = _rows_html  # type: ignore[attr-defined]
    opened = open_store(store)
    mend_moved_catalog(opened)
    return connection(opened)


def _html(opened: duckdb.DuckDBPyConnection) -> str:
    """A connection as a notebook shows it: its tables and queries."""
    from tracekit.report.notebook import html_of_rows

    named = "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY view_name"
    tables = "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_name"
    cursor = opened.cursor()
    names = [row[0] for sql in (tables, named) for row in cursor.execute(sql).fetchall()]
    return html_of_rows(f"DuckDB: {len(names)} tables and queries", ["name"], [[n] for n in names])


def _rows_html(relation: duckdb.DuckDBPyRelation) -> str:
    """The first rows of a relation, as a notebook shows them."""
    from tracekit.report.notebook import ROWS, html_of_frame

    frame = relation.limit(ROWS).pl()
    return html_of_frame(f"first {frame.height} rows of {frame.width} columns", frame)
