"""Blocks of lines to coded rows by the compiled walk; polars parses the odd lines.

Polars costs as much for one line as for thousands. So the rows of several blocks wait, and their
odd lines are parsed together.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.base.arrays import Int32Array, IntArray
from tracekit.intake.read.blocks import PADDING
from tracekit.intake.read.coded import LINE, NAME, CodedRows, Plan, code, coded, in_line_order
from tracekit.intake.read.keytable import (
    KeyTable,
    add_all,
    add_unknown,
    gathered,
    grown,
    in_key_order,
    new_table,
    padded,
)
from tracekit.intake.read.parse import CleanBlock, Counts, no_rejects
from tracekit.intake.read.scan import DONE, SHORT_OF_KEYS, Rows, scan

_MORE_IDS, _MORE_BYTES = 256, 1 << 16
_SOME = 1 << 16


class HashKeys:
    """Integer keys of one file's names, in a compiled hash table; it serves large files.

    ``kinds`` is the number of kinds of names; ``unknown`` has the spellings of an unknown name.
    """

    def __init__(self, kinds: int, unknown: tuple[str, ...]) -> None:
        self.table: KeyTable = add_unknown(new_table(kinds), list(unknown))

    def make_room(self, names_bytes: int = 0) -> None:
        """Make room for the names of one more line, of ``names_bytes`` bytes."""
        self._grow(_MORE_IDS, _MORE_BYTES + names_bytes)

    def _grow(self, ids: int, text_bytes: int) -> None:
        arrays: list[Any] = list(self.table)
        del self.table
        self.table = grown(arrays, ids, text_bytes)

    def encode(self, kind: int, names: pl.Series) -> Int32Array:
        """Return the key of each name, -1 for NULL, shape (names,)."""
        distinct = names.drop_nulls().unique(maintain_order=True)
        texts = [name.encode() for name in distinct]
        starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        self._grow(len(texts), int(starts[-1]))
        return coded(names, distinct, add_all(self.table, padded(texts), starts, kind))

    def texts(self, kind: int) -> Iterator[pa.Array]:
        """Yield the names of a kind in the order of their keys, in arrays of limited size."""
        ids = in_key_order(self.table, kind)
        for start in range(0, ids.size, _SOME):
            text, offsets = gathered(self.table, ids[start : start + _SOME])
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
            yield pa.Array.from_buffers(pa.large_string(), offsets.size - 1, buffers)


_ROWS_AT_ONCE = 1 << 15
#: The number of contexts with a last id, a power of two.
_CONTEXTS = 1 << 17
#: One right guess in this many guesses pays for the wrong ones.
_OFTEN = 3
#: The most blocks, and the most bytes of odd lines, that wait.
_BLOCKS_TOGETHER = 16
_ODD_BYTES_TOGETHER = 1 << 20

Careful = Callable[[bytes, int], CleanBlock]


@dataclass
class _Held:
    """The rows and the odd lines of the blocks that wait."""

    blocks: int = 0
    good: list[CodedRows] = field(default_factory=list)
    odd_lines: list[bytes] = field(default_factory=list)
    odd_numbers: list[IntArray] = field(default_factory=list)
    odd_bytes: int = 0

    @property
    def is_enough(self) -> bool:
        """Whether the blocks have waited long enough."""
        return self.blocks >= _BLOCKS_TOGETHER or self.odd_bytes >= _ODD_BYTES_TOGETHER

    def add_odd(self, block: bytes, odd: IntArray) -> None:
        """Add odd lines: start, end and number of each, shape (3, lines)."""
        if not odd.size:
            return
        self.odd_lines += [block[start:end] for start, end in odd[:2].T.tolist()]
        self.odd_numbers.append(odd[2])
        self.odd_bytes += int((odd[1] - odd[0]).sum())


class Scanner:
    """A compiled reader that turns one file's blocks of CSV lines into coded rows.

    Parameters
    ----------
    careful : function(lines, number of the first line) that parses lines which the scan cannot read
    """

    def __init__(self, plan: Plan, keys: HashKeys, counts: Counts, careful: Careful) -> None:
        self._plan = plan
        self._keys = keys
        self._counts = counts
        self._careful = careful
        self._rows = _room(plan)
        self._held = _Held()

    def rows(self, blocks: Iterator[bytes], first_line: int) -> Iterator[CodedRows]:
        """Yield the coded rows of all blocks, several blocks at a time.

        ``PADDING`` bytes must follow the lines of each block.
        """
        line = first_line
        for block in blocks:
            line = self.read(block, line)
            if self._held.is_enough:
                yield self._whole()
        if self._held.blocks:
            yield self._whole()

    def read(self, block: bytes, first_line: int) -> int:
        """Read a block, to be yielded by ``rows`` later. Return the number of the next line."""
        text = np.frombuffer(block, dtype=np.uint8)
        at, line, why = 0, first_line, SHORT_OF_KEYS
        held, taken = self._held, 0
        while why != DONE:
            before = at
            why, at, line, rows, odds = scan(
                text, at, line, self._plan.fields, self._keys.table, self._rows, self._main()
            )
            held.good.append(self._taken(rows))
            held.add_odd(block, self._rows.odd[:, :odds].copy())
            taken += rows
            if why == SHORT_OF_KEYS:
                self._keys.make_room(text.size - PADDING - at if at == before else 0)
        held.blocks += 1
        self._count()
        self._trust(taken)
        return line

    def _taken(self, count: int) -> CodedRows:
        columns: dict[str, NDArray[np.generic]] = {LINE: self._rows.lines[:count].copy()}
        plan = self._plan
        for columns_of, values in (
            (plan.times, self._rows.times),
            (plan.numbers, self._rows.numbers),
            (plan.names, self._rows.keys),
        ):
            for at, column in enumerate(columns_of):
                columns[column.name] = values[at, :count].copy()
        return CodedRows(columns, no_rejects())

    def _whole(self) -> CodedRows:
        """All waiting rows in the order of lines; afterwards no rows wait."""
        held, self._held = self._held, _Held()
        parts, rejects = held.good, no_rejects()
        if held.odd_lines:
            careful = self._careful_rows(b"".join(held.odd_lines), held.odd_numbers)
            parts, rejects = [*parts, careful], careful.rejects
        elif len(parts) == 1:
            return parts[0]
        return CodedRows(in_line_order(parts), rejects)

    def _careful_rows(self, lines: bytes, numbers_of: list[IntArray]) -> CodedRows:
        clean = self._careful(lines, 0)
        numbers = pl.Series(np.concatenate(numbers_of))
        mapped = CleanBlock(
            clean.frame.with_columns(numbers.gather(clean.frame["line"]).alias("line")),
            clean.rejects.with_columns(numbers.gather(clean.rejects["line"]).alias("line")),
        )
        return code(mapped, self._plan.table, self._keys)

    def _main(self) -> int:
        """The field whose kind has the most names; other names of a line follow from it."""
        fields, counts = self._plan.fields, self._keys.table.counts
        many = [
            int(counts[kind]) if what == NAME else -1
            for what, kind in zip(fields.what, fields.kind, strict=True)
        ]
        return int(np.argmax(many))

    def _trust(self, rows: int) -> None:
        """For each field, try ``follow`` first if it was right for many of the ``rows`` rows."""
        self._rows.trusted[:] = self._rows.hits * _OFTEN > rows
        self._rows.hits[:] = 0

    def _count(self) -> None:
        """Move the counts of the walk into the counts of the file."""
        for at in np.flatnonzero(self._plan.fields.what).tolist():
            column = self._column(at)
            if column is None:
                continue
            name, often_absent = column
            seen = Counter(
                {
                    (name, spelling): int(rows)
                    for spelling, rows in zip(
                        self._plan.unknown, self._rows.unknown[at], strict=True
                    )
                    if rows and not often_absent
                }
            )
            self._counts.missing.update(seen)
            if self._rows.above[at]:
                self._counts.above[name] += int(self._rows.above[at])
        self._rows.unknown[:] = 0
        self._rows.above[:] = 0

    def _column(self, field: int) -> tuple[str, bool] | None:
        plan = self._plan
        place, what = int(plan.fields.place[field]), int(plan.fields.what[field])
        sort = (None, None, plan.numbers, plan.names)[what]
        return None if sort is None else (sort[place].name, sort[place].often_absent)


def _room(plan: Plan, rows: int = _ROWS_AT_ONCE) -> Rows:
    width = plan.fields.what.size
    return Rows(
        times=np.empty((len(plan.times), rows), dtype=np.int64),
        numbers=np.empty((len(plan.numbers), rows), dtype=np.float64),
        keys=np.empty((len(plan.names), rows), dtype=np.int32),
        lines=np.empty(rows, dtype=np.int64),
        odd=np.empty((3, rows), dtype=np.int64),
        unknown=np.zeros((width, len(plan.unknown)), dtype=np.int64),
        above=np.zeros(width, dtype=np.int64),
        guess=np.zeros(width, dtype=np.int64),
        follow=np.full((width, _CONTEXTS), -1, dtype=np.int32),
        trusted=np.zeros(width, dtype=np.bool_),
        hits=np.zeros(width, dtype=np.int64),
    )
