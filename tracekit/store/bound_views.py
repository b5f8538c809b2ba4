"""The views of ``queries/`` for a catalog, bound once and then copied.

DuckDB binds a view when it makes it, which takes a sixth of a second for all of ``queries/``. What
it binds hangs on the queries and on the columns that they read, not on a store's files. So the
bound views are kept beside compiled code, under a digest of all that, and copied: a copy is not
bound again. The digest of a copy's own bytes is in its name too: one whose bytes are others is not
used.
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
#: Of a digest, in the name of a copy.
_DIGITS = 16
_COLUMNS = """
SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns()
WHERE database_name = ? ORDER BY schema_name, table_name, column_index
"""


def copy_query_views(
    con: DuckDBPyConnection, target: str, schemas: Sequence[str], *, by_kept: bool = True
) -> None:
    """Put the views of ``queries/`` into each of these schemas of an attached database.

    The schemas have the base tables. A damaged or missing copy is made anew.

    Parameters
    ----------
    by_kept : use a copy, and keep one; without it all views are bound
    """
    digest = _digest(con, target) if by_kept else None
    if digest is not None and _copied_from_kept(con, digest, target):
        return
    con.execute(f"ATTACH ':memory:' AS {_BOUND}")
    try:
        _bind(con, target, schemas)
        if digest is not None:
            _keep(con, digest)
        con.execute(f"COPY FROM DATABASE {_BOUND} TO {target}")
    finally:
        _detach(con)


def _copied_from_kept(con: DuckDBPyConnection, digest: str, target: str) -> bool:
    """Whether a copy that is as it was written could be used."""
    import duckdb  # noqa: PLC0415 - the processes that read and sort never get here

    for kept in kept_folder().glob(f"views-{digest}-*.duckdb"):
        with suppress(duckdb.Error, OSError):
            if kept == _named(digest, kept):
                _copied(con, kept, target)
                return True
    return False


def _named(digest: str, written: Path) -> Path:
    """The name that a copy of these bytes is kept under."""
    own = hashlib.sha256(written.read_bytes()).hexdigest()[:_DIGITS]
    return kept_folder() / f"views-{digest}-{own}.duckdb"


def _digest(con: DuckDBPyConnection, target: str) -> str:
    """What the bound views hang on."""
    import duckdb  # noqa: PLC0415 - as above

    columns = con.execute(_COLUMNS, [target]).fetchall()
    told = repr((duckdb.__version__, list(query_views()), columns))
    return hashlib.sha256(told.encode()).hexdigest()[:_DIGITS]


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


def _keep(con: DuckDBPyConnection, digest: str) -> None:
    """Write the bound views to a file for the next call; where that fails the next binds anew."""
    import duckdb  # noqa: PLC0415 - as above

    written = kept_folder() / f"views-{digest}.{os.getpid()}"
    with suppress(OSError, duckdb.Error):
        con.execute(f"ATTACH '{quoted(written)}' AS kept")
        try:
            con.execute(f"COPY FROM DATABASE {_BOUND} TO kept")
        finally:
            con.execute("USE memory")
            con.execute("DETACH kept")
        kept = _named(digest, written)
        for other in kept_folder().glob(f"views-{digest}-*.duckdb"):
            if other != kept:
                other.unlink(missing_ok=True)
        written.replace(kept)
    with suppress(OSError):
        written.unlink(missing_ok=True)


def _detach(con: DuckDBPyConnection) -> None:
    con.execute("USE memory")
    con.execute(f"DETACH {_BOUND}")
