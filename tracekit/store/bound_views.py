"""The views of ``queries/`` for a catalog, bound once and then copied.

DuckDB binds a view when it makes it, which takes a sixth of a second for all of ``queries/``. What
it binds hangs on the queries and on the columns that they read, not on a store's files. So the
bound views are kept beside compiled code, under a digest of all that, and copied: a copy is not
bound again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.kept import kept_folder
from tracekit.store.views import query_views, quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: The name of the database of bound views while it is attached.
_BOUND = "bound"
_COLUMNS = """
SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns()
WHERE database_name = ? ORDER BY schema_name, table_name, column_index
"""


def copy_query_views(con: DuckDBPyConnection, target: str, schemas: Sequence[str]) -> None:
    """Put the views of ``queries/`` into each of these schemas of an attached database.

    The schemas have the base tables. A damaged or missing copy is made anew.
    """
    import duckdb  # noqa: PLC0415 - the processes that read and sort never get here

    kept = kept_folder() / f"views-{_digest(con, target)}.duckdb"
    if kept.is_file():
        with suppress(duckdb.Error):
            _copied(con, kept, target)
            return
    con.execute(f"ATTACH ':memory:' AS {_BOUND}")
    try:
        _bind(con, target, schemas)
        _keep(con, kept)
        con.execute(f"COPY FROM DATABASE {_BOUND} TO {target}")
    finally:
        _detach(con)


def _digest(con: DuckDBPyConnection, target: str) -> str:
    """What the bound views hang on."""
    import duckdb  # noqa: PLC0415 - as above

    columns = con.execute(_COLUMNS, [target]).fetchall()
    told = repr((duckdb.__version__, list(query_views()), columns))
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def _copied(con: DuckDBPyConnection, kept: Path, target: str) -> None:
    con.execute(f"ATTACH '{quoted(kept)}' AS {_BOUND} (READ_ONLY)")
    try:
        con.execute(f"COPY FROM DATABASE {_BOUND} TO {target}")
    finally:
        _detach(con)


def _bind(con: DuckDBPyConnection, target: str, schemas: Sequence[str]) -> None:
    """Make the views in the database of bound views, over the base tables of the target."""
    con.execute("BEGIN")
    for schema in schemas:
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {_BOUND}.{schema}")
        con.execute(f"SET search_path = '{target}.{schema},{_BOUND}.{schema}'")
        for statement in query_views(f"{_BOUND}.{schema}."):
            con.execute(statement)
    con.execute("COMMIT")


def _keep(con: DuckDBPyConnection, kept: Path) -> None:
    """Write the bound views to a file for the next call; where that fails the next binds anew."""
    import duckdb  # noqa: PLC0415 - as above

    written = kept.with_name(f"{kept.name}.{os.getpid()}")
    with suppress(OSError, duckdb.Error):
        con.execute(f"ATTACH '{quoted(written)}' AS kept")
        try:
            con.execute(f"COPY FROM DATABASE {_BOUND} TO kept")
        finally:
            con.execute("USE memory")
            con.execute("DETACH kept")
        written.replace(kept)
    with suppress(OSError):
        written.unlink(missing_ok=True)


def _detach(con: DuckDBPyConnection) -> None:
    con.execute("USE memory")
    con.execute(f"DETACH {_BOUND}")
