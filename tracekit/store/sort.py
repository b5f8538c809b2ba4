"""Puts a source file's rows into the store's order, out of core, and drops its duplicates.

The staged columns are walked once per range of the sort key. A range is about as many rows as the
memory budget lets be sorted at once, so the file's size does not matter; a file that fits is sorted
in one go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tracekit.ingest.ahead import ahead
from tracekit.ingest.coded import LINE
from tracekit.ingest.plan import kind_of
from tracekit.store.arrow import arrow_array
from tracekit.store.columns import Columns
from tracekit.store.dimensions import in_groups
from tracekit.store.duplicates import find_duplicates, tied_places
from tracekit.store.words import Packing, order_of, pack, sorted_columns, sorted_words, words_of
from tracekit.tables import Column, Table

ROW_GROUP_ROWS = 122_880
#: So few that what is worked out of a chunk stays in the processor's cache.
_CHUNK_ROWS = 1 << 17
_SAMPLES = 1 << 16
#: Sorting holds the words three times, the order three times, and the columns.
_BYTES_PER_ROW = 80
_WORD = "word"


@dataclass
class Written:
    """What ended up in a table part."""

    rows: int = 0
    time_min_ms: int | None = None
    time_max_ms: int | None = None
    exact_duplicates: int = 0
    key_duplicates: int = 0
    duplicate_line: int | None = None
    conflict_line: int | None = None


@dataclass(frozen=True)
class Names:
    """What the file's keys of one kind become.

    Attributes
    ----------
    keys : the store's key (or, for text, the rank) of each of the file's keys, int32
    count : how many keys there are in the store, or how many texts
    texts : for text columns, the texts in the order of their rank
    """

    keys: NDArray[np.int32]
    count: int
    texts: pl.Series | None = None


def parquet_schema(table: Table) -> pa.Schema:
    """The Arrow schema of a table part."""
    types = {"time": pa.int64(), "id": pa.int32(), "text": pa.string(), "number": pa.float64()}
    return pa.schema([(column.stored_name, types[column.kind]) for column in table.columns])


def write_sorted(
    staged: Columns, names: Mapping[str, Names], table: Table, target: Path, memory_bytes: int
) -> Written:
    """Write the staged rows of one source file as one sorted Parquet file.

    Of rows with the same key the one that stood first in the file is kept; where a table has no
    key, of rows equal in every column. The order is total, so the bytes depend on nothing else.

    Parameters
    ----------
    names : by kind of name
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    rows = _Rows(staged, names, table, max(ROW_GROUP_ROWS, memory_bytes // _BYTES_PER_ROW))
    dictionary = [column.stored_name for column in table.columns if _repeats(column, table)]
    schema = parquet_schema(table)
    with pq.ParquetWriter(target, schema, compression="zstd", use_dictionary=dictionary) as out:
        # the next row group is put together while the last one is written
        for group in ahead(in_groups(rows.pieces(), ROW_GROUP_ROWS)):
            out.write_table(group, row_group_size=ROW_GROUP_ROWS)
    return rows.written


def _repeats(column: Column, table: Table) -> bool:
    """Whether a row group holds few different values: worth a dictionary."""
    if column.kind == "time":
        return table.step
    return column.kind != "number" or column.unit == "ms"


class _Rows:
    """The rows of one file, in order, as Arrow tables of at most a row group."""

    def __init__(
        self, staged: Columns, names: Mapping[str, Names], table: Table, most_rows: int
    ) -> None:
        self._staged = staged
        self._names = names
        # the last place is for NULL, whose key -1 counts from the end
        self._keys = {kind: np.append(n.keys, np.int32(-1)) for kind, n in names.items()}
        self._table = table
        self._most_rows = most_rows
        self._order = sorted_columns(table)
        self._schema = parquet_schema(table)
        self.written = Written()

    def pieces(self) -> Iterator[pa.Table]:
        """The rows, range by range of the sort key."""
        low, high = self._time_range()
        if self._staged.rows == 0:
            return
        self.written.time_min_ms, self.written.time_max_ms = low, high
        packing = pack(self._order, self._ranges(low, high))
        edges = self._edges(packing)
        for first, last in zip([None, *edges], [*edges, None], strict=True):
            yield from self._range(packing, first, last)

    def _range(
        self, packing: Packing, first: np.uint64 | None, last: np.uint64 | None
    ) -> Iterator[pa.Table]:
        """The rows whose first word is in ``[first, last)``."""
        inside = None if first is None and last is None else self._inside(packing, first, last)
        with ThreadPoolExecutor(1) as beside:
            word = self._first_words(packing, inside)
            # the columns are read while the words are sorted, without the interpreter's lock
            reading = beside.submit(self._columns, inside)
            word, order = sorted_words(word)
            tied = tied_places(word)
            del word
            columns = reading.result()
        # most rows differ in the first word already; only the others need the rest of the words
        words = words_of(packing, {name: c[order[tied]] for name, c in columns.items()})
        again = order_of(words)
        order[tied] = order[tied][again]
        found = find_duplicates(words[:, again]).among(tied, order.size)
        if found.gone.size:
            self._note(columns, order[found.gone], order[found.first], inside)
        kept = order[found.kept]
        self.written.rows += kept.size
        for at in range(0, kept.size, ROW_GROUP_ROWS):
            yield self._piece(columns, kept[at : at + ROW_GROUP_ROWS])

    def _piece(
        self, columns: Mapping[str, NDArray[np.generic]], rows: NDArray[np.int32]
    ) -> pa.Table:
        arrays = [self._arrow(column, columns[column.name][rows]) for column in self._table.columns]
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def _arrow(self, column: Column, values: NDArray[np.generic]) -> pa.Array:
        if column.kind == "time":
            return arrow_array(values)
        if column.kind == "number":
            return arrow_array(values, None if column.required else np.isnan(values))
        absent = np.less(values, 0)
        if column.kind == "id":
            return arrow_array(values, absent)
        texts = self._names[kind_of(column)].texts
        places = pl.Series(np.where(absent, 0, values)).set(pl.Series(absent), None)
        assert texts is not None  # noqa: S101 - given for every text column
        return texts.gather(places).to_arrow().cast(pa.string())

    def _chunks(self) -> Iterator[tuple[int, int]]:
        for start in range(0, self._staged.rows, _CHUNK_ROWS):
            yield start, min(self._staged.rows, start + _CHUNK_ROWS)

    def _time_range(self) -> tuple[int, int]:
        low, high = 2**63 - 1, 0
        for start, stop in self._chunks():
            times = self._staged.read("time_ms", start, stop)
            low, high = min(low, int(times.min())), max(high, int(times.max()))
        return low, high

    def _ranges(self, low: int, high: int) -> dict[str, tuple[int, int]]:
        ranges = {"time_ms": (low, high)}
        for column in self._order:
            if column.kind in {"id", "text"}:
                ranges[column.name] = (-1, self._names[kind_of(column)].count)
        return ranges

    def _mapped(self, column: Column, start: int, stop: int) -> NDArray[np.generic]:
        """A chunk of a column, keys being the store's."""
        values = self._staged.read(column.name, start, stop)
        if column.kind not in {"id", "text"}:
            return values
        return np.asarray(self._keys[kind_of(column)][values])

    def _first_word(self, packing: Packing, start: int, stop: int) -> NDArray[np.uint64]:
        digits = tuple(digit for digit in packing.digits if digit.word == 0)
        columns = {digit.column.name: digit.column for digit in digits}
        values = {name: self._mapped(column, start, stop) for name, column in columns.items()}
        words = words_of(Packing(digits, 1), values)
        return words.reshape(-1)

    def _edges(self, packing: Packing) -> list[np.uint64]:
        """First words that part the rows into ranges of about ``most_rows``, by a sample."""
        ranges = -(-self._staged.rows // self._most_rows)
        if ranges == 1:
            return []
        step = max(1, self._staged.rows // _SAMPLES)
        sample = [self._first_word(packing, a, b)[::step] for a, b in self._chunks()]
        words = np.sort(np.concatenate(sample))
        places = np.arange(1, ranges) * words.size // ranges
        return list(np.unique(words[places]))

    def _inside(
        self, packing: Packing, first: np.uint64 | None, last: np.uint64 | None
    ) -> list[NDArray[np.int64]]:
        """For each chunk the places of the rows whose first word is in the range."""
        places = []
        for start, stop in self._chunks():
            word = self._first_word(packing, start, stop)
            inside = np.ones(word.size, dtype=np.bool_) if first is None else word >= first
            places.append(np.flatnonzero(inside if last is None else inside & (word < last)))
        return places

    def _first_words(
        self, packing: Packing, inside: list[NDArray[np.int64]] | None
    ) -> NDArray[np.uint64]:
        """The first word of each row of a range, shape (rows,)."""
        parts = []
        for number, (start, stop) in enumerate(self._chunks()):
            word = self._first_word(packing, start, stop)
            parts.append(word if inside is None else word[inside[number]])
        return np.concatenate(parts)

    def _columns(self, inside: list[NDArray[np.int64]] | None) -> dict[str, NDArray[np.generic]]:
        return {column.name: self._column(column, inside) for column in self._table.columns}

    def _column(
        self, column: Column, inside: list[NDArray[np.int64]] | None
    ) -> NDArray[np.generic]:
        parts = []
        for number, (start, stop) in enumerate(self._chunks()):
            chunk = self._mapped(column, start, stop)
            parts.append(chunk if inside is None else chunk[inside[number]])
        return np.concatenate(parts)

    def _note(
        self,
        columns: Mapping[str, NDArray[np.generic]],
        gone: NDArray[np.int32],
        first: NDArray[np.int32],
        inside: list[NDArray[np.int64]] | None,
    ) -> None:
        """Count the rows that go, apart by whether they equal the row that is kept."""
        exact = np.ones(gone.size, dtype=np.bool_)
        for values in columns.values():
            exact &= _equal(values[gone], values[first])
        lines = self._lines(inside)[gone]
        self.written.exact_duplicates += int(exact.sum())
        self.written.key_duplicates += int((~exact).sum())
        self.written.duplicate_line = _least(self.written.duplicate_line, lines[exact])
        self.written.conflict_line = _least(self.written.conflict_line, lines[~exact])

    def _lines(self, inside: list[NDArray[np.int64]] | None) -> NDArray[np.generic]:
        parts = []
        for number, (start, stop) in enumerate(self._chunks()):
            chunk = self._staged.read(LINE, start, stop)
            parts.append(chunk if inside is None else chunk[inside[number]])
        return np.concatenate(parts)


def _equal(left: NDArray[np.generic], right: NDArray[np.generic]) -> NDArray[np.bool_]:
    same = left == right
    if left.dtype.kind == "f":
        same |= np.isnan(left) & np.isnan(right)
    return np.asarray(same)


def _least(so_far: int | None, lines: NDArray[np.generic]) -> int | None:
    if not lines.size:
        return so_far
    least = int(lines.min())
    return least if so_far is None else min(so_far, least)
