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
    The connection is yours: SQL in it reads and writes whatever files you may, as in DuckDB. SQL
    of others belongs into ``tracekit.query``, which only reads.
    The store's own catalog is made anew where the store was moved or copied.

    Parameters
    ----------
    store : a store's folder, or its URL on an object store

    Raises TracekitError for what is no store.
    """
    import duckdb

    from tracekit.store.catalog import mend_moved_catalog
    from tracekit.store.folder import open_store
    from tracekit.store.query.database import connection

    # the classes take neither subclasses of theirs nor attributes of single objects
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
