"""Sources whose files are read by a function: kinds of files, and the batches that a reader yields.

A reader turns one file into batches of rows of the base tables. It need not check values: every
batch goes through the rules of its table. A row that breaks a rule goes to the rejects with the
file's name, the row's line and the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BufferedIOBase
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from tracekit.intake.sources._release import Archives, Match, Source, TableFormat

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True)
class Head:
    """The name and the first bytes of a file.

    Attributes
    ----------
    name : str
        The file's name without folders and without ``.gz``; for a tar, the name of a member.
    start : bytes
        Its first 64 KiB, unpacked.
    columns : tuple of str
        The columns of a Parquet file; empty for any other file.
    """

    name: str
    start: bytes
    columns: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The whole lines of the first bytes; undecodable bytes are replaced."""
        text = self.start.decode(errors="replace").removeprefix("\ufeff")
        return text.splitlines() if len(self.start) < 1 << 16 else text.splitlines()[:-1]

    def fields(self, separator: str = ",") -> list[str]:
        """The columns of a Parquet file; else the fields of the first line, without quotes."""
        if self.columns:
            return list(self.columns)
        first = self.lines[0] if self.lines else ""
        return [field.strip().strip('"') for field in first.split(separator)]


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A file to be read.

    Attributes
    ----------
    path : Path
        The file's path, for libraries that need one; the file may be packed.
    name : str
        The file's name in messages.
    stream : function() -> file of bytes
        Opens the unpacked file from its beginning; may be called again.
    beside : mapping of str to tuple of Opened
        The files of the same source that are ingested together with it, by
        ``ClusterFile.word``.
    stored_sizes : mapping of str to mapping of str to float
        CPU in cores and memory in bytes of each node that the store held before.
    stored : mapping of str to Path
        Parquet files, with ids as texts, of what the store held before, for a user's own
        tables: nodes of containers and units of resources, by base table. ``node_ids`` and
        ``container_ids`` hold all listed ids; ``containers_taken`` holds the paths of the lists
        of containers taken in.
    """

    path: Path
    name: str
    stream: Callable[[], BufferedIOBase]
    beside: Mapping[str, tuple[Opened, ...]] = field(default_factory=lambda: MappingProxyType({}))
    stored_sizes: Mapping[str, Mapping[str, float]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    stored: Mapping[str, Path] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Rows of a base table.

    Parameters
    ----------
    table : str
    rows : DataFrame
        Columns of the base table, of which optional ones may be missing, and ``line`` (int64):
        the row's line in the file, or its number counted from 1. Numbers and times may be
        texts, which are read as those of a CSV are.
    lines : Series, optional
        The lines that were read, if some of them give no row.
    stood : DataFrame, optional
        The file's columns for these rows, which the reject of a broken row shows.
    """

    table: str
    rows: pl.DataFrame
    lines: pl.Series | None = None
    stood: pl.DataFrame | None = None


def lines_of(batch: Batch, lines: pl.Series) -> dict[int, dict[str, object]]:
    """Lines of the file that rows are made of, by their numbers; empty if the batch has none."""
    if batch.stood is None or not len(lines):
        return {}
    at = batch.stood["line"].cast(lines.dtype).is_in(lines.unique().implode())
    return {int(row["line"]): row for row in batch.stood.filter(at).iter_rows(named=True)}


#: So much of a row that is refused is kept as it stood.
SHOWN_CHARACTERS = 200


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A row that goes to the rejects of ``table``.

    Parameters
    ----------
    line : int
        The line, as in ``Batch.rows``.
    column : str, optional
        The column that is wrong.
    reason : str
        The value, and what would be right: ``is 'x', expected a number``.
    text : str
        The row as the file has it, cut to ``SHOWN_CHARACTERS``.
    """

    table: str
    line: int
    reason: str
    text: str
    column: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", self.text[:SHOWN_CHARACTERS])


#: What a reader yields.
Read = Iterator[Batch | Broken]


@dataclass(frozen=True, kw_only=True)
class ClusterFile:
    """One kind of file of a source.

    Parameters
    ----------
    word : str
        The kind in one word: nodes, pods, usage.
    title : str
        What the file holds, in a few words.
    tables : tuple of str
        The base tables that get rows from it.
    recognises : function(Head) -> bool
        Whether a file is of this kind; at most one source may say so.
    read : function(Opened) -> Iterator of Batch or Broken
        Raises TracekitError when the file as a whole cannot be read.
    lacks : function(Head) -> tuple of str, or None
        For a file whose name says that it is of this kind, the columns that it lacks; None for
        another name.
    archives : Archives, optional
        The archive upstream that holds the file; several kinds may name one archive.
    alone : bool
        Whether each file of this kind is a whole case by itself, so that two of them may not be
        in one store.
    together : bool
        Whether files of this kind are read together, because a later one changes the meaning of
        an earlier one.
    """

    word: str
    title: str
    tables: tuple[str, ...]
    recognises: Callable[[Head], bool]
    read: Callable[[Opened], Read]
    lacks: Callable[[Head], tuple[str, ...] | None] = lambda _: None
    archives: Archives | None = None
    alone: bool = False
    together: bool = False


@dataclass(frozen=True, kw_only=True)
class ClusterSource(Source):
    """A source whose files are read by functions.

    Parameters
    ----------
    files : tuple of ClusterFile
        The source's kinds of files.
    licence : str
        The licence of the data, as far as upstream states one.
    lacks : tuple of str
        Quantities that the source does not record, or that have an unexpected meaning.
    inferred : tuple of str
        Quantities that the reader infers, each with its rule.
    """

    files: tuple[ClusterFile, ...] = ()
    licence: str = "not stated"
    lacks: tuple[str, ...] = ()
    inferred: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ClusterMatch(Match):
    """A file, with the source and the kind of file that read it."""

    file: ClusterFile


def cluster_match(source: ClusterSource, file: ClusterFile) -> ClusterMatch:
    """The kind of file of a source that reads a file."""
    form = TableFormat(table=file.tables[0], word=file.word, file_stem=file.title, columns={})
    return ClusterMatch(source=source, format=form, header=(), positions={}, file=file)
