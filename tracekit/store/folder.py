"""The store folder: its manifest, where things lie in it, and opening one.

The manifest says what is in the store, source file by source file; nothing else counts as in it.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec
from isal.isal_zlib import crc32

from tracekit.base.errors import TracekitError
from tracekit.base.facts import FILE as ANSWER
from tracekit.base.files.durable import LOCK, put
from tracekit.base.files.places import found_from, place, store_error, telling
from tracekit.base.files.result_folder import STUDY
from tracekit.base.opened import open_file, read_bytes

FORMAT_VERSION = 5
#: Format 2 has no checksums.
OLDEST_READ = 2
#: Manifests of earlier formats have no seal.
_SEALED_SINCE = 5
#: Tables that got columns, and the oldest format whose parts have them all.
_COMPLETE_SINCE = {"container": 4}
NAME = "manifest.json"
#: What helps against damage of a store.
ANEW = "ingest the trace anew, into another folder"
#: A manifest ends in its seal: the checksum of all that stands before.
_SEAL = b',\n "seal": "'
#: What a manifest begins with, within so many bytes.
_FIRST_KEY, _HEAD_BYTES = b'"format_version"', 64
#: The release of a part that ingest worked out of others.
DERIVED = "derived"
#: What is done about a broken row: it is kept apart, with its line and the reason.
REJECTED = "rejected"
#: The kind of rejects that name what nobody lists.
UNKNOWN_NAME = "unknown_name"


@dataclass(frozen=True, kw_only=True)
class Defect:
    """One kind of defect that ingest met in a file."""

    defect: str
    column: str
    rows: int
    action: str
    example: str


@dataclass(frozen=True, kw_only=True)
class SourceEntry:
    """One source file that is in the store.

    ``rows_read = rows + rejected + duplicates_dropped``. ``lines_read`` are the lines of the file
    where it is known and a line may give several rows, as one of ``usage`` of a folder does; shares
    of broken rows are of these. ``content`` names the unpacked content,
    so that a copy packed in another way is known again. ``part`` is the Parquet file's number.
    ``checksums`` has every Parquet file that came with it, by its path in the store; it is empty
    for a file that was taken in before checksums were kept.
    """

    file: str
    size_bytes: int
    sha256: str
    content: str
    release: str
    table: str
    part: int
    rows_read: int
    rows: int
    rejected: int
    duplicates_dropped: int
    time_min_ms: int | None
    time_max_ms: int | None
    defects: tuple[Defect, ...] = ()
    checksums: dict[str, str] = field(default_factory=dict)
    lines_read: int | None = None

    @property
    def units_read(self) -> int:
        """What shares of broken rows are of: lines where they are known, else rows."""
        return self.rows_read if self.lines_read is None else self.lines_read


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What is in the store.

    ``dimensions`` holds the number of ids of each entity: ids beyond it belong to an ingest that
    was interrupted before it was committed. ``quantities`` says of each whether it is recorded,
    inferred or absent. ``made_up`` says that some of it was drawn by ``tracekit synth``.
    ``refused`` has each file that an ingest refused and none took in since, with what was wrong.
    """

    tool_version: str
    sources: tuple[SourceEntry, ...] = ()
    dimensions: dict[str, int] = field(default_factory=dict)
    quantities: dict[str, str] = field(default_factory=dict)
    made_up: bool = False
    refused: dict[str, str] = field(default_factory=dict)
    format_version: int = FORMAT_VERSION

    def parts(self, table: str) -> list[SourceEntry]:
        """The source files of a table, in the order they came in."""
        return [entry for entry in self.sources if entry.table == table]

    def stated(self, table: str) -> list[SourceEntry]:
        """Those with rows that a source states, and that ingest did not work out."""
        return [one for one in self.parts(table) if one.rows and one.release != DERIVED]


def read_manifest(folder: Path) -> Manifest:
    """Read a store's manifest; TracekitError when absent, broken or of another format."""
    path = folder / NAME
    try:
        data = read_bytes(path)
        document = json.loads(data.decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise store_error(error) or _not_a_store(folder) from None
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"it is not readable as JSON: {error}") from None
    if isinstance(document, dict) and str(document.get("schema", "")).startswith("tracekit/"):
        kind = str(document["schema"]).split("/")[1]
        raise TracekitError(
            f"{folder} is a folder of tracekit {kind}, not a store",
            hint=_given_instead(folder, document),
        )
    if not isinstance(document, dict) or not {"format_version", "sources"} & set(document):
        raise _damaged(path, "it is no manifest of a store")
    version = document.get("format_version")
    if not isinstance(version, int) or not OLDEST_READ <= version <= FORMAT_VERSION:
        raise _other_format(folder, version)
    is_sealed = document.pop("seal", None) is not None
    try:
        read = msgspec.convert(document, Manifest)
    except msgspec.ValidationError as error:
        raise _damaged(path, str(error)) from None
    if (is_sealed or version >= _SEALED_SINCE) and data != _sealed(data.rpartition(_SEAL)[0]):
        raise _damaged(path, "it is not what tracekit wrote")
    manifest = replace(read, format_version=FORMAT_VERSION)
    _check_names(path, manifest)
    for table, since in _COMPLETE_SINCE.items():
        if version < since and manifest.parts(table):
            raise _other_format(folder, version, f", whose table {table} lacks columns")
    return manifest


def _check_names(path: Path, manifest: Manifest) -> None:
    """Raise TracekitError for what is no plain word where files have it in their paths."""
    for name in {*manifest.dimensions, *(entry.table for entry in manifest.sources)}:
        if not name.isidentifier():
            raise _damaged(path, f"'{name}' is no name of a table")


#: A workload as a result names it: how it is loaded, and where it lies from there.
_LOADER = re.compile(r"(?P<how>\w+(?:\[[^\]]*\])?)(?::(?P<path>.+))?")


def _given_instead(folder: Path, document: dict[str, Any]) -> str:
    """What to give in the place of a result: what it was made from."""
    load = document.get("workload")
    known = load if isinstance(load, dict) else {}
    found = _LOADER.fullmatch(str(known.get("loader") or ""))
    if found is None:
        store = _store_of(folder, known)
        return f"give the store it was made from{store}, whose report shows this folder, too"
    path = f":{os.path.normpath(found_from(folder, found['path']))}" if found["path"] else ""
    return (
        f"it was made from no store, but with --workload {quote(found['how'] + path)}; what is in"
        f" it: tracekit report {quote(str(folder))} --out report.html"
    )


def _store_of(folder: Path, load: dict[str, Any]) -> str:
    """The store that a result names, as far as it is still there."""
    named = load.get("store")
    store = Path(os.path.normpath(folder / named)) if isinstance(named, str) else None
    return f", {quote(str(store))}" if store is not None and is_store(store) else ""


def is_store(folder: Path) -> bool:
    """Whether a folder is a store: the first lines of its manifest say so, and no more is read."""
    try:
        with open_file(folder / NAME) as file:
            return _FIRST_KEY in file.read(_HEAD_BYTES)
    except (OSError, TracekitError):
        return False


def _other_format(folder: Path, version: object, lacks: str = "") -> TracekitError:
    newer = isinstance(version, int) and version > FORMAT_VERSION
    return TracekitError(
        f"{folder} is a store of format {version}{lacks}, this tracekit reads format"
        f" {FORMAT_VERSION}",
        hint="upgrade tracekit: pip install --upgrade tracekit" if newer else ANEW,
    )


def _damaged(path: Path, what: str) -> TracekitError:
    return TracekitError(f"{path} is damaged: {what}", hint=ANEW)


def _not_a_store(folder: Path) -> TracekitError:
    if not folder.exists():
        return TracekitError(f"no such store: {folder}", hint="make one: tracekit ingest SRC STORE")
    if folder.is_file():
        return TracekitError(f"{folder} is a file, not a store", hint=_made_of(folder))
    nested = folder / "store"
    if (nested / NAME).exists():
        return TracekitError(f"{folder} is not a store", hint=f"did you mean {nested}?")
    if (folder / STUDY).exists():
        return TracekitError(
            f"{folder} is the folder of a study, not a store",
            hint=f"tracekit report {quote(str(folder))} --out study.html shows it",
        )
    if (folder / ANSWER).exists():
        return TracekitError(
            f"{folder} is a result of tracekit whose {NAME} is missing",
            hint="write it again by the command that made it",
        )
    return TracekitError(f"{folder} is not a store: it has no {NAME}", hint=_made_of(folder))


def _made_of(source: Path) -> str:
    """How a store is made of what was taken for one."""
    return f"a store is made of traces: tracekit ingest {quote(str(source))} STORE"


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Put a manifest in place in one step, so that a crash leaves the old one or the new one.

    Every file that comes in writes all of them again, so each is a line, which the quick encoder
    writes: laid out over lines of their own they took six times as long.
    """
    document = {"format_version": manifest.format_version, **vars(manifest)}
    entries = ",".join(f"\n  {_line(entry)}" for entry in document.pop("sources"))
    # versions that know no such key read the store as well
    if not manifest.refused:
        del document["refused"]
    head = json.dumps(document, indent=1, ensure_ascii=False).removesuffix("\n}")
    text = f'{head},\n "sources": [{entries}\n ]'
    replace_file(folder / NAME, _sealed(text.encode()))


def _line(entry: SourceEntry) -> str:
    # what was read has its defaults in the class
    document = {one.name: getattr(entry, one.name) for one in fields(entry)}
    document["defects"] = [vars(one) for one in entry.defects]
    if entry.lines_read is None:
        del document["lines_read"]
    return json.dumps(document, ensure_ascii=False)


def is_sealed(folder: Path) -> bool:
    """Whether a store's manifest has a seal, so that no change of it goes unseen."""
    return _SEAL in read_bytes(folder / NAME)


def _sealed(body: bytes) -> bytes:
    return body + _SEAL + f'crc32:{crc32(body):08x}:{len(body)}"\n}}\n'.encode()


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that it is never seen half-written, not even after a crash."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_bytes(data)
    put({temporary: path}, path.parent)


STAGING = ".staging"
CATALOG = "catalog.duckdb"
DIMENSIONS = "dimensions"
#: What a store consists of.
_OWN = frozenset({NAME, CATALOG, DIMENSIONS, LOCK, STAGING, "tables", "rejects", "quality"})
_HALF_WRITTEN = frozenset(f".{name}.new" for name in _OWN)


@dataclass(frozen=True)
class Store:
    """An opened store: its folder, or its place on an object store, and what is in it.

    Stores of one path are equal.
    """

    path: Path
    manifest: Manifest = field(compare=False)

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        """The folder's name; ``tracekit run`` calls a store 'store', so there its parent's."""
        folder = self.path.resolve()
        # a bucket has no name above it
        return (folder.parent.name if folder.name == "store" else "") or folder.name

    def table_files(self, table: str) -> list[Path]:
        """The Parquet files of a base table that are committed."""
        return [self.path / part_path(table, e.part) for e in self.manifest.parts(table)]

    def stated_files(self, table: str) -> list[Path]:
        """Those with rows that a source states, and that ingest did not work out."""
        return [self.path / part_path(table, e.part) for e in self.manifest.stated(table)]

    def reject_files(self, table: str) -> list[Path]:
        """The Parquet files of a table's rejects; a source file without rejects has none."""
        return [
            self.path / rejects_path(table, entry.part)
            for entry in self.manifest.parts(table)
            if entry.rejected
        ]

    def dimension_files(self, entity: str) -> list[Path]:
        """The Parquet files that map an entity's keys to its original ids, in the order of keys."""
        count = self.manifest.dimensions.get(entity, 0)
        files = dimension_paths(self.path, entity, count)
        first = self.path / dimension_path(entity, 0)
        if count and first not in files:
            raise TracekitError(f"{first} is damaged: it is gone", hint=ANEW)
        return files


def open_store(path: str | Path) -> Store:
    """Open a store for reading; raises TracekitError when the folder is none."""
    folder = place(path)
    with telling():
        return Store(folder, read_manifest(folder))


def others(folder: Path) -> list[Path]:
    """Entries in a store's folder that are not its own: runs, notes."""
    return sorted(one for one in folder.iterdir() if one.name not in _OWN | _HALF_WRITTEN)


def written_of_store(folder: Path) -> Iterator[Path]:
    """What is written in a store: what is its own, with all that lies in it."""
    for name in _OWN | _HALF_WRITTEN:
        yield folder / name
        yield from (folder / name).rglob("*")


def part_path(table: str, part: int) -> str:
    """The path of a source file's rows, relative to the store."""
    return f"tables/{table}/part-{part:05d}.parquet"


def rejects_path(table: str, part: int) -> str:
    """The path of a source file's rejects, relative to the store."""
    return f"rejects/{table}/part-{part:05d}.parquet"


def dimension_path(entity: str, first_key: int) -> str:
    """The path of an entity's ids from a key on, relative to the store."""
    return f"{DIMENSIONS}/{entity}/part-{first_key:010d}.parquet"


def dimension_paths(folder: Path, entity: str, count: int) -> list[Path]:
    """The files with the first ``count`` ids of an entity, in the order of keys.

    A file that begins beyond them belongs to an ingest that was interrupted.
    """
    beyond = folder / dimension_path(entity, count)
    return sorted(path for path in beyond.parent.glob("part-*.parquet") if path < beyond)
