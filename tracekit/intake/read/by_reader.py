"""A file that a source's own code reads: its batches, checked by the rules of their tables."""

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.base.errors import TracekitError
from tracekit.base.files.places import open_whole
from tracekit.intake.read.arrow_rows import Fractions, typed
from tracekit.intake.read.blocks import GunzipStream, Readable
from tracekit.intake.read.coded import LINE, CodedRows, PlainKeys, code, key_kinds
from tracekit.intake.read.discover import TraceFile, head_of, start_of
from tracekit.intake.read.members import (
    FileKind,
    HashingReader,
    Member,
    damaged_as_error,
    file_kind,
    members,
)
from tracekit.intake.read.parse import REJECTS_SCHEMA, Counts, Parsed, no_rejects, validate
from tracekit.intake.sources import (
    ORIGINAL,
    Batch,
    Broken,
    ClusterFile,
    ClusterMatch,
    Head,
    Opened,
    Read,
    recognise_by_reader,
    row_text,
)
from tracekit.store.tables import Table, all_tables

_PIECE_BYTES = 1 << 20
_LONGEST_TEXT = 500
#: The number of broken rows that make a block.
_BLOCK_REJECTS = 4096
#: The source and the kind of the member to read from a tar; None for any.
_Wanted = tuple[str, str] | None


class _Unpacked(io.RawIOBase):
    """An unpacked file, as a raw file."""

    def __init__(self, path: Path, on_read: Callable[[int], None], wanted: _Wanted) -> None:
        self._open = ExitStack()
        raw = self._open.enter_context(open_whole(path))
        kind = file_kind(path)
        self._stream: Readable = GunzipStream(raw) if kind == "csv.gz" else raw
        if kind in {"tar", "tar.gz"} and wanted is not None:
            self._stream = _member(path, kind, raw, wanted)
        self._on_read = on_read

    def close(self) -> None:
        self._open.close()
        super().close()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer)) or b""
        buffer[: len(data)] = data
        self._on_read(len(data))
        return len(data)


class _Begun:
    """A stream whose first bytes were read already."""

    def __init__(self, start: bytes, rest: Readable, archive: Iterator[Member]) -> None:
        self._start = start
        self._rest = rest
        self._archive = archive  # if it were collected, the stream would close

    def read(self, size: int, /) -> bytes | None:
        data, self._start = self._start[:size], self._start[size:]
        return data or self._rest.read(size)


def _member(path: Path, kind: FileKind, raw: BinaryIO, wanted: tuple[str, str]) -> Readable:
    """The first member of a tar that has the wanted kind; an empty stream if none has it."""
    release, word = wanted
    archive = members(path, kind, HashingReader(raw))
    for member in archive:
        start = start_of(member.stream)
        match = recognise_by_reader(Head(name=member.name, start=start), release=release)
        if match is not None and match.file.word == word:
            return _Begun(start, member.stream, archive)
    return io.BytesIO()


def opened(
    path: Path,
    name: str,
    on_read: Callable[[int], None] = lambda _: None,
    wanted: _Wanted = None,
) -> Opened:
    """Return a file as a source's reader gets it: ``stream`` opens the unpacked content.

    Parameters
    ----------
    on_read : called after each read with the number of unpacked bytes
    wanted : which member of a tar to read, by the name of its source and its kind of file
    """
    return Opened(path=path, name=name, stream=partial(_stream, path, on_read, wanted))


def _stream(path: Path, on_read: Callable[[int], None], wanted: _Wanted) -> BufferedReader:
    return BufferedReader(_Unpacked(path, on_read, wanted), _PIECE_BYTES)


def _beside(file: TraceFile) -> dict[str, tuple[Opened, ...]]:
    assert isinstance(file.match, ClusterMatch)  # noqa: S101 - the caller checked it
    beside: dict[str, tuple[Opened, ...]] = {}
    for word, path, name in file.beside:
        other = opened(path, name, wanted=(file.match.source.name, word))
        beside[word] = (*beside.get(word, ()), other)
    return beside


class ReaderFile:
    """One trace file that a source's own reader turns into rows of base tables.

    After ``blocks`` has ended, ``keys`` and ``counts`` are complete; both are by table.
    """

    def __init__(self, file: TraceFile, aside: Path) -> None:
        assert isinstance(file.match, ClusterMatch)  # noqa: S101 - the caller checked it
        self._file = file
        self._match = file.match
        self._aside = aside
        self.keys: dict[str, PlainKeys] = {}
        self.counts: dict[str, Counts] = {}
        self.fractions = Fractions()
        #: The lines read since the caller emptied this list; some of them gave no row.
        self.lines: list[NDArray[np.int64]] = []

    def blocks(self, on_read: Callable[[int], None]) -> Iterator[tuple[str, CodedRows]]:
        """Yield the rows and rejects in blocks, each with the name of its table.

        Raises TracekitError if the file is damaged.
        """
        for table in self._match.file.tables:
            self._prepared(table)
        for kind, one in self._parts(on_read):
            with _as_error(self._file, self._match):
                yield from self._rows_of(kind.read(one))

    def _rows_of(self, some: Read) -> Iterator[tuple[str, CodedRows]]:
        """The blocks of what a reader yields.

        Broken rows wait for others of their table, because a block costs as much for one as for
        many.
        """
        waiting: dict[str, list[Broken]] = {}
        for read in some:
            if isinstance(read, Broken):
                waiting.setdefault(read.table, []).append(read)
            if isinstance(read, Batch) or len(waiting[read.table]) >= _BLOCK_REJECTS:
                yield from self._rejected(waiting)
                waiting = {}
            if isinstance(read, Batch):
                yield read.table, self._taken(read)
        yield from self._rejected(waiting)

    def _prepared(self, name: str) -> Table:
        table = all_tables()[name]
        if name not in self.keys:
            self.keys[name] = PlainKeys(len(key_kinds(table)))
            self.counts[name] = Counts()
        return table

    def _parts(self, on_read: Callable[[int], None]) -> Iterator[tuple[ClusterFile, Opened]]:
        """The file itself, or each member of a tar that the source recognises, written to disk."""
        file = self._file
        beside = _beside(file)
        if file.kind not in {"tar", "tar.gz"}:
            one = opened(file.path, file.name, on_read)
            yield self._match.file, _with(one, beside, file)
            return
        with open_whole(file.path) as raw, damaged_as_error(file.path):
            for member in members(file.path, file.kind, HashingReader(raw)):
                path = self._aside / "member"
                with path.open("wb") as out:
                    while data := member.stream.read(_PIECE_BYTES):
                        out.write(data)
                match = recognise_by_reader(
                    head_of(path, member.name), release=self._match.source.name
                )
                if match is not None:
                    one = opened(path, f"{file.name}/{member.name}", on_read)
                    yield match.file, _with(one, beside, file)
                path.unlink()

    def _taken(self, read: Batch) -> CodedRows:
        table = self._prepared(read.table)
        self.fractions.note(table.name, read.rows)
        if read.lines is not None:
            self.lines.append(read.lines.cast(pl.Int64).to_numpy())
        return self._checked(read.rows, table, read.original)

    def _rejected(self, waiting: dict[str, list[Broken]]) -> Iterator[tuple[str, CodedRows]]:
        for name, broken in waiting.items():
            rejects = pl.DataFrame(
                [(one.line, one.column, one.reason, one.text[:_LONGEST_TEXT]) for one in broken],
                schema=REJECTS_SCHEMA,
                orient="row",
            )
            empty = pl.DataFrame(schema={"line": pl.Int64})
            yield name, CodedRows(self._checked(empty, self._prepared(name)).columns, rejects)

    def _checked(
        self, rows: pl.DataFrame, table: Table, file_lines: pl.DataFrame | None = None
    ) -> CodedRows:
        """The rows after the rules of the table; several rows may come from one line."""
        lines = rows["line"].cast(pl.Int64).to_numpy()
        missing = self._match.source.missing_names
        clean = validate(_parsed(rows, table, file_lines), table, missing, self.counts[table.name])
        coded = code(clean, table, self.keys[table.name])
        at = coded.columns[LINE]
        rejects = coded.rejects.with_columns(
            pl.Series("line", lines[coded.rejects["line"].to_numpy()], pl.Int64)
        )
        return CodedRows({**coded.columns, LINE: lines[at.astype(np.int64)]}, rejects)


def _with(one: Opened, beside: dict[str, tuple[Opened, ...]], file: TraceFile) -> Opened:
    sizes = {node: {"cpu": cpu, "memory": memory} for node, cpu, memory in file.stored_sizes}
    return replace(one, beside=beside, stored_sizes=sizes, stored=dict(file.stored))


def _parsed(rows: pl.DataFrame, table: Table, file_lines: pl.DataFrame | None) -> Parsed:
    """The rows with the columns of the table; ``line`` is a row's place among these rows.

    ``file_lines`` holds the lines from which the rows were made, if the source gives them.
    """
    if "position" not in rows.columns and any(c.name == "position" for c in table.columns):
        # the order of the file is the order of the source
        rows = rows.with_columns(pl.col("line").alias("position"))
    strange = set(rows.columns) - {column.name for column in table.columns} - {"line"}
    if strange:
        raise AssertionError(f"table {table.name} has no column {', '.join(sorted(strange))}")
    empty = pl.Series([None] * rows.height, dtype=pl.String)
    columns = [
        typed(rows[c.name] if c.name in rows.columns else empty.alias(c.name), c.kind).alias(c.name)
        for c in table.columns
    ]
    places = pl.Series("line", np.arange(rows.height, dtype=np.int64))
    frame = pl.DataFrame([*columns, places])

    places_of: dict[int, int] = {}

    def line_of(at: int) -> dict[str, object]:
        assert file_lines is not None  # noqa: S101 - the callers checked it
        if not places_of:
            places_of.update(
                zip(file_lines["line"].cast(pl.Int64), range(file_lines.height), strict=True)
            )
        return file_lines.row(places_of[int(rows["line"][at])], named=True)

    def value_text(at: int, column: str) -> str:
        value = rows[column][at] if column in rows.columns else None
        if file_lines is not None and column + ORIGINAL in file_lines.columns:
            value = line_of(at)[column + ORIGINAL]
        return "" if value is None else str(value)

    def shown(at: int) -> str:
        if file_lines is not None:
            return row_text(line_of(at))[:_LONGEST_TEXT]
        row = rows.row(at, named=True)
        text = ", ".join(f"{k}={v}" for k, v in row.items() if v is not None and k != "line")
        return text[:_LONGEST_TEXT]

    texts = {
        name for name, kind in rows.schema.items() if kind == pl.String or file_lines is not None
    }
    return Parsed(
        frame, no_rejects(), value_text, shown, frozenset(one.name for one in table.columns) - texts
    )


@contextmanager
def _as_error(file: TraceFile, match: ClusterMatch) -> Iterator[None]:
    """Turn a reader's exception at a malformed file into one clear error."""
    try:
        with damaged_as_error(file.path):
            yield
    except (TracekitError, MemoryError, AssertionError):
        raise
    except Exception as error:
        # a file may hold anything, so a reader may raise any exception: the error shows it
        cause = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise TracekitError(
            f"{file.name} is not read as {match.source.name} {match.file.word}: {cause[:300]}",
            hint=f"expected {match.file.title}; nothing of it was taken in",
        ) from error
