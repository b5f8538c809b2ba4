"""The store folder: its manifest, the paths of its files, and opening a store.

The manifest lists the source files of the store with their parts; other files do not count.
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
from tracekit.base.files.places import explained_store_errors, found_from, place, store_error
from tracekit.base.files.result_folder import STUDY
from tracekit.base.opened import open_file, read_bytes

FORMAT_VERSION = 5
#: Format 2 has no checksums.
OLDEST_READ = 2
#: Manifests of earlier formats have no seal.
_SEALED_SINCE = 5
#: Tables that got new columns, with the oldest format whose parts have all columns.
_COMPLETE_SINCE = {"container": 4}
NAME = "manifest.json"
#: The hint for a damaged store.
ANEW = "ingest the trace anew, into another folder"
#: The end of a manifest: its seal, the checksum of all bytes before it.
_SEAL = b',\n "seal": "'
#: The beginning of a manifest, and the number of bytes in which it must occur.
_FIRST_KEY, _HEAD_BYTES = b'"format_version"', 64
#: The release of a part that ingest derived from other parts.
DERIVED = "derived"
#: The action for a broken row: it goes to the rejects with its line and the reason.
REJECTED = "rejected"
#: The kind of rejects that name an unlisted node or container.
UNKNOWN_NAME = "unknown_name"


@dataclass(frozen=True, kw_only=True)
class Defect:
    """One kind of defect that ingest found in a file, and what became of the ``rows`` with it."""

    defect: str
    column: str
    rows: int
    action: str
    example: str


@dataclass(frozen=True, kw_only=True)
class SourceEntry:
    """One file that ingest read into a table; an entry of the manifest.

    ``rows_read = rows + rejected + duplicates_dropped``. ``lines_read`` is the number of lines
    where a line may give several rows; shares of broken rows are shares of lines. ``content`` is a
    hash of the unpacked content, so that a copy with another packing is recognised. ``part`` is the
    number of the Parquet file. ``checksums`` has every Parquet file of this source file by its path
    in the store; it is empty for files of a format without checksums.
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
        """The number of lines if recorded, else of rows: the base for shares of broken rows."""
        return self.rows_read if self.lines_read is None else self.lines_read


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The manifest of a store, which lists its content.

    ``dimensions`` has the number of ids of each entity; further ids belong to an interrupted
    ingest. ``quantities`` maps each quantity to recorded, inferred or absent. ``made_up`` is True
    where ``tracekit synth`` made some of the data. ``refused`` has the files that ingest refused
    and that no later ingest read, with the errors.
    """

    tool_version: str
    sources: tuple[SourceEntry, ...] = ()
    dimensions: dict[str, int] = field(default_factory=dict)
    quantities: dict[str, str] = field(default_factory=dict)
    made_up: bool = False
    refused: dict[str, str] = field(default_factory=dict)
    format_version: int = FORMAT_VERSION

    def parts(self, table: str) -> list[SourceEntry]:
        """Return the entries of a table, one for each source file, in the order of ingest."""
        return [entry for entry in self.sources if entry.table == table]

    def stated(self, table: str) -> list[SourceEntry]:
        """Return the entries of a table that have rows and that ingest did not derive."""
        return [one for one in self.parts(table) if one.rows and one.release != DERIVED]


def read_manifest(folder: Path) -> Manifest:
    """Read a store's manifest.

    Raises
    ------
    TracekitError
        When the manifest is missing, damaged or of another format.
    """
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
    """Raise TracekitError for a name in the manifest that may not be a part of a path."""
    for name in {*manifest.dimensions, *(entry.table for entry in manifest.sources)}:
        if not name.isidentifier():
            raise _damaged(path, f"'{name}' is no name of a table")


#: The keys under which the document of a result names its workload.
_LOADER = re.compile(r"(?P<how>\w+(?:\[[^\]]*\])?)(?::(?P<path>.+))?")


def _given_instead(folder: Path, document: dict[str, Any]) -> str:
    """The hint for a folder of results: the store or workload from which it was made."""
    load = document.get("workload")
    workload = load if isinstance(load, dict) else {}
    match = _LOADER.fullmatch(str(workload.get("loader") or ""))
    if match is None:
        store = _store_of(folder, workload)
        return f"give the store it was made from{store}, whose report shows this folder, too"
    path = f":{os.path.normpath(found_from(folder, match['path']))}" if match["path"] else ""
    return (
        f"it was made from no store, but with --workload {quote(match['how'] + path)}; what is in"
        f" it: tracekit report {quote(str(folder))} --out report.html"
    )


def _store_of(folder: Path, load: dict[str, Any]) -> str:
    """The path of the store that a result names; '' where it does not exist."""
    named = load.get("store")
    store = Path(os.path.normpath(folder / named)) if isinstance(named, str) else None
    return f", {quote(str(store))}" if store is not None and is_store(store) else ""


def is_store(folder: Path) -> bool:
    """Return whether a folder is a store, by the first lines of its manifest."""
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
    no_store = f"{folder} is not a store: it has no {NAME}"
    return lost_manifest(folder) or TracekitError(no_store, hint=_made_of(folder))


def lost_manifest(folder: Path) -> TracekitError | None:
    """Return an error if a folder is a result of tracekit without its manifest, else None."""
    if (folder / NAME).exists() or not (folder / ANSWER).exists():
        return None
    return TracekitError(
        f"{folder} is a result of tracekit whose {NAME} is missing",
        hint="write it again by the command that made it",
    )


def _made_of(source: Path) -> str:
    """The hint how to make a store from a path that is none."""
    return f"a store is made of traces: tracekit ingest {quote(str(source))} STORE"


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest in one step, so that a crash leaves the old or the new one.

    Each source file is one line, because the fast JSON encoder writes no indentation. The manifest
    is written after every ingested file, and an indented one took six times as long.
    """
    document = {"format_version": manifest.format_version, **vars(manifest)}
    entries = ",".join(f"\n  {_line(entry)}" for entry in document.pop("sources"))
    # versions without this key can read the store too
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
    """Return whether a store's manifest ends in a seal, a checksum that reveals any change."""
    return _SEAL in read_bytes(folder / NAME)


def _sealed(body: bytes) -> bytes:
    return body + _SEAL + f'crc32:{crc32(body):08x}:{len(body)}"\n}}\n'.encode()


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file in one step, so that no reader sees a part of it, even after a crash."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_bytes(data)
    put({temporary: path}, path.parent)


STAGING = ".staging"
CATALOG = "catalog.duckdb"
DIMENSIONS = "dimensions"
#: The entries of a store's folder.
_OWN = frozenset({NAME, CATALOG, DIMENSIONS, LOCK, STAGING, "tables", "rejects", "quality"})
_HALF_WRITTEN = frozenset(f".{name}.new" for name in _OWN)


@dataclass(frozen=True)
class Store:
    """An opened store: its folder, or its place on an object store, and its manifest.

    Stores with the same path are equal.
    """

    path: Path
    manifest: Manifest = field(compare=False)

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        """The name of the folder; for a folder 'store' of ``tracekit run``, that of its parent."""
        folder = self.path.resolve()
        # a bucket has no name above it
        return (folder.parent.name if folder.name == "store" else "") or folder.name

    def table_files(self, table: str) -> list[Path]:
        """Return the Parquet files of a base table that the manifest lists."""
        return [self.path / part_path(table, e.part) for e in self.manifest.parts(table)]

    def stated_files(self, table: str) -> list[Path]:
        """Return a base table's Parquet files that have rows and that ingest did not derive."""
        return [self.path / part_path(table, e.part) for e in self.manifest.stated(table)]

    def reject_files(self, table: str) -> list[Path]:
        """Return the Parquet files of a table's rejects. A source file without rejects has none."""
        return [
            self.path / rejects_path(table, entry.part)
            for entry in self.manifest.parts(table)
            if entry.rejected
        ]

    def dimension_files(self, entity: str) -> list[Path]:
        """Return the Parquet files with an entity's keys and original ids, in order of keys."""
        count = self.manifest.dimensions.get(entity, 0)
        files = dimension_paths(self.path, entity, count)
        first = self.path / dimension_path(entity, 0)
        if count and first not in files:
            raise TracekitError(f"{first} is damaged: it is gone", hint=ANEW)
        return files


def open_store(path: str | Path) -> Store:
    """Open a store for reading. Raise TracekitError for a folder that is no store."""
    folder = place(path)
    with explained_store_errors():
        return Store(folder, read_manifest(folder))


def others(folder: Path) -> list[Path]:
    """Return the entries of a store's folder that are not of the store, such as runs and notes."""
    return sorted(one for one in folder.iterdir() if one.name not in _OWN | _HALF_WRITTEN)


def written_of_store(folder: Path) -> Iterator[Path]:
    """Yield the paths in a folder that belong to a store.

    The top-level files and folders of a store are also yielded if they do not exist.
    """
    for name in _OWN | _HALF_WRITTEN:
        yield folder / name
        yield from (folder / name).rglob("*")


def part_path(table: str, part: int) -> str:
    """Return the path of a source file's rows, relative to the store."""
    return f"tables/{table}/part-{part:05d}.parquet"


def rejects_path(table: str, part: int) -> str:
    """Return the path of a source file's rejects, relative to the store."""
    return f"rejects/{table}/part-{part:05d}.parquet"


def dimension_path(entity: str, first_key: int) -> str:
    """Return the path, relative to the store, of the file with an entity's ids from a key on."""
    return f"{DIMENSIONS}/{entity}/part-{first_key:010d}.parquet"


def dimension_paths(folder: Path, entity: str, count: int) -> list[Path]:
    """Return the files with the first ``count`` ids of an entity, in the order of keys.

    Files with later keys belong to an interrupted ingest.
    """
    beyond = folder / dimension_path(entity, count)
    return sorted(path for path in beyond.parent.glob("part-*.parquet") if path < beyond)
