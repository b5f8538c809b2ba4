"""Wraps a verb: if it fails because a folder is damaged, the error names the folder."""

import errno
import functools
import inspect
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base.errors import TracekitError, is_of_an_engine, nearest, system_error
from tracekit.base.files.places import here, store_error
from tracekit.base.files.result_folder import AGAIN, damaged_results
from tracekit.base.opened import open_file, read_text
from tracekit.base.study import STUDY_FOLDER
from tracekit.store.folder import ANEW, NAME, Store, open_store
from tracekit.store.tables import all_tables

P = ParamSpec("P")
R = TypeVar("R")

#: The system's refusals that have nothing to do with what a file holds.
_NOT_DAMAGE = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EMFILE,
    errno.EPIPE,
}


def sound(verb: Callable[P, R]) -> Callable[P, R]:
    """The verb; where it fails unforeseen, the folders it was given are looked at first.

    What a full or forbidding disk makes an engine raise comes out as OSError. Where a result is to
    be written, a URL is refused before anything is done.
    """
    names = list(inspect.signature(verb).parameters)
    at = names.index("out") if "out" in names else len(names)

    @functools.wraps(verb)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        if strange := next((name for name in kwargs if name not in names), ""):
            close = nearest(strange, names)
            near = f"did you mean '{close}'?" if close else f"it has: {', '.join(names)}"
            raise TypeError(f"{verb.__name__}() has no argument '{strange}'; {near}")
        out: Any = args[at] if at < len(args) else kwargs.get("out")
        if out is not None:
            here(out)
        try:
            return verb(*args, **kwargs)
        except Exception as error:
            meant = None if isinstance(error, TracekitError) else store_error(error)
            if meant is not None:
                raise meant from error
            told = isinstance(error, TracekitError)
            cause = error.__cause__ if told else error
            # what was told on purpose stands, unless all it tells is what an engine said
            if cause is None or (told and not is_of_an_engine(cause)):
                raise
            refused = system_error(cause)
            if refused is not None and refused.errno in _NOT_DAMAGE:
                raise refused from error
            damage = _damage([*args, *kwargs.values()])
            if damage is None:
                raise
            raise damage from error

    return called


def _damage(given: Iterable[Any]) -> TracekitError | None:

    return first_damage(_folders(given))


def _folders(given: Iterable[Any]) -> Iterator[Path]:
    """The folders among a verb's arguments, and those that lists of them name."""
    for one in given:
        if isinstance(one, str | os.PathLike):
            path = Path(str(one).rpartition(":")[2] if isinstance(one, str) else one)
            if os.path.isdir(path):  # noqa: PTH112 - what cannot be a path is no folder
                yield path
        elif isinstance(one, list | tuple):
            yield from _folders(one)


# Finds the damaged file in a folder that tracekit wrote, once a verb has failed.
#
# A verb does not check the folders it reads. If it fails unexpectedly, this module reads every
# file and compares it with the folder's document. It names the first file that differs.

#: What ``tracekit run`` and ``tracekit requests`` leave beside a store, and reports read unasked.
_BESIDE = ("store", "analysis", "calls", "fit", "bound", "size", "replay")


def first_damage(folders: Iterable[Path]) -> TracekitError | None:
    """The first damaged file of the folders and of what lies beside them; None if all is sound."""
    seen: set[Path] = set()
    for folder in folders:
        for one in _with_beside(folder):
            if one not in seen and one.is_dir():
                seen.add(one)
                found = _damage_of(one)
                if found is not None:
                    return found
    return None


def _with_beside(folder: Path) -> Iterator[Path]:
    whole = folder.resolve()
    yield folder
    for base in (whole.parent, whole):
        yield from (base / name for name in _BESIDE)
        yield from sorted(base.glob("studies/*"))


def _damage_of(folder: Path) -> TracekitError | None:
    if (folder / STUDY_FOLDER.document).is_file():
        return _of_results(folder, folder / STUDY_FOLDER.document)
    document = _read(folder / NAME) if (folder / NAME).is_file() else {}
    if isinstance(document, dict) and "sources" in document:
        return _of_store(folder)
    if document != {}:
        return _of_results(folder, folder / NAME)
    if folder.name in _BESIDE:
        return _first(_unreadable(path, AGAIN) for path in sorted(folder.rglob("*.parquet")))
    return None


def _read(path: Path) -> Any:
    """A document; None where it is no JSON."""
    try:
        return json.loads(read_text(path))
    except (OSError, ValueError, RecursionError):
        return None


def _of_results(folder: Path, path: Path) -> TracekitError | None:
    document = _read(path)
    if not isinstance(document, dict):
        return _damaged(path, "it is no JSON document", AGAIN)
    harm = next(damaged_results(folder, path.name, document, document.get("checksums", {})), None)
    if harm is not None:
        return _damaged(folder / harm.path, harm.found, AGAIN)
    return _first(_unreadable(one, AGAIN) for one in sorted(folder.glob("*.parquet")))


def _of_store(folder: Path) -> TracekitError | None:
    try:
        store = open_store(folder)
    except TracekitError as error:
        return error
    return _first(check() for check in _checks(store))


def _checks(store: Store) -> Iterator[Callable[[], TracekitError | None]]:
    for table in all_tables().values():
        # a column that sources often lack may be newer than the store
        wanted = {one.stored_name for one in table.columns if not one.often_absent}
        files = store.table_files(table.name)
        for path, entry in zip(files, store.manifest.parts(table.name), strict=True):
            again = f"it holds the rows of {entry.file}: an ingest of that file mends the store"
            yield _part(path, wanted, entry.rows, again)
        for path in store.reject_files(table.name):
            yield _part(path, {"source_file", "line", "reason"}, None, ANEW)
    for entity, count in store.manifest.dimensions.items():
        files = store.dimension_files(entity)
        for path in files:
            yield _part(path, {"key", "id"}, None, ANEW)
        yield _all_ids(store.path / "dimensions" / entity, files, count)
    for path in sorted((store.path / "quality").glob("[!.]*.parquet")):
        yield _part(path, {"source_file", "table"}, None, _QUALITY)
    for name in ("defects", "sources"):
        yield _part(store.path / "quality" / f"{name}.parquet", set(), None, _QUALITY)


_QUALITY = "ingest any file of the trace again: it is written anew from the manifest"


def _part(
    path: Path, columns: set[str], rows: int | None, hint: str
) -> Callable[[], TracekitError | None]:
    def check() -> TracekitError | None:
        damage = _unreadable(path, hint)
        if damage is not None:
            return damage
        missing = sorted(columns - set(pq.read_schema(path).names))
        if missing:
            return _damaged(path, f"it holds another table, without {missing[0]}", hint)
        found = pq.read_metadata(path).num_rows
        if rows is not None and found != rows:
            return _damaged(path, f"it holds {found:,} rows, {rows:,} were written", hint)
        return None

    return check


def _all_ids(folder: Path, files: list[Path], count: int) -> Callable[[], TracekitError | None]:
    def check() -> TracekitError | None:
        found = sum(pq.read_metadata(path).num_rows for path in files)
        return None if found >= count else _damaged(folder, f"{count - found:,} ids are gone", ANEW)

    return check


def _unreadable(path: Path, hint: str) -> TracekitError | None:
    """The error that stops a Parquet file from being read to its end."""
    try:
        with open_file(path) as raw, pq.ParquetFile(raw) as file:
            for group in range(file.num_row_groups):
                file.read_row_group(group, use_threads=False)
    except FileNotFoundError:
        return _damaged(path, "it is gone", hint)
    except (pa.ArrowException, OSError, ValueError) as error:
        refused = system_error(error)
        if refused is not None and refused.strerror:
            return TracekitError(f"{path} cannot be read: {refused.strerror}", hint=hint)
        empty = path.is_file() and path.stat().st_size == 0
        what = "it is empty" if empty else f"it is no whole Parquet file ({_line(error)})"
        return _damaged(path, what, hint)
    return None


def _line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__).strip().rstrip(".")


def _damaged(path: Path, what: str, hint: str) -> TracekitError:
    return TracekitError(f"{path} is damaged: {what}", hint=hint)


def _first(found: Iterable[TracekitError | None]) -> TracekitError | None:
    return next((one for one in found if one is not None), None)
