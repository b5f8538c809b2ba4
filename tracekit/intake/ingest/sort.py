"""Puts a source file's rows into the store's order, out of core, and drops its duplicates.

The staged columns are walked once per range of the sort key. A range is about as many rows as the
memory budget lets be sorted at once, so the file's size does not matter; a file that fits is sorted
in one go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base.files.ahead import ahead
from tracekit.intake.ingest.columns import Columns
from tracekit.intake.ingest.in_order import InOrder, Repeats
from tracekit.intake.ingest.names import Keys, Names
from tracekit.intake.ingest.walk import Walk
from tracekit.store.arrow import ROW_GROUP_ROWS, in_groups
from tracekit.store.tables import Column, Table

#: Sorting holds the words three times, the order three times, and the columns.
_BYTES_PER_ROW = 80


@dataclass
class Written:
    """The content of a written table part."""

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
    written = Written()
    most_rows = max(ROW_GROUP_ROWS, memory_bytes // _BYTES_PER_ROW)
    pieces = _pieces(staged, Keys(names), table, most_rows, written)
    with part_writer(target, table) as out:
        # the next row group is put together while the last one is written
        for group in ahead(in_groups(pieces, ROW_GROUP_ROWS)):
            out.write_table(group, row_group_size=ROW_GROUP_ROWS)
    return written


def part_writer(target: Path, table: Table) -> pq.ParquetWriter:
    """What writes a part of a table."""
    dictionary = [column.stored_name for column in table.columns if _repeats(column, table)]
    schema = parquet_schema(table)
    return pq.ParquetWriter(target, schema, compression="zstd", use_dictionary=dictionary)


def _repeats(column: Column, table: Table) -> bool:
    """Whether a row group holds few different values: worth a dictionary."""
    if column.kind == "time":
        return table.step
    return column.kind != "number" or column.unit == "ms"


def _pieces(
    staged: Columns, keys: Keys, table: Table, most_rows: int, written: Written
) -> Iterator[pa.Table]:
    """The rows, range by range of the sort key, as Arrow tables of at most a row group."""
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
