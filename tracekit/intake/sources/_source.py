"""A release of a trace: its tables and archives."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BufferedIOBase
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True)
class Archives:
    """The archives of one table in a release.

    Parameters
    ----------
    path : str
        The path below the release's ``download_url``, with ``{part}`` for the numbers 0 to
        ``parts`` - 1; without it for a single archive.
    part_bytes : int
        Usual size of one archive, for progress and advice.
    sha256 : tuple of str
        The checksum of each archive as upstream states it; empty where it states none.
    """

    path: str
    parts: int
    part_bytes: int
    sha256: tuple[str, ...] = ()

    @classmethod
    def single(cls, stem: str, part_bytes: int, sha256: str) -> Self:
        """Return the archives of a table that is in a single file."""
        path = f"{stem}.tar.gz"
        return cls(path=path, parts=1, part_bytes=part_bytes, sha256=(sha256,))


@dataclass(frozen=True, kw_only=True)
class Unpivot:
    """The columns of a wide table that become rows of a long table.

    Parameters
    ----------
    name_column, value_column : str
        The columns of the base table for the measure's name and its value.
    names : mapping of str to str
        For each wide column of the header, the measure's name in the base table. A file may
        lack some of the columns, but not all.
    """

    name_column: str
    value_column: str
    names: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class TableFormat:
    """The columns of one kind of file of a release, and the base table that they make.

    Parameters
    ----------
    table : str
        The base table that gets the rows.
    word : str
        The table in one word, for ``tracekit fetch --tables``: node, resource, rate, call.
    file_stem : str
        The release's name of the file: ``MSResource`` for ``MSResource_0.tar.gz``.
    columns : mapping of str to tuple of str
        For each column of the base table, its names in headers; that of the released files first.
    ignored : tuple of str
        Further columns of the file, which no base table holds.
    unpivot : Unpivot, optional
        For a wide table, the columns of the file that become rows.
    archives : Archives, optional
        The archives of the files.
    """

    table: str
    word: str
    file_stem: str
    columns: Mapping[str, tuple[str, ...]]
    ignored: tuple[str, ...] = ()
    unpivot: Unpivot | None = None
    archives: Archives | None = None


@dataclass(frozen=True, kw_only=True)
class Source:
    """A format of traces that can be ingested, such as one release of a published trace.

    Parameters
    ----------
    missing_names : frozenset of str
        Values of id columns that stand for an unknown name; they become NULL and are counted.
    id_pattern : str, optional
        A regular expression of the ids of nodes, containers and services. It distinguishes releases
        with equal headers.
    download_url : str, optional
        The address below which the archives are.
    notes : tuple of str
        Notes that a reader of the numbers needs.
    """

    name: str
    title: str
    url: str
    missing_names: frozenset[str] = frozenset({""})
    formats: tuple[TableFormat, ...] = ()
    id_pattern: str | None = None
    download_url: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Match:
    """The result of recognising a header: its source, its table, and the position of each column.

    Parameters
    ----------
    positions : mapping of str to int
        The position of each column of ``format.columns``.
    wide : mapping of str to int
        For a wide table, the position of each measure, by its name in the base table.
    """

    source: Source
    format: TableFormat
    header: tuple[str, ...]
    positions: Mapping[str, int]
    wide: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, kw_only=True)
class Head:
    """The name and the first bytes of a file, by which its source is recognised.

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
        """The complete lines of ``start`` as text; undecodable bytes are replaced."""
        text = self.start.decode(errors="replace").removeprefix("\ufeff")
        return text.splitlines() if len(self.start) < 1 << 16 else text.splitlines()[:-1]

    def fields(self, separator: str = ",") -> list[str]:
        """Return a Parquet file's columns, or the unquoted fields of another file's first line."""
        if self.columns:
            return list(self.columns)
        first = self.lines[0] if self.lines else ""
        return [field.strip().strip('"') for field in first.split(separator)]


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A file that a reader of a source reads, with what the reader may know of other files.

    Attributes
    ----------
    path : Path
        The file's path, for libraries that need one; the file may be compressed.
    name : str
        The file's name in messages.
    stream : function() -> file of bytes
        Opens the unpacked file from its beginning; may be called again.
    beside : mapping of str to tuple of Opened
        The files of the same source that are ingested together with it, by ``ClusterFile.word``.
    stored_sizes : mapping of str to mapping of str to float
        By node: CPU in cores and memory in bytes, of nodes that the store had before this ingest.
    stored : mapping of str to Path
        Files with rows that the store had before, with ids as texts. For a user's own tables
        ``container`` has the node of each container, ``node_resource`` and ``container_resource``
        have the units of resources, ``node_ids`` and ``container_ids`` have all listed ids, and
        ``containers_taken`` has the paths of the lists of containers. For series ``counter_end``
        has the last samples of counters.
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
    """Rows of a base table that a reader yields.

    Parameters
    ----------
    table : str
    rows : DataFrame
        Columns of the base table, of which optional ones may be missing, and ``line`` (int64): the
        row's line in the file, or its number counted from 1. Numbers and times may be texts.
    lines : Series, optional
        The lines that were read, if some of them give no row.
    original : DataFrame, optional
        The file's columns for these rows, which the reject of a broken row shows.
    """

    table: str
    rows: pl.DataFrame
    lines: pl.Series | None = None
    original: pl.DataFrame | None = None


def lines_of(batch: Batch, lines: pl.Series) -> dict[int, dict[str, object]]:
    """Return the rows of ``batch.original`` with these line numbers, by line; {} without it."""
    if batch.original is None or not len(lines):
        return {}
    at = batch.original["line"].cast(lines.dtype).is_in(lines.unique().implode())
    return {int(row["line"]): row for row in batch.original.filter(at).iter_rows(named=True)}


#: The length to which the text of a reject is cut.
SHOWN_CHARACTERS = 200


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A row that a reader rejects; it goes to the rejects of ``table``.

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
    """One kind of file of a source, with the functions that recognise and read such a file.

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
        The published archives of such files; several kinds may name one archive.
    alone : bool
        Whether each file is a case of its own, so that a folder with two of them is refused.
    together : bool
        Whether files of this kind are read together, because a later one changes the meaning of an
        earlier one.
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
    """A source with functions that read its files, one for each kind of file.

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
    """The result of recognising a file by its reader: the source and the kind of file."""

    file: ClusterFile


def cluster_match(source: ClusterSource, file: ClusterFile) -> ClusterMatch:
    """Return a ``ClusterMatch`` of this source and kind of file."""
    form = TableFormat(table=file.tables[0], word=file.word, file_stem=file.title, columns={})
    return ClusterMatch(source=source, format=form, header=(), positions={}, file=file)


#: The end of the name of a column that a reader adds beside a changed column of the file. The
#: added column holds the values as they are in the file.
ORIGINAL = "\0"
#: The column of a frame that keeps each row's line.
LINE = f"text{ORIGINAL}"


def as_it_stands(row: Mapping[str, object], column: str) -> object:
    """Return the value of a column as the file has it, before a reader changed it."""
    return row.get(column + ORIGINAL, row[column])


def row_text(row: Mapping[str, object]) -> str:
    """Return the row's line in the file; if the line is not kept, join the row's columns."""
    if LINE in row:
        return str(row[LINE])
    # a name that ends so was added by a reader: the row stands in the file without it
    own = [name for name in row if name != "line" and not name.endswith(ORIGINAL)]
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow([as_it_stands(row, one) for one in own])
    return text.getvalue()


@dataclass(frozen=True)
class Parts:
    """All ingested files of one kind, by path, and whether the file given to ``of`` is the first.

    A container may arrive in one file and depart in another, so the rows of all files are made when
    the first file is read.
    """

    files: tuple[Opened, ...]
    first: bool

    @classmethod
    def of(cls, opened: Opened, word: str) -> Parts:
        """Return all ingested files of a kind, or only this file if it is not among them."""
        files = {_place(one): one for one in opened.beside.get(word, ())}
        if _place(opened) not in files:
            return cls((opened,), first=True)
        ordered = sorted(files)
        return cls(tuple(files[at] for at in ordered), ordered[0] == _place(opened))

    @staticmethod
    def same(one: Opened, other: Opened) -> bool:
        """Return whether both are the same file, or the same member of an archive."""
        return _place(one) == _place(other)


def _place(opened: Opened) -> tuple[str, str]:
    return str(opened.path), opened.name
