"""The catalog: ``catalog.duckdb`` inside a store, its views ready for the plain duckdb CLI.

Its views name their files by full paths, so that it opens from any folder; DuckDB knows no path
relative to a database. The schema ``here`` has the same views with paths from inside the store:
they hold wherever the store was moved or is mounted, for who stands in it.
"""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracekit.engine_errors import system_error
from tracekit.errors import TracekitError
from tracekit.files.lock import LOCK, held
from tracekit.files.places import is_remote
from tracekit.store.bound_views import copy_query_views
from tracekit.store.folder import CATALOG, Store
from tracekit.store.quality import SOURCES, write_quality
from tracekit.store.views import base_views, quoted, quoted_plain

#: In a path to search DuckDB takes these for patterns or for the end; a '?' hides a database's log.
_TAKEN_FOR_MORE = set("*?[,")
#: The schema of the catalog whose views name their files by full paths, and from inside the store.
MAIN, HERE = "main", "here"
#: The oldest storage format that DuckDB 1.x and 2.x both read.
STORAGE_VERSION = "v1.0.0"


def write_catalog(store: Store) -> None:
    """Write the quality tables and ``catalog.duckdb``; both can be made anew from the manifest."""
    write_quality(store)
    temporary = store.path / f".{CATALOG}.new"
    temporary.unlink(missing_ok=True)
    try:
        write_catalog_to(store, temporary)
        temporary.replace(store.path / CATALOG)
    finally:
        for left in (temporary, temporary.with_name(f"{temporary.name}.wal")):
            left.unlink(missing_ok=True)


def write_catalog_to(store: Store, target: Path, *, by_kept_views: bool = True) -> None:
    """Write a store's catalog to another file.

    Parameters
    ----------
    by_kept_views : take the views as an earlier call bound them, where they are kept
    """
    if _TAKEN_FOR_MORE & set(str(store.path.resolve())):
        _write_elsewhere(store, target, by_kept_views)
    else:
        _write_views(store, target, store.path.resolve(), by_kept_views)


def mend_catalog(store: Store) -> Path:
    """The path of a store's catalog, made anew where the store was moved since it was made.

    Raises TracekitError on an object store, which has none, and where it cannot be written.
    """
    import duckdb  # noqa: PLC0415 - as below

    if is_remote(store.path):
        raise TracekitError(
            f"{store.path}: the duckdb CLI cannot open a store on an object store",
            hint=f"tracekit query {store.path} 'SELECT ...', or tracekit.connect in a notebook",
        )
    catalog = store.path / CATALOG
    try:
        with duckdb.connect(catalog, read_only=True) as con:
            found = con.execute(
                "SELECT sql FROM duckdb_views() WHERE view_name = 'source_file'"
                " AND schema_name = 'main'"
            ).fetchone()
    except duckdb.Error:
        found = None  # gone, or damaged: it can be made anew
    if found is None or quoted_plain(store.path.resolve() / SOURCES) not in found[0]:
        with held(store.path / LOCK, busy=f"{store.path} is being written"):
            write_catalog(store)
    return catalog


def _write_elsewhere(store: Store, target: Path, by_kept_views: bool) -> None:
    """Write the views where the path of the store is a plain one."""
    with tempfile.TemporaryDirectory() as aside:
        plain = Path(aside) / "store"
        plain.symlink_to(store.path.resolve())
        _write_views(store, Path(aside) / CATALOG, plain, by_kept_views)
        shutil.copyfile(Path(aside) / CATALOG, target)


def _write_views(store: Store, target: Path, seen_as: Path, by_kept_views: bool) -> None:
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
        copy_query_views(con, "made", (MAIN, HERE), by_kept=by_kept_views)
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
