"""Sorts the rows of a source file in the store's order, and drops its duplicates.

The sort key is cut into ranges of about as many rows as fit into the memory limit. The staged
columns are read once for each range, so that a file may be larger than memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, Int32Array, IntArray, UInt64Array
from tracekit.base.files.ahead import ahead
from tracekit.intake.ingest.staged import Columns, Names, StoredKeys
from tracekit.intake.ingest.words import (
    Packing,
    digit_of,
    order_of,
    pack,
    sorted_columns,
    sorted_words,
    words_of,
)
from tracekit.intake.read.coded import LINE
from tracekit.store.broken_rows import ROW_GROUP_ROWS, arrow_array, arrow_strings, in_groups
from tracekit.store.tables import Column, Table

#: The rows of a chunk; they are so few that the results stay in the processor's cache.
_CHUNK_ROWS = 1 << 17
_SAMPLES = 1 << 16

#: For each chunk, the places of the rows in a range; None if the range holds all rows.
Inside = list[Int32Array] | None


class Walk:
    """A reader of one file's staged rows in chunks.

    It packs the sort key of each row into 64-bit words; see ``Packing``.
    """

    def __init__(self, staged: Columns, keys: StoredKeys, table: Table) -> None:
        self.rows = staged.rows
        self._staged = staged
        self._keys = keys
        self._order = sorted_columns(table)

    def time_range(self) -> tuple[int, int]:
        """Return the first and the last time of the rows, in ms."""
        low, high = 2**63 - 1, 0
        for start, stop in self._chunks():
            times = self._staged.read("time_ms", start, stop)
            low, high = min(low, int(times.min())), max(high, int(times.max()))
        return low, high

    def packing(self, low: int, high: int) -> Packing:
        """Return how sort keys are packed into words, for times from ``low`` to ``high``."""
        ranges = {"time_ms": (low, high)}
        for column in self._order:
            if column.kind in {"id", "text"}:
                ranges[column.name] = (-1, self._keys.count(column))
        return pack(self._order, ranges)

    def edges(self, packing: Packing, most_rows: int) -> list[np.uint64]:
        """Return the first words that split the rows into ranges of about ``most_rows`` rows."""
        ranges = -(-self.rows // most_rows)
        if ranges == 1:
            return []
        step = max(1, self.rows // _SAMPLES)
        sample = [self._first_word(packing, a, b)[::step] for a, b in self._chunks()]
        words = np.sort(np.concatenate(sample))
        places = np.arange(1, ranges) * words.size // ranges
        return list(np.unique(words[places]))

    def range(
        self, packing: Packing, first: np.uint64 | None, last: np.uint64 | None
    ) -> tuple[Inside, UInt64Array]:
        """Return the rows whose first key word is in ``[first, last)``, and these words.

        The rows are given as positions in each chunk; None stands for all rows. If ``first`` or
        ``last`` is None, the range has no limit on that side.
        """
        chunks = (self._first_word(packing, start, stop) for start, stop in self._chunks())
        if first is None and last is None:
            return None, np.concatenate(list(chunks))
        places, words = [], []
        for word in chunks:
            here = np.ones(word.size, dtype=np.bool_) if first is None else word >= first
            place = np.flatnonzero(here if last is None else here & (word < last))
            places.append(place.astype(np.int32))
            words.append(word[place])
        return places, np.concatenate(words)

    def column(self, name: str, inside: Inside) -> NDArray[Any]:
        """Return a column of the rows in a range, shape (rows,); names are the file's keys."""
        if inside is None:
            return self._staged.read(name, 0, self.rows)
        chunks = zip(inside, self._chunks(), strict=True)
        return np.concatenate([self._staged.read(name, a, b)[here] for here, (a, b) in chunks])

    def lines(self, inside: Inside) -> NDArray[Any]:
        """Return the line number of each row of a range, shape (rows,)."""
        return self.column(LINE, inside)

    def _chunks(self) -> Iterator[tuple[int, int]]:
        for start in range(0, self.rows, _CHUNK_ROWS):
            yield start, min(self.rows, start + _CHUNK_ROWS)

    def _first_word(self, packing: Packing, start: int, stop: int) -> UInt64Array:
        columns = {d.column.name: d.column for d in packing.first}
        values = {name: self._staged.read(name, start, stop) for name in columns}
        mapped = {name: self._mapped(columns[name], rows) for name, rows in values.items()}
        return words_of(Packing(packing.first, 1), mapped).reshape(-1)

    def _mapped(self, column: Column, values: NDArray[Any]) -> NDArray[Any]:
        keys = self._keys.of(column)
        return values if keys is None else np.take(keys, values)


@dataclass(frozen=True)
class Duplicates:
    """Which of the sorted rows are duplicates: of rows with equal words the first one stays.

    Attributes
    ----------
    staying : whether each row stays, shape (rows,)
    gone : the positions of the dropped rows, shape (duplicates,)
    first : for each dropped row, the position of the equal row that stays, shape (duplicates,)
    """

    staying: BoolArray
    gone: IntArray
    first: IntArray

    def among(self, places: IntArray, rows: int) -> Duplicates:
        """Return these duplicates by positions among ``rows`` rows; ``places`` were compared."""
        staying = np.ones(rows, dtype=np.bool_)
        staying[places] = self.staying
        return Duplicates(staying, places[self.gone], places[self.first])


def find_duplicates(words: UInt64Array) -> Duplicates:
    """Return the duplicates among rows sorted by ``words``: sort keys, of shape (words, rows)."""
    same = np.ones(words.shape[1], dtype=np.bool_)
    same[:1] = False
    for word in words:
        same[1:] &= word[1:] == word[:-1]
    gone = np.flatnonzero(same)
    # a run of equal rows begins at the last row that differs from the row before it
    begins = np.flatnonzero(~same)
    first = begins[np.searchsorted(begins, gone) - 1] if gone.size else gone
    return Duplicates(~same, gone, first)


def tied_places(word: UInt64Array) -> IntArray:
    """Return the positions in sorted words whose word occurs more than once, shape (ties,)."""
    same = word[1:] == word[:-1]
    tied = np.zeros(word.size, dtype=np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    return np.flatnonzero(tied)


@dataclass(frozen=True)
class Repeats:
    """Counts of the dropped duplicates of a range.

    Attributes
    ----------
    exact, other : the number of dropped rows that equal the row that stays in all columns, and the
        number that do not
    exact_line, other_line : the first line of each; None if there is none
    """

    exact: int
    other: int
    exact_line: int | None
    other_line: int | None


class InOrder:
    """The rows of one range of the sort key's first 64-bit word, sorted, without duplicates.

    Columns in the first word are decoded from the sorted words. The other columns are gathered from
    the staged rows.

    Parameters
    ----------
    edges : the range of the first words; it includes the first edge and excludes the second
    """

    def __init__(
        self,
        walk: Walk,
        keys: StoredKeys,
        table: Table,
        packing: Packing,
        edges: tuple[np.uint64 | None, np.uint64 | None],
    ) -> None:
        self._walk, self._keys, self._table = walk, keys, table
        self._in_word = packing.readable
        with ThreadPoolExecutor(1) as beside:
            self._inside, words = walk.range(packing, *edges)
            # the other thread reads the columns while this one sorts without the interpreter's lock
            reading = beside.submit(self._read)
            self._word, self._order = sorted_words(words)
            del words
            self._columns = reading.result()
        # most rows differ in the first word; only the tied rows need the other words
        tied = tied_places(self._word)
        named = {digit.column.name: digit.column for digit in packing.digits}
        rest = words_of(packing, {name: self._values(c, tied) for name, c in named.items()})
        again = order_of(rest)
        self._order[tied] = self._order[tied][again]
        self._duplicates = find_duplicates(rest[:, again]).among(tied, self._order.size)

    @property
    def rows(self) -> int:
        """The number of rows without the duplicates."""
        return int(self._duplicates.staying.sum())

    def repeats(self) -> Repeats | None:
        """Return counts of the dropped duplicates; None if there are none."""
        duplicates = self._duplicates
        if not duplicates.gone.size:
            return None
        exact = self._equal(duplicates)
        lines = self._walk.lines(self._inside)[self._order[duplicates.gone]]
        return Repeats(
            int(exact.sum()),
            int((~exact).sum()),
            _first_line(lines[exact]),
            _first_line(lines[~exact]),
        )

    def pieces(self, schema: pa.Schema, rows: int) -> Iterator[pa.Table]:
        """Yield the rows as Arrow tables of at most ``rows`` rows."""
        stay = self._duplicates.staying
        staying_places = None if stay.all() else np.flatnonzero(stay)
        for at in range(0, self.rows, rows):
            places: Any = slice(at, at + rows)
            if staying_places is not None:
                places = staying_places[places]
            arrays = [self._arrow(c, self._values(c, places)) for c in self._table.columns]
            yield pa.Table.from_arrays(arrays, schema=schema)

    def _read(self) -> dict[str, NDArray[Any]]:
        names = [c.name for c in self._table.columns if c.name not in self._in_word]
        return {name: self._walk.column(name, self._inside) for name in names}

    def _values(self, column: Column, places: Any) -> NDArray[Any]:
        """The values of a column at places of the sorted rows, with the store's keys."""
        digit = self._in_word.get(column.name)
        if digit is not None:
            return digit_of(self._word[places], digit)
        values, rows = self._columns[column.name], self._order[places]
        keys = self._keys.of(column)
        gathered: NDArray[Any] = np.take(values, rows)
        return gathered if keys is None else np.take(keys, gathered)

    def _equal(self, duplicates: Duplicates) -> BoolArray:
        """Whether each dropped row equals the row that stays; their sort keys are equal."""
        exact = np.ones(duplicates.gone.size, dtype=np.bool_)
        gone, first = self._order[duplicates.gone], self._order[duplicates.first]
        for values in self._columns.values():
            exact &= _same(values[gone], values[first])
        return exact

    def _arrow(self, column: Column, values: NDArray[Any]) -> pa.Array:
        if column.kind == "time":
            return arrow_array(values)
        if column.kind == "number":
            return arrow_array(values, None if column.required else np.isnan(values))
        absent = np.less(values, 0)
        if column.kind == "id":
            return arrow_array(values, absent)
        places = pl.Series(np.where(absent, 0, values)).set(pl.Series(absent), None)
        return arrow_strings(self._keys.texts(column).gather(places))


def _same(left: NDArray[Any], right: NDArray[Any]) -> BoolArray:
    same = left == right
    if left.dtype.kind == "f":
        same |= np.isnan(left) & np.isnan(right)
    return np.asarray(same)


def _first_line(lines: NDArray[Any]) -> int | None:
    return int(lines.min()) if lines.size else None


#: The memory for each row: three copies of the words, three of the order, and the columns.
_BYTES_PER_ROW = 80


@dataclass
class Written:
    """Numbers about a written part: rows, times and dropped duplicates.

    Attributes
    ----------
    exact_duplicates : the number of dropped rows that equal the row that stays
    key_duplicates : the number of dropped rows that have the same key but other values
    duplicate_line, conflict_line : the first line of each kind; None if there is none
    """

    rows: int = 0
    time_min_ms: int | None = None
    time_max_ms: int | None = None
    exact_duplicates: int = 0
    key_duplicates: int = 0
    duplicate_line: int | None = None
    conflict_line: int | None = None

    def note(self, repeats: Repeats) -> None:
        """Count the duplicates of a range."""
        self.exact_duplicates += repeats.exact
        self.key_duplicates += repeats.other
        self.duplicate_line = _least(self.duplicate_line, repeats.exact_line)
        self.conflict_line = _least(self.conflict_line, repeats.other_line)


def parquet_schema(table: Table) -> pa.Schema:
    """Return the Arrow schema of a table part."""
    types = {"time": pa.int64(), "id": pa.int32(), "text": pa.string(), "number": pa.float64()}
    return pa.schema([(column.stored_name, types[column.kind]) for column in table.columns])


def write_sorted(
    staged: Columns, names: Mapping[str, Names], table: Table, target: Path, memory_bytes: int
) -> Written:
    """Write the staged rows of one source file as one sorted Parquet file.

    Of rows with the same key the first in the file stays. In a table without a key, so does the
    first of rows that are equal in every column. The bytes do not depend on ``memory_bytes``.

    Parameters
    ----------
    names : the store's keys, by kind of name
    memory_bytes : the memory for the rows of one range
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    written = Written()
    most_rows = max(ROW_GROUP_ROWS, memory_bytes // _BYTES_PER_ROW)
    pieces = _pieces(staged, StoredKeys(names), table, most_rows, written)
    with part_writer(target, table) as out:
        # another thread writes a row group while the next one is made
        for group in ahead(in_groups(pieces, ROW_GROUP_ROWS)):
            out.write_table(group, row_group_size=ROW_GROUP_ROWS)
    return written


def part_writer(target: Path, table: Table) -> pq.ParquetWriter:
    """Return a Parquet writer for a part of a table."""
    dictionary = [column.stored_name for column in table.columns if _repeats(column, table)]
    schema = parquet_schema(table)
    return pq.ParquetWriter(target, schema, compression="zstd", use_dictionary=dictionary)


def _repeats(column: Column, table: Table) -> bool:
    """Whether a row group holds few different values, so that a dictionary pays."""
    if column.kind == "time":
        return table.step
    return column.kind != "number" or column.unit == "ms"


def _pieces(
    staged: Columns, keys: StoredKeys, table: Table, most_rows: int, written: Written
) -> Iterator[pa.Table]:
    """The sorted rows as Arrow tables of at most a row group; fills ``written``."""
    if staged.rows == 0:
        return
    walk = Walk(staged, keys, table)
    written.time_min_ms, written.time_max_ms = low, high = walk.time_range()
    packing = walk.packing(low, high)
    edges = walk.edges(packing, most_rows)
    for between in zip([None, *edges], [*edges, None], strict=True):
        rows = InOrder(walk, keys, table, packing, between)
        written.rows += rows.rows
        if repeats := rows.repeats():
            written.note(repeats)
        yield from rows.pieces(parquet_schema(table), ROW_GROUP_ROWS)
        del rows


def _least(left: int | None, right: int | None) -> int | None:
    return min((line for line in (left, right) if line is not None), default=None)
