"""Writes the broken rows of one source file, and counts them by kind."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray
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
    """Writes rejects to a Parquet file, which is made with the first reject.

    ``close`` must be called at the end.
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
        """Add rejects: ``line, column, reason, text``."""
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
        """A defect for each column and kind, with the first line and its reason as example."""
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
    """Counts the distinct lines that gave rows or rejects; a line may give several of both."""

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
