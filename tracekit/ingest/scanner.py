"""Blocks of lines to coded rows by the compiled walk; its odd lines go the careful way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.ingest.blocks import PADDING
from tracekit.ingest.coded import LINE, CodedRows, code, in_line_order
from tracekit.ingest.hashkeys import HashKeys
from tracekit.ingest.parse import no_rejects
from tracekit.ingest.plan import NAME, Plan
from tracekit.ingest.scan import DONE, SHORT_OF_KEYS, Rows, scan
from tracekit.ingest.validate import CleanBlock, Counts

_ROWS_AT_ONCE = 1 << 15
#: So many of the last ids are remembered with what followed them, a power of two.
_CONTEXTS = 1 << 17
#: One right guess in so many pays for the wrong ones.
_OFTEN = 3

Careful = Callable[[bytes, int], CleanBlock]


class Scanner:
    """Reads the blocks of one file.

    Parameters
    ----------
    careful : parses whole lines with the number of the first; lines count on by one from there
    """

    def __init__(self, plan: Plan, keys: HashKeys, counts: Counts, careful: Careful) -> None:
        self._plan = plan
        self._keys = keys
        self._counts = counts
        self._careful = careful
        self._rows = _room(plan)

    def read(self, block: bytes, first_line: int) -> tuple[CodedRows, int]:
        """The rows of a block of whole lines and ``PADDING`` bytes; and the next line's number."""
        text = np.frombuffer(block, dtype=np.uint8)
        at, line, why = 0, first_line, SHORT_OF_KEYS
        good: list[CodedRows] = []
        odd: list[NDArray[np.int64]] = []
        while why != DONE:
            before = at
            why, at, line, rows, odds = scan(
                text, at, line, self._plan.fields, self._keys.table, self._rows, self._main()
            )
            good.append(self._taken(rows))
            odd.append(self._rows.odd[:, :odds].copy())
            if why == SHORT_OF_KEYS:
                self._keys.make_room(text.size - PADDING - at if at == before else 0)
        self._count()
        self._trust(sum(part.rows for part in good))
        return self._whole(block, good, np.concatenate(odd, axis=1)), line

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

    def _whole(self, block: bytes, good: list[CodedRows], odd: NDArray[np.int64]) -> CodedRows:
        if not odd.size and len(good) == 1:
            return good[0]
        parts, rejects = good, no_rejects()
        if odd.size:
            careful = self._careful_rows(block, odd)
            parts, rejects = [*good, careful], careful.rejects
        return CodedRows(in_line_order(parts), rejects)

    def _careful_rows(self, block: bytes, odd: NDArray[np.int64]) -> CodedRows:
        if odd.shape[1] == block.count(b"\n"):
            lines = block[: len(block) - PADDING]
        else:
            lines = b"".join([block[start:end] for start, end in odd[:2].T.tolist()])
        clean = self._careful(lines, 0)
        numbers = pl.Series(odd[2])
        mapped = CleanBlock(
            clean.frame.with_columns(numbers.gather(clean.frame["line"]).alias("line")),
            clean.rejects.with_columns(numbers.gather(clean.rejects["line"]).alias("line")),
        )
        return code(mapped, self._plan.table, self._keys)

    def _main(self) -> int:
        """The field of names of which there are the most; the names around it follow from it."""
        fields, counts = self._plan.fields, self._keys.table.counts
        many = [
            int(counts[kind]) if what == NAME else -1
            for what, kind in zip(fields.what, fields.kind, strict=True)
        ]
        return int(np.argmax(many))

    def _trust(self, rows: int) -> None:
        """Look first where names followed each other before, as long as that is often right."""
        self._rows.trusted[:] = self._rows.hits * _OFTEN > rows
        self._rows.hits[:] = 0

    def _count(self) -> None:
        """Move what the walk counted to where all counts are."""
        for field in np.flatnonzero(self._plan.fields.what).tolist():
            column = self._column(field)
            if column is None:
                continue
            name, often_absent = column
            seen = Counter(
                {
                    (name, spelling): int(rows)
                    for spelling, rows in zip(
                        self._plan.unknown, self._rows.unknown[field], strict=True
                    )
                    if rows and not often_absent
                }
            )
            self._counts.missing.update(seen)
            if self._rows.above[field]:
                self._counts.above[name] += int(self._rows.above[field])
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
