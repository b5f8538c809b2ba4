"""The store folder: where things lie in it, and opening one."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.base.errors import TracekitError
from tracekit.base.files.lock import LOCK
from tracekit.base.files.places import place, telling
from tracekit.store.manifest import ANEW, NAME, Manifest, read_manifest

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
