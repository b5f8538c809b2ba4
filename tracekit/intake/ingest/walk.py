"""Walks over the staged rows of one file, chunk by chunk: sort keys, and columns of a range."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import Int32Array, UInt64Array
from tracekit.intake.ingest.columns import Columns
from tracekit.intake.ingest.names import Keys
from tracekit.intake.ingest.words import (
    PLAIN_ROWS,
    Packing,
    first_word,
    pack,
    sorted_columns,
    words_of,
)
from tracekit.intake.read.coded import LINE
from tracekit.store.tables import Column, Table

#: So few that what is worked out of a chunk stays in the processor's cache.
_CHUNK_ROWS = 1 << 17
_SAMPLES = 1 << 16

#: For each chunk the places of the rows of a range; None when all rows are in it.
Inside = list[Int32Array] | None


class Walk:
    """The staged rows of one file."""

    def __init__(self, staged: Columns, keys: Keys, table: Table) -> None:
        self.rows = staged.rows
        self._staged = staged
        self._keys = keys
        self._order = sorted_columns(table)

    def time_range(self) -> tuple[int, int]:
        """The first and the last time."""
        low, high = 2**63 - 1, 0
        for start, stop in self._chunks():
            times = self._staged.read("time_ms", start, stop)
            low, high = min(low, int(times.min())), max(high, int(times.max()))
        return low, high

    def packing(self, low: int, high: int) -> Packing:
        """How the rows' sort keys become words; ``low`` and ``high`` are the times' range."""
        ranges = {"time_ms": (low, high)}
        for column in self._order:
            if column.kind in {"id", "text"}:
                ranges[column.name] = (-1, self._keys.count(column))
        return pack(self._order, ranges)

    def edges(self, packing: Packing, most_rows: int) -> list[np.uint64]:
        """First words that part the rows into ranges of about ``most_rows``, by a sample."""
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
        """The rows whose first word is in ``[first, last)``, and those words, shape (rows,)."""
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
        """A staged column of a range, with the file's keys, shape (rows,)."""
        if inside is None:
            return self._staged.read(name, 0, self.rows)
        chunks = zip(inside, self._chunks(), strict=True)
        return np.concatenate([self._staged.read(name, a, b)[here] for here, (a, b) in chunks])

    def lines(self, inside: Inside) -> NDArray[Any]:
        """The line number of each row of a range, shape (rows,)."""
        return self.column(LINE, inside)

    def _chunks(self) -> Iterator[tuple[int, int]]:
        for start in range(0, self.rows, _CHUNK_ROWS):
            yield start, min(self.rows, start + _CHUNK_ROWS)

    def _first_word(self, packing: Packing, start: int, stop: int) -> UInt64Array:
        columns = {d.column.name: d.column for d in packing.first}
        values = {name: self._staged.read(name, start, stop) for name in columns}
        if self.rows > PLAIN_ROWS:
            return first_word(packing, values, self._keys)
        mapped = {name: self._mapped(columns[name], found) for name, found in values.items()}
        return words_of(Packing(packing.first, 1), mapped).reshape(-1)

    def _mapped(self, column: Column, values: NDArray[Any]) -> NDArray[Any]:
        keys = self._keys.of(column)
        return values if keys is None else keys[values]
