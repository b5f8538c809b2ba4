"""Checks the files of a store: parts, quality tables and catalog are as ingest wrote them."""

import io
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base.files.places import parquet_file
from tracekit.base.files.result_folder import Damage, as_damage, damaged
from tracekit.base.opened import read_bytes
from tracekit.store.broken_rows import SOURCES, quality_tables, write_quality_table
from tracekit.store.catalog import write_catalog_to
from tracekit.store.folder import CATALOG, SourceEntry, Store


def damaged_parts(folder: Path, entries: Iterable[SourceEntry]) -> Iterator[Damage]:
    """The missing and changed files of these entries; reads every file."""
    for entry in entries:
        yield from damaged(folder, entry.checksums, entry.file)


def damaged_quality(store: Store) -> Iterator[Damage]:
    """The quality tables that differ from the manifest, from which they are made.

    Quality tables are written after the manifest: after a killed ingest they lack its last source
    file, which is no damage. A table with other bytes than today's is damaged, unless another
    version of the library wrote it.
    """
    for path, wanted in quality_tables(store.manifest.sources):
        try:
            with parquet_file(store.path / path) as file:
                found, writer = file.read(), file.metadata.created_by
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            yield as_damage(path, "unreadable", why=error)
            continue
        if not found.equals(wanted.slice(0, found.num_rows)):
            yield as_damage(path, "stands apart")
        elif (
            found.num_rows == wanted.num_rows
            and writer == _writer()
            and not _is_as_written(store.path / path, wanted)
        ):
            yield as_damage(path, "changed")


def stale_quality(store: Store) -> Iterator[str]:
    """The quality tables that differ from those that would be written today.

    Another version of a library wrote them, or they have damage that looks like that.
    """
    for path, wanted in quality_tables(store.manifest.sources):
        if not _is_as_written(store.path / path, wanted):
            yield path


def _is_as_written(path: Path, table: pa.Table) -> bool:
    buffer = io.BytesIO()
    write_quality_table(table, buffer)
    return read_bytes(path) == buffer.getvalue()


def _writer() -> str:
    buffer = io.BytesIO()
    write_quality_table(pa.table({}), buffer)
    return str(pq.read_metadata(buffer).created_by)


def unfinished(store: Store) -> bool:
    """Whether the quality tables lack a source file, because an ingest was killed."""
    path, wanted = next(one for one in quality_tables(store.manifest.sources) if one[0] == SOURCES)
    try:
        found = parquet_file(store.path / path).metadata.num_rows
    except (OSError, pa.ArrowException):
        return False
    return bool(found < wanted.num_rows)


#: Of the main header of a DuckDB file, which has a checksum: the version of the library.
_VERSION = slice(52, 84)
_HELD = """
SELECT schema_name, view_name, sql FROM duckdb_views() WHERE database_name = 'read' AND NOT internal
UNION ALL
SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE database_name = 'read'
ORDER BY ALL
"""


def checked_catalog(store: Store) -> tuple[bool, str | None]:
    """Whether the catalog equals the one that would be written today, byte by byte; and its damage.

    The damage is None where the catalog is missing, the store was moved, or another version wrote
    the catalog: its original bytes are then unknown.
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
