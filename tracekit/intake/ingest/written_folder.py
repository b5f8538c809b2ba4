"""A store's folder while it is written: it is locked, made if absent, and removed if empty."""

import dataclasses
import errno
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tracekit._version import VERSION
from tracekit.base.errors import TracekitError
from tracekit.base.files.durable import LOCK, locked
from tracekit.base.files.places import check_no_link, is_remote
from tracekit.intake.ingest.workbench import workbench
from tracekit.store.broken_rows import QUALITY, write_quality
from tracekit.store.catalog import write_catalog
from tracekit.store.folder import (
    CATALOG,
    NAME,
    STAGING,
    Manifest,
    Store,
    open_store,
    read_manifest,
    write_manifest,
    written_of_store,
)
from tracekit.store.quantities import quantities

#: The folders of a store.
_PARTS = ("tables", "rejects", "dimensions", "quality")
#: The folder in which a store is written, a function that commits a manifest, and a function that
#: writes the catalog.
Writable = tuple[Path, Callable[[Manifest], None], Callable[[], None]]


@contextmanager
def writable(target: Path) -> Iterator[Writable]:
    """Yield a local folder to write a store in, and functions that commit and finish the store.

    It is the store's own folder, or a workbench if the store is on an object store.
    """
    if not is_remote(target):
        yield (
            target,
            lambda manifest: _commit(target, manifest),
            lambda: write_catalog(open_store(target)),
        )
        return
    with workbench(target) as bench:
        # DuckDB cannot open a catalog on an object store, so none is written
        yield bench.folder, bench.commit, lambda: None


def _commit(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, with its quantities, and the tables of quality."""
    whole = dataclasses.replace(manifest, quantities=quantities(Store(folder, manifest)))
    write_manifest(folder, whole)
    write_quality(Store(folder, whole))


@contextmanager
def opened_for_writing(folder: Path) -> Iterator[Manifest]:
    """Lock a store for a ``with`` block; make it if absent, remove it if it is empty at the end.

    Yields
    ------
    The manifest of the store.

    Raises
    ------
    TracekitError
        When the folder holds files and is no store, when another process writes the store, when the
        disk is full, and when the folder cannot be written.
    """
    absent = not folder.exists()
    if not absent and _is_of_others(folder):
        raise TracekitError(
            f"{folder} is not empty and not a store", hint="name a new folder for the store"
        )
    with (
        _disk_errors(folder),
        _gone_if_empty(folder, absent=absent),
        locked(folder / LOCK, busy=f"{folder} is being written"),
    ):
        check_no_link(written_of_store(folder))
        new = not (folder / NAME).exists()
        if new:
            _begin(folder)
        try:
            shutil.rmtree(folder / STAGING, ignore_errors=True)
            yield read_manifest(folder)
        finally:
            shutil.rmtree(folder / STAGING, ignore_errors=True)
            if new and not read_manifest(folder).sources:
                _take_away(folder)


def _begin(folder: Path) -> None:
    """Make an empty store; the manifest is written last, so that a store with one is complete."""
    empty = Manifest(tool_version=VERSION)
    try:
        write_quality(Store(folder, empty))
        write_manifest(folder, empty)
    except BaseException:
        _take_away(folder)
        raise


@contextmanager
def _gone_if_empty(folder: Path, *, absent: bool) -> Iterator[None]:
    """Remove the folder afterwards, if it was absent before and is still empty."""
    try:
        yield
    finally:
        if absent:
            with suppress(OSError):
                folder.rmdir()


def _take_away(folder: Path) -> None:
    """Remove the files of an empty store, the manifest last."""
    for name in _PARTS:
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in (CATALOG, NAME):
        (folder / name).unlink(missing_ok=True)


def _is_of_others(folder: Path) -> bool:
    """Whether a folder holds files and is no store.

    Files are looked for before and after the manifest, because another ingest may begin or remove
    its store meanwhile.
    """
    return _holds_files(folder) and not (folder / NAME).exists() and _holds_files(folder)


def _holds_files(folder: Path) -> bool:
    """Whether a folder holds other files than an ingest killed before its first commit leaves."""
    quality = {folder / path for path in QUALITY}
    return any(
        path not in quality and not _is_hidden(path.relative_to(folder))
        for path in folder.rglob("*")
        if not path.is_dir()
    )


def _is_hidden(path: Path) -> bool:
    """Whether a file is hidden; files of a store's staging folder are not."""
    return path.parts[0] != STAGING and any(part.startswith(".") for part in path.parts)


@contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise _disk_full(folder) from error
        if error.errno in {errno.EROFS, errno.EACCES, errno.EPERM}:
            raise TracekitError(
                f"{folder} cannot be written: {error.strerror}",
                hint="name a folder you may write to",
            ) from error
        raise


def _disk_full(folder: Path) -> TracekitError:
    return TracekitError(
        f"the disk is full while writing {folder}; the file in progress was taken back",
        hint="make room, then run the same command again: it goes on where it was",
    )
