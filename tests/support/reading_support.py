"""Reads one file through the reader of a source, without a store."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedIOBase, BytesIO
from pathlib import Path
from types import MappingProxyType

import polars as pl

from tracekit.intake.ingest import ingest
from tracekit.intake.sources import (
    Broken,
    ClusterFile,
    ClusterSource,
    Head,
    Opened,
    all_sources,
    get_source,
)
from tracekit.store.folder import open_store
from tracekit.store.query import Database
from tracekit.store.tables import all_tables

_HEAD_BYTES = 1 << 16


@dataclass(frozen=True)
class Reading:
    """What a reader yielded: the rows of each table, and the broken rows."""

    tables: dict[str, pl.DataFrame]
    broken: list[Broken]

    def rows(self, table: str, *columns: str) -> list[tuple[object, ...]]:
        """The rows of a table in these columns."""
        return self.tables[table].select(columns).rows()

    @property
    def reasons(self) -> list[tuple[int, str | None, str]]:
        """Line, column and reason of each broken row."""
        return [(one.line, one.column, one.reason) for one in self.broken]


def cluster_source(name: str) -> ClusterSource:
    """The source of that name, whose files are read by code."""
    source = get_source(name)
    assert isinstance(source, ClusterSource)
    return source


def head_of(path: Path) -> Head:
    """How a file begins, unpacked."""
    columns = tuple(pl.read_parquet_schema(path)) if path.suffix == ".parquet" else ()
    name = path.name.removesuffix(".gz")
    return Head(name=name, start=_bytes(path)[:_HEAD_BYTES], columns=columns)


def written(folder: Path, name: str, text: str) -> Path:
    """A file of this text in a folder."""
    path = folder / name
    path.write_text(text)
    return path


def recognised(path: Path) -> list[tuple[str, str]]:
    """The sources that think a file is theirs, with the kind of file: one where all is well."""
    head = head_of(path)
    return [
        (name, file.word)
        for name, source in all_sources().items()
        if isinstance(source, ClusterSource)
        for file in source.files
        if file.recognises(head)
    ]


def file_of(source: str, path: Path) -> ClusterFile:
    """The kind of file of a source that a file is, which no other source takes for its own."""
    found = recognised(path)
    assert [name for name, _ in found] == [source]
    return next(one for one in cluster_source(source).files if one.word == found[0][1])


def opened(path: Path, beside: Mapping[str, tuple[Opened, ...]] = MappingProxyType({})) -> Opened:
    """A file as readers get it."""

    def stream() -> BufferedIOBase:
        return BytesIO(_bytes(path))

    return Opened(path=path, name=path.name, stream=stream, beside=beside)


def read(
    source: str, path: Path, beside: Mapping[str, tuple[Opened, ...]] = MappingProxyType({})
) -> Reading:
    """Everything that the source's reader makes of a file, checked against the tables' columns."""
    file = file_of(source, path)
    frames: dict[str, list[pl.DataFrame]] = {}
    broken: list[Broken] = []
    for one in file.read(opened(path, beside)):
        assert one.table in file.tables
        if isinstance(one, Broken):
            broken.append(one)
            continue
        known = {column.name for column in all_tables()[one.table].columns}
        assert set(one.rows.columns) <= {*known, "line"}
        assert "line" in one.rows.columns
        frames.setdefault(one.table, []).append(one.rows)
    joined = {table: pl.concat(some, how="diagonal_relaxed") for table, some in frames.items()}
    return Reading(joined, broken)


def stored(source: Path, folder: Path, sql: str) -> list[tuple[object, ...]]:
    """Ingest a file or folder into ``folder / "store"``, and what a query says of the store."""
    ingest(source, folder / "store", max_rejects_fraction=1.0)
    with Database(open_store(folder / "store")) as database:
        return database.frame(sql).rows()


def _bytes(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
