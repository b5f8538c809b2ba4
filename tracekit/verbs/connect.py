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

    Parameters
    ----------
    store : a store's folder, or its URL on an object store

    Raises TracekitError for what is no store.
    """
    from tracekit.query.database import connection
    from tracekit.store import open_store

    return connection(open_store(store))
