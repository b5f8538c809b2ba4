"""What a file gives one table, in a staging folder: clean rows, names and broken rows.

A column is one raw file, which is written in blocks and read in pieces.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
from numpy.typing import DTypeLike, NDArray

from tracekit.base.arrays import BoolArray, Int32Array
from tracekit.intake.read.coded import DTYPES, LINE, Keys, key_kinds, kind_of
from tracekit.intake.read.table_file import Reading
from tracekit.store.broken_rows import (
    PARTIAL_ANSWER,
    PARTIAL_DEFECT,
    UNREAD,
    UNREAD_DEFECT,
    UNREADABLE,
    UNREADABLE_DEFECT,
    WATCH_DEFECT,
    WATCH_ENDED,
    place_in,
)
from tracekit.store.folder import REJECTED, UNKNOWN_NAME, Defect
from tracekit.store.tables import Column, Table


class ColumnsWriter:
    """A context manager that appends rows to binary files in a folder, one for each column."""

    def __init__(self, folder: Path, table: Table) -> None:
        self._folder = folder
        self._types = column_types(table)
        self._files: dict[str, IO[bytes]] = {}
        self._open = ExitStack()
        self.rows = 0

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        for name in self._types:
            path = self._folder / f"{name}.bin"
            self._files[name] = self._open.enter_context(path.open("wb", buffering=1 << 18))
        return self

    def append(self, columns: Mapping[str, NDArray[np.generic]]) -> None:
        """Append rows: ``columns`` has every column of the table and ``line``, each (rows,)."""
        for name, file in self._files.items():
            file.write(np.ascontiguousarray(columns[name], dtype=self._types[name]).data)
        self.rows += int(columns[LINE].size)

    def __exit__(self, *_: object) -> None:
        self._open.close()


def column_types(table: Table) -> Mapping[str, DTypeLike]:
    """Return the type of each staged column of a table."""
    return {column.name: DTYPES[column.kind] for column in table.columns} | {LINE: np.int64}


class Columns:
    """A reader of the column files that ``ColumnsWriter`` wrote to a folder."""

    def __init__(self, folder: Path, table: Table, rows: int) -> None:
        self._folder = folder
        self._types = column_types(table)
        self.rows = rows

    def read(self, name: str, start: int, stop: int) -> NDArray[np.generic]:
        """Return the rows from ``start`` up to ``stop``, which is excluded, of one column."""
        kind = np.dtype(self._types[name])
        path = self._folder / f"{name}.bin"
        return np.fromfile(path, kind, count=stop - start, offset=start * kind.itemsize)


@dataclass(frozen=True)
class Names:
    """The store's keys for one kind of name in a file.

    Attributes
    ----------
    keys : the store's key of each of the file's keys, int32; for a text column the rank of each
        text, from 0 on
    count : the number of keys in the store, or of texts in the file
    texts : for a text column, the texts in the order of their rank
    """

    keys: Int32Array
    count: int
    texts: pl.Series | None = None


class StoredKeys:
    """The store's keys by column of a table, to translate the keys of a file."""

    def __init__(self, names: Mapping[str, Names]) -> None:
        self._names = names
        # the key of NULL is -1, which as an index means the last place
        self._keys = {kind: np.append(n.keys, np.int32(-1)) for kind, n in names.items()}

    def of(self, column: Column) -> Int32Array | None:
        """Return an array that maps the file's keys to the store's keys; index -1 gives -1.

        Return None for a column without keys.
        """
        return self._keys[kind_of(column)] if column.kind in {"id", "text"} else None

    def count(self, column: Column) -> int:
        """Return the number of different keys that a column may have, without -1."""
        return self._names[kind_of(column)].count

    def texts(self, column: Column) -> pl.Series:
        """Return the texts of a text column, in the order of their rank."""
        texts = self._names[kind_of(column)].texts
        assert texts is not None  # noqa: S101 - given for every text column
        return texts


SCHEMA = pa.schema(
    [
        ("source_file", pa.string()),
        ("line", pa.int64()),
        ("column", pa.string()),
        ("reason", pa.string()),
        ("text", pa.string()),
    ]
)
#: The beginning of the reason of a row that contradicts an earlier statement.
CONTRADICTS = "contradicts"
_GROUP_ROWS = 1 << 17
#: The longest example of a defect; a reason may quote a long value of a file.
_EXAMPLE_CHARS = 240
#: The number of lines for which there is room at first.
_ROOM = 1 << 16


class RejectsWriter:
    """A writer of rejects, the rows that could not be read, to a Parquet file.

    The file is made with the first reject. ``close`` must be called at the end.
    """

    def __init__(self, path: Path, source_file: str) -> None:
        self.rows = 0
        self._path = path
        self._source_file = source_file
        #: By column and kind: rows, and line and reason of the first.
        self._kinds: dict[tuple[str, str], tuple[int, tuple[int, str]]] = {}
        self._pending = pl.DataFrame()
        self._out: pq.ParquetWriter | None = None

    def append(self, rejects: pl.DataFrame) -> None:
        """Add rejects, a frame with columns ``line, column, reason, text``."""
        if not rejects.height:
            return
        self.rows += rejects.height
        self._count(rejects)
        self._pending = pl.concat([self._pending, rejects]) if self._pending.height else rejects
        while self._pending.height >= _GROUP_ROWS:
            self._write(self._pending.head(_GROUP_ROWS))
            self._pending = self._pending.slice(_GROUP_ROWS)

    def close(self) -> None:
        """Write the rejects that are still in memory, and close the file."""
        if self._pending.height:
            self._write(self._pending)
        if self._out is not None:
            self._out.close()

    def defects(self) -> Iterator[Defect]:
        """Yield a defect for each column and kind of reject: the number of rows and an example.

        The example is the first line with it, and the reason there.
        """
        for (column, kind), (rows, (line, reason)) in sorted(self._kinds.items()):
            yield Defect(
                defect=kind,
                column=column,
                rows=rows,
                action=REJECTED,
                example=f"{place_in(self._source_file, line)}: {reason}"[:_EXAMPLE_CHARS],
            )

    def _write(self, rejects: pl.DataFrame) -> None:
        named = rejects.select(
            pl.lit(self._source_file).alias("source_file"), "line", "column", "reason", "text"
        )
        if self._out is None:
            self._out = pq.ParquetWriter(self._path, SCHEMA, compression="zstd")
        self._out.write_table(named.to_arrow().cast(SCHEMA))

    def _count(self, rejects: pl.DataFrame) -> None:
        reasons = rejects.group_by("column", "reason").agg(pl.len(), pl.col("line").min())
        for column, reason, count, line in reasons.iter_rows():
            key = (column or "", _kind(reason))
            rows, first = self._kinds.get(key, (0, (line, reason)))
            self._kinds[key] = (rows + count, min(first, (line, reason)))


#: Parts of reasons for an id that no table names.
_UNKNOWN = (", which no file", "of the files beside", "expected a VM of ")


#: The defect for each beginning of a reason that is about a whole file or document.
_BEGINNINGS = {
    **dict.fromkeys(UNREADABLE, UNREADABLE_DEFECT),
    WATCH_ENDED: WATCH_DEFECT,
    PARTIAL_ANSWER: PARTIAL_DEFECT,
    UNREAD: UNREAD_DEFECT,
    CONTRADICTS: "contradiction",
}


def _kind(reason: str) -> str:
    for beginning, kind in _BEGINNINGS.items():
        if reason.startswith(beginning):
            return kind
    if "at least" in reason:
        return "out_of_range"
    if any(words in reason for words in _UNKNOWN):
        return UNKNOWN_NAME
    if "is empty, expected" in reason:
        return "empty_value"
    if "expected" in reason and "fields" not in reason and "NUL" not in reason:
        return "unparsable_value"
    return "malformed_row"


class Lines:
    """A counter of a file's lines; a line that gave several rows or rejects counts once."""

    def __init__(self) -> None:
        self._read: BoolArray = np.zeros(_ROOM, dtype=np.bool_)
        self._broken: BoolArray = np.zeros(_ROOM, dtype=np.bool_)

    def note(self, good: NDArray[np.generic], broken: NDArray[np.generic]) -> None:
        """Note the lines of some rows and of some rejects."""
        for lines in (good, broken):
            most = int(lines.max(initial=0))
            while most >= self._read.size:
                self._read, self._broken = (
                    np.concatenate([one, np.zeros_like(one)]) for one in (self._read, self._broken)
                )
            self._read[lines.astype(np.int64)] = True
        self._broken[broken.astype(np.int64)] = True

    @property
    def read(self) -> int:
        """The number of lines that gave a row or a reject."""
        return int(self._read.sum())

    @property
    def broken(self) -> int:
        """The number of lines that gave a reject."""
        return int(self._broken.sum())


@dataclass(frozen=True)
class Staged:
    """The rows of one table that were read from one file, and its rejects, in a staging folder.

    Attributes
    ----------
    folder : has the rows, the rejects and the names; names in rows are the file's own keys
    release : the name of the source
    rows, rejected : the number of good and of broken rows
    reject_defects : the kinds of broken rows
    lines_read, lines_broken : the lines of the whole file, and those with a reject; None and 0 if
        lines are not counted
    """

    folder: Path
    table: str
    release: str
    reading: Reading
    rows: int
    rejected: int
    reject_defects: tuple[Defect, ...]
    lines_read: int | None = None
    lines_broken: int = 0

    @property
    def rows_read(self) -> int:
        """The number of rows, good and broken."""
        return self.rows + self.rejected

    @property
    def content(self) -> str:
        """An identity of the file's content; see ``Reading.content``."""
        return self.reading.content

    @property
    def rejects(self) -> Path:
        """The path of the rejects; no file is there without rejects."""
        return self.folder / "rejects.parquet"

    @property
    def part(self) -> Path:
        """The path of the sorted rows; no file is there before the rows are sorted."""
        return self.folder / "part.parquet"

    def names(self, kind: str) -> pl.Series:
        """Return the names of a kind, in the order of the file's keys."""
        return pl.scan_ipc(self.folder / f"{kind}.names", glob=False).collect()["id"]

    def keys_path(self, entity: str) -> Path:
        """Return the path of the array that maps the file's keys to the store's, int32."""
        return self.folder / f"{entity}.keys.npy"


def write_names(folder: Path, table: Table, keys: Keys) -> None:
    """Write the names of each kind of key of a table, in the order of the keys."""
    for number, kind in enumerate(key_kinds(table)):
        _write_names(folder / f"{kind}.names", keys.texts(number))


def _write_names(path: Path, names: Iterable[pa.Array]) -> None:
    schema = pa.schema([("id", pa.large_string())])
    with pa.ipc.new_file(path, schema) as out:
        for some in names:
            out.write_batch(pa.RecordBatch.from_arrays([some], schema=schema))
