"""The catalog ``catalog.duckdb`` of a store, and checks that all files are as ingest wrote them.

The catalog has views for the plain duckdb CLI. The views name their files by full paths, so that
the catalog opens from any folder; DuckDB has no paths relative to a database. The schema ``here``
has the same views with paths relative to the store: they work after the store was moved, from
inside the store.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base.errors import TracekitError, system_error
from tracekit.base.files.durable import LOCK, locked, put
from tracekit.base.files.places import check_no_link, is_remote, parquet_file
from tracekit.base.files.result_folder import Damage, as_damage, damaged
from tracekit.base.folders import cache_folder
from tracekit.base.opened import read_bytes
from tracekit.store.broken_rows import SOURCES, quality_tables, write_quality, write_quality_table
from tracekit.store.folder import CATALOG, SourceEntry, Store, written_of_store
from tracekit.store.views import base_views, query_views, quoted, quoted_plain

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# DuckDB binds a view when it creates it, which takes a sixth of a second for all of ``queries/``.
# The bound views depend on the queries and the columns that they read, not on a store's files. So
# the bound views are cached beside compiled code, under a digest of queries and columns, and copied
# into catalogs. The name of a cached file also has the digest of its bytes; a changed file is not
# used.

#: The name of the database of bound views while it is attached.
_BOUND = "bound"
#: Of a digest, in the name of a copy.
_DIGITS = 16
_COLUMNS = """
SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns()
WHERE database_name = ? ORDER BY schema_name, table_name, column_index
"""


def copy_query_views(
    con: DuckDBPyConnection, target: str, schemas: Sequence[str], *, from_cache: bool = True
) -> None:
    """Create the views of ``queries/`` in ``schemas`` of the attached database ``target``.

    Parameters
    ----------
    from_cache : bool
        Whether to copy views that are cached for these base tables, and to cache them if they are
        missing or damaged; otherwise DuckDB binds all views.
    """
    digest = _digest(con, target) if from_cache else None
    if digest is not None and _copied_from_cache(con, digest, target):
        return
    con.execute(f"ATTACH ':memory:' AS {_BOUND}")
    try:
        _bind(con, target, schemas)
        if digest is not None:
            _keep(con, digest)
        con.execute(f"COPY FROM DATABASE {_BOUND} TO {target}")
    finally:
        _detach(con)


def _copied_from_cache(con: DuckDBPyConnection, digest: str, target: str) -> bool:
    """Copy the cached views; returns whether an undamaged cache was used."""
    import duckdb  # noqa: PLC0415 - the processes that read and sort never get here

    for cached in cache_folder().glob(f"views-{digest}-*.duckdb"):
        with suppress(duckdb.Error, OSError):
            if cached == _named(digest, cached):
                _copied(con, cached, target)
                return True
    return False


def _named(digest: str, written: Path) -> Path:
    """The path of the cache for these bytes."""
    own = hashlib.sha256(written.read_bytes()).hexdigest()[:_DIGITS]
    return cache_folder() / f"views-{digest}-{own}.duckdb"


def _digest(con: DuckDBPyConnection, target: str) -> str:
    """The digest that the bound views depend on."""
    import duckdb  # noqa: PLC0415 - as above

    columns = con.execute(_COLUMNS, [target]).fetchall()
    inputs = repr((duckdb.__version__, list(query_views()), columns))
    return hashlib.sha256(inputs.encode()).hexdigest()[:_DIGITS]


def _copied(con: DuckDBPyConnection, cached: Path, target: str) -> None:
    con.execute(f"ATTACH '{quoted(cached)}' AS {_BOUND} (READ_ONLY)")
    try:
        con.execute(f"COPY FROM DATABASE {_BOUND} TO {target}")
    finally:
        _detach(con)


def _bind(con: DuckDBPyConnection, target: str, schemas: Sequence[str]) -> None:
    """Bind the views in a database of their own, over the base tables of the target."""
    con.execute("BEGIN")
    for schema in schemas:
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {_BOUND}.{schema}")
        con.execute(f"SET search_path = '{target}.{schema},{_BOUND}.{schema}'")
        for statement in query_views(f"{_BOUND}.{schema}."):
            con.execute(statement)
    con.execute("COMMIT")


def _keep(con: DuckDBPyConnection, digest: str) -> None:
    """Write the bound views to the cache; after a failure the next call binds them again."""
    import duckdb  # noqa: PLC0415 - as above

    written = cache_folder() / f"views-{digest}.{os.getpid()}"
    with suppress(OSError, duckdb.Error):
        con.execute(f"ATTACH '{quoted(written)}' AS kept")
        try:
            con.execute(f"COPY FROM DATABASE {_BOUND} TO kept")
        finally:
            con.execute("USE memory")
            con.execute("DETACH kept")
        cached = _named(digest, written)
        for other in cache_folder().glob(f"views-{digest}-*.duckdb"):
            if other != cached:
                other.unlink(missing_ok=True)
        written.replace(cached)
    with suppress(OSError):
        written.unlink(missing_ok=True)


def _detach(con: DuckDBPyConnection) -> None:
    con.execute("USE memory")
    con.execute(f"DETACH {_BOUND}")


#: In a path to search DuckDB takes these for patterns or for the end; a '?' hides a database's log.
_TAKEN_FOR_MORE = set("*?[,")
#: The schema of the catalog whose views name their files by full paths, and from inside the store.
MAIN, HERE = "main", "here"
#: The oldest storage format that DuckDB 1.x and 2.x both read.
STORAGE_VERSION = "v1.0.0"


def write_catalog(store: Store) -> None:
    """Write the quality tables and ``catalog.duckdb``, a database with the store's views."""
    write_quality(store)
    temporary = store.path / f".{CATALOG}.new"
    temporary.unlink(missing_ok=True)
    try:
        write_catalog_to(store, temporary)
        put({temporary: store.path / CATALOG}, store.path)
    finally:
        for left in (temporary, temporary.with_name(f"{temporary.name}.wal")):
            left.unlink(missing_ok=True)


def write_catalog_to(store: Store, target: Path, *, from_cache: bool = True) -> None:
    """Write a store's catalog to another file.

    Parameters
    ----------
    from_cache : bool
        Whether to use cached views; see ``copy_query_views``.
    """
    if _TAKEN_FOR_MORE & set(str(store.path.resolve())):
        _write_elsewhere(store, target, from_cache)
    else:
        _write_views(store, target, store.path.resolve(), from_cache)


def mend_catalog(store: Store) -> Path:
    """Return the path of a store's catalog, written again if it is missing or of another folder.

    Raises
    ------
    TracekitError
        For an object store, which has no catalog, and where the catalog cannot be written.
    """
    if is_remote(store.path):
        raise TracekitError(
            f"{store.path}: the duckdb CLI cannot open a store on an object store",
            hint=f"tracekit query {store.path} 'SELECT ...', or tracekit.connect in a notebook",
        )
    if _names_this_place(store) is not True:
        with locked(store.path / LOCK, busy=f"{store.path} is being written"):
            check_no_link(written_of_store(store.path))
            write_catalog(store)
    return store.path / CATALOG


def mend_moved_catalog(store: Store) -> None:
    """Write a store's catalog again where the store was moved or copied.

    Otherwise the catalog of a copy would read the files of the original. A catalog that is missing,
    damaged or open in another process is left unchanged, and so is one that cannot be written.
    """
    if not is_remote(store.path) and _names_this_place(store) is False:
        with suppress(OSError, TracekitError):
            mend_catalog(store)


def _names_this_place(store: Store) -> bool | None:
    """Whether the catalog's views name the files of this store; None where it is unreadable."""
    import duckdb  # noqa: PLC0415 - as below

    try:
        with duckdb.connect(store.path / CATALOG, read_only=True) as con:
            row = con.execute(
                "SELECT sql FROM duckdb_views() WHERE view_name = 'source_file'"
                " AND schema_name = 'main'"
            ).fetchone()
    except duckdb.Error:
        return None
    return None if row is None else quoted_plain(store.path.resolve() / SOURCES) in row[0]


def _write_elsewhere(store: Store, target: Path, from_cache: bool) -> None:
    """Write the views through a plain path, where the store's path has special characters."""
    with tempfile.TemporaryDirectory() as aside:
        plain = Path(aside) / "store"
        plain.symlink_to(store.path.resolve())
        _write_views(store, Path(aside) / CATALOG, plain, from_cache)
        shutil.copyfile(Path(aside) / CATALOG, target)


def _write_views(store: Store, target: Path, seen_as: Path, from_cache: bool) -> None:
    import duckdb  # noqa: PLC0415 - the processes that read and sort never get here

    with _full_disk_as_os_error(), duckdb.connect() as con:
        con.execute(f"ATTACH '{quoted(target)}' AS made (STORAGE_VERSION '{STORAGE_VERSION}')")
        con.execute("USE made")
        # both schemas have the same views, over the same files
        con.execute("SET parquet_metadata_cache = true")
        # DuckDB checks a view's files when it makes the view, so it must find the relative paths
        con.execute(f"SET file_search_path = '{quoted(seen_as)}'")
        # all at once: a transaction each would wait for the disk fifty times
        con.execute("BEGIN")
        for schema, relative in ((MAIN, False), (HERE, True)):
            con.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            con.execute(f"USE made.{schema}")
            for statement in base_views(store, relative=relative, ordered=False):
                con.execute(statement)
        con.execute("COMMIT")
        copy_query_views(con, "made", (MAIN, HERE), from_cache=from_cache)
        con.execute("USE memory")
        con.execute("DETACH made")


@contextmanager
def _full_disk_as_os_error() -> Iterator[None]:
    import duckdb  # noqa: PLC0415 - as above

    try:
        yield
    except duckdb.IOException as error:
        if "No space left" in str(error) or "could not write" in str(error).lower():
            raise OSError(errno.ENOSPC, str(error)) from error
        if system_error(error) is not None and "No such file" not in str(error):
            raise
        raise _damaged(error) from error
    except duckdb.Error as error:
        raise _damaged(error) from error


def _damaged(error: Exception) -> TracekitError:
    first = str(error).splitlines()[0]
    return TracekitError(
        f"the store's catalog cannot be made, a stored file is damaged: {first}",
        hint="tracekit check STORE --verify names the trace file to ingest again",
    )


def damaged_parts(folder: Path, entries: Iterable[SourceEntry]) -> Iterator[Damage]:
    """Yield the files of these entries that are missing or changed. Every file is read."""
    for entry in entries:
        yield from damaged(folder, entry.checksums, entry.file)


def damaged_quality(store: Store) -> Iterator[Damage]:
    """Yield the damaged quality tables: those that differ from the manifest.

    Quality tables are written after the manifest. If ingest was killed in between, they lack its
    last source file, which is no damage. A table with the right rows but other bytes than today's
    is damaged, unless another version of the library wrote it.
    """
    for path, wanted in quality_tables(store.manifest.sources):
        try:
            with parquet_file(store.path / path) as file:
                stored, writer = file.read(), file.metadata.created_by
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            yield as_damage(path, "unreadable", why=error)
            continue
        if not stored.equals(wanted.slice(0, stored.num_rows)):
            yield as_damage(path, "stands apart")
        elif (
            stored.num_rows == wanted.num_rows
            and writer == _writer()
            and not _is_as_written(store.path / path, wanted)
        ):
            yield as_damage(path, "changed")


def stale_quality(store: Store) -> Iterator[str]:
    """Yield the paths of quality tables whose bytes differ from what would be written today.

    Another version of a library wrote them, or they are damaged.
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
    """Return whether quality/sources lacks files of the manifest, as after a killed ingest."""
    path, wanted = next(one for one in quality_tables(store.manifest.sources) if one[0] == SOURCES)
    try:
        stored_rows = parquet_file(store.path / path).metadata.num_rows
    except (OSError, pa.ArrowException):
        return False
    return bool(stored_rows < wanted.num_rows)


#: Of the main header of a DuckDB file, which has a checksum: the version of the library.
_VERSION = slice(52, 84)
_HELD = """
SELECT schema_name, view_name, sql FROM duckdb_views() WHERE database_name = 'read' AND NOT internal
UNION ALL
SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE database_name = 'read'
ORDER BY ALL
"""


def checked_catalog(store: Store) -> tuple[bool, str | None]:
    """Return whether the catalog has the bytes that would be written today, and what is damaged.

    The second value is None for an undamaged catalog. It is also None where the catalog is missing,
    the store was moved, or another version wrote it, as the original bytes are then unknown.
    """
    with tempfile.TemporaryDirectory() as aside:
        made, copy = Path(aside) / "made", Path(aside) / "copy"
        write_catalog_to(store, made, from_cache=False)
        try:
            stored = read_bytes(store.path / CATALOG)
        except FileNotFoundError:
            return False, None
        except OSError as error:
            return False, error.strerror or str(error)
        wanted = made.read_bytes()
        if stored == wanted:
            return True, None
        copy.write_bytes(stored)
        return False, _damage(copy, stored, made, wanted)


def _damage(copy: Path, stored: bytes, made: Path, wanted: bytes) -> str | None:
    import duckdb  # noqa: PLC0415 - the processes that read and sort never get here

    try:
        holds = _held(copy)
    except (duckdb.Error, UnicodeDecodeError) as error:
        return f"cannot be read: {str(error).splitlines()[0]}"
    if stored[_VERSION] != wanted[_VERSION] or holds != _held(made):
        return None
    return "is not what was written"


def _held(database: Path) -> list[tuple[str, ...]]:
    import duckdb  # noqa: PLC0415 - as above

    with duckdb.connect() as con:
        con.execute(f"ATTACH '{database}' AS read (READ_ONLY)")
        return con.execute(_HELD).fetchall()
