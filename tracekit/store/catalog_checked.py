"""Whether a store's catalog is as it would be written here, as another would, or damaged."""

import tempfile
from pathlib import Path

from tracekit.base.opened import read_bytes
from tracekit.store.catalog import write_catalog_to
from tracekit.store.folder import CATALOG, Store

#: Of the main header of a DuckDB file, which has a checksum: the version of the library.
_VERSION = slice(52, 84)
_HELD = """
SELECT schema_name, view_name, sql FROM duckdb_views() WHERE database_name = 'read' AND NOT internal
UNION ALL
SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE database_name = 'read'
ORDER BY ALL
"""


def checked_catalog(store: Store) -> tuple[bool, str | None]:
    """Whether it is, byte by byte, what would be written here today; if not, its damage.

    There is no damage where it is gone, or where the store was moved or another version wrote it:
    it cannot be told then what its bytes were.
    """
    with tempfile.TemporaryDirectory() as aside:
        made, copy = Path(aside) / "made", Path(aside) / "copy"
        write_catalog_to(store, made, by_kept_views=False)
        try:
            found = read_bytes(store.path / CATALOG)
        except FileNotFoundError:
            return False, None
        except OSError as error:
            return False, error.strerror or str(error)
        wanted = made.read_bytes()
        if found == wanted:
            return True, None
        copy.write_bytes(found)
        return False, _damage(copy, found, made, wanted)


def _damage(copy: Path, found: bytes, made: Path, wanted: bytes) -> str | None:
    import duckdb  # noqa: PLC0415 - the processes that read and sort never get here

    try:
        holds = _held(copy)
    except (duckdb.Error, UnicodeDecodeError) as error:
        return f"cannot be read: {str(error).splitlines()[0]}"
    if found[_VERSION] != wanted[_VERSION] or holds != _held(made):
        return None
    return "is not what was written"


def _held(database: Path) -> list[tuple[str, ...]]:
    import duckdb  # noqa: PLC0415 - as above

    with duckdb.connect() as con:
        con.execute(f"ATTACH '{database}' AS read (READ_ONLY)")
        return con.execute(_HELD).fetchall()
