"""Sources whose files are read by code: kinds of files, and the batches that a reader yields.

A reader turns one file into batches of rows of the base tables. It need not check values: every
batch goes through the rules of its table, and a row that breaks one goes to the rejects with the
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
    """How a file begins.

    Attributes
    ----------
    name : str
        The file's name without folders and without ``.gz``; of a tar, that of a member.
    start : bytes
        Its first 64 KiB, unpacked.
    columns : tuple of str
        The columns of a Parquet file; empty for all others.
    """

    name: str
    start: bytes
    columns: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The whole lines of the start, undecodable bytes replaced."""
        text = self.start.decode(errors="replace").removeprefix("\ufeff")
        return text.splitlines() if len(self.start) < 1 << 16 else text.splitlines()[:-1]

    def fields(self, separator: str = ",") -> list[str]:
        """The columns of a Parquet file; else the first line's fields, without quotes around."""
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
        Where it lies, for libraries that want a path; it may be packed.
    name : str
        What messages call it.
    stream : function() -> file of bytes
        Opens it unpacked (gzip) from its beginning; may be called again.
    beside : mapping of str to tuple of Opened
        The files of the same source that are ingested with it, by ``ClusterFile.word``.
    stored_sizes : mapping of str to mapping of str to float
        The cores and bytes of each node that the store held before: cpu, memory.
    stored : mapping of str to Path
        What the store held before, for somebody's own tables, as Parquet with ids as texts:
        where containers are and units of resources, by base table. ``node_ids`` and
        ``container_ids`` are all that it lists, ``containers_taken`` the paths of the lists of
        containers that it has taken in.
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
        Columns of the base table by name, optional ones may be left out, and ``line`` (int64): the
        row's line in the file, or its number counted from 1. Numbers and times may be texts: they
        are read as a CSV's are.
    lines : Series, optional
        The lines that were read for these rows, where some may give none.
    stood : DataFrame, optional
        The lines of the file that these rows are made of, for what is told of one that is broken.
    """

    table: str
    rows: pl.DataFrame
    lines: pl.Series | None = None
    stood: pl.DataFrame | None = None


def lines_of(batch: Batch, lines: pl.Series) -> dict[int, dict[str, object]]:
    """Lines of the file that rows are made of, by their numbers; none where they do not say."""
    if batch.stood is None or not len(lines):
        return {}
    at = batch.stood["line"].cast(lines.dtype).is_in(lines.unique().implode())
    return {int(row["line"]): row for row in batch.stood.filter(at).iter_rows(named=True)}


#: So much of a row that is refused is kept as it stood.
SHOWN_CHARACTERS = 200


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A row that is none of a table: goes to the rejects of ``table``.

    Parameters
    ----------
    line : int
        As in ``Batch.rows``.
    column : str, optional
        What is wrong in it.
    reason : str
        What was found and what would be right: ``is 'x', expected a number``.
    text : str
        The row as it stands; ``SHOWN_CHARACTERS`` of it are kept.
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
        What it holds, in a few words.
    tables : tuple of str
        The base tables that it gives rows to.
    recognises : function(Head) -> bool
        Whether a file is of this kind; no other source may think so too.
    read : function(Opened) -> Iterator of Batch or Broken
        Raises TracekitError when the file as a whole cannot be read.
    lacks : function(Head) -> tuple of str, or None
        Which columns a file lacks whose name says that it is of this kind; None for other names.
    archives : Archives, optional
        Where upstream keeps it. Kinds of files that lie in one archive name the same one.
    alone : bool
        Whether each file of this kind is a problem of its own, or a variant of the same list, so
        that two of them in one store would be neither.
    together : bool
        Whether files of this kind are read together: a later one changes what an earlier one means.
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
    """A source whose files are read by code.

    Parameters
    ----------
    files : tuple of ClusterFile
        Its kinds of files.
    licence : str
        Under which the data may be used, as far as upstream says.
    lacks : tuple of str
        Quantities that the source has not, or that mean something else than one would think.
    inferred : tuple of str
        What the reader works out that no file states, each with its rule.
    """

    files: tuple[ClusterFile, ...] = ()
    licence: str = "not stated"
    lacks: tuple[str, ...] = ()
    inferred: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ClusterMatch(Match):
    """A file that a reader of a source takes."""

    file: ClusterFile


def cluster_match(source: ClusterSource, file: ClusterFile) -> ClusterMatch:
    """The match of a file with one of a source's kinds."""
    form = TableFormat(table=file.tables[0], word=file.word, file_stem=file.title, columns={})
    return ClusterMatch(source=source, format=form, header=(), positions={}, file=file)
