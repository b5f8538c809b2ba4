"""Puts a source file's rows into the store's order, out of core, and drops its duplicates.

The staged blocks are walked once per range of the leading key. A range is as many rows as the
memory budget lets be sorted at once, so the file's size does not matter; a file that fits is sorted
in one go.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tracekit.tables import Table

ROW_GROUP_ROWS = 122_880
#: Sorting holds the rows, their sorted copy and the order at once.
_COPIES = 3
_BYTES = {"time": 8, "id": 4, "text": 40, "number": 8}


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


def parquet_schema(table: Table) -> pa.Schema:
    """The Arrow schema of a table part."""
    types = {"time": pa.int64(), "id": pa.int32(), "text": pa.string(), "number": pa.float64()}
    return pa.schema([(column.stored_name, types[column.kind]) for column in table.columns])


def write_sorted(
    staged: list[Path],
    keys: Mapping[str, pl.Series],
    table: Table,
    target: Path,
    memory_bytes: int,
) -> Written:
    """Write the staged rows of one source file as one sorted Parquet file.

    Of rows with the same key the one that stood first in the file is kept; where a table has no
    key, of rows equal in every column. The order is total, so the bytes depend on nothing else.

    Parameters
    ----------
    staged : Arrow files with local keys, in file order
    keys : for each entity the global key of each local one, int32
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    written = Written()
    schema = parquet_schema(table)
    dictionary = [column.stored_name for column in table.columns if column.kind != "number"]
    with pq.ParquetWriter(target, schema, compression="zstd", use_dictionary=dictionary) as out:
        rows = _sorted_ranges(staged, keys, table, memory_bytes)
        for frame in _row_groups(rows, table, written):
            out.write_table(frame.to_arrow().cast(schema), row_group_size=ROW_GROUP_ROWS)
    return written


def _sorted_ranges(
    staged: list[Path], keys: Mapping[str, pl.Series], table: Table, memory_bytes: int
) -> Iterator[pl.DataFrame]:
    """The rows in the store's order, range by range of the leading key."""
    row_bytes = sum(_BYTES[column.kind] for column in table.columns) + _BYTES["time"]
    most_rows = max(ROW_GROUP_ROWS, memory_bytes // (_COPIES * row_bytes))
    order = _order(table)
    edges = _range_edges([_leading(path, keys, table) for path in staged], most_rows)
    for low, high in itertools.pairwise(edges):
        parts = [_mapped(path, keys, table, low, high) for path in staged]
        whole = pl.concat([part for part in parts if part.height] or parts[:1])
        # stable, so rows with one key stay in file order
        yield whole.sort(order, nulls_last=False, maintain_order=True)


def _order(table: Table) -> list[str]:
    """The columns to sort by: all of them where rows are duplicates only if equal in all."""
    named = [table.column(name).stored_name for name in table.order]
    rest = [] if table.key else [c.stored_name for c in table.columns if c.stored_name not in named]
    return [*named, *rest]


def _leading(path: Path, keys: Mapping[str, pl.Series], table: Table) -> NDArray[np.int64]:
    """The leading key of each staged row, NULL as -1, shape (rows,)."""
    column = table.column(table.order[0])
    local = pl.read_ipc(path, columns=[column.name])[column.name]
    return _global(local, keys, column.entity).fill_null(-1).to_numpy().astype(np.int64)


def _global(local: pl.Series, keys: Mapping[str, pl.Series], entity: str | None) -> pl.Series:
    known = keys[entity or ""]
    return known.gather(local) if known.len() else pl.Series(local.name, local, dtype=pl.Int32)


def _range_edges(leading: list[NDArray[np.int64]], most_rows: int) -> list[int]:
    """Edges that cut the leading keys into ranges of at most ``most_rows`` rows.

    A key with more rows than that is a range of its own.
    """
    highest = max((int(block.max()) for block in leading if block.size), default=-1)
    counts = np.zeros(highest + 2, dtype=np.int64)
    for block in leading:
        counts += np.bincount(block + 1, minlength=counts.size)
    edges, rows = [-1], 0
    for key, count in enumerate(counts.tolist(), start=-1):
        if rows and rows + count > most_rows:
            edges.append(key)
            rows = 0
        rows += count
    return [*edges, highest + 1]


def _mapped(
    path: Path, keys: Mapping[str, pl.Series], table: Table, low: int, high: int
) -> pl.DataFrame:
    """The rows of one block whose leading key is in ``[low, high)``, with global keys."""
    block = pl.read_ipc(path)
    leading = _leading(path, keys, table)
    inside = (leading >= low) & (leading < high)
    if not inside.all():
        block = block.filter(pl.Series(inside))
    columns = [
        _global(block[column.name], keys, column.entity).alias(column.stored_name)
        if column.kind == "id"
        else block[column.name]
        for column in table.columns
    ]
    return pl.DataFrame([*columns, block["line"]])


def _row_groups(
    batches: Iterator[pl.DataFrame], table: Table, written: Written
) -> Iterator[pl.DataFrame]:
    """Deduplicated frames of exactly ROW_GROUP_ROWS rows, the last one shorter."""
    pending = pl.DataFrame()
    kept_before: pl.DataFrame | None = None
    for batch in batches:
        kept, kept_before = _drop_duplicates(batch, kept_before, table, written)
        _note(kept, written)
        pending = pl.concat([pending, kept.drop("line")]) if pending.height else kept.drop("line")
        whole = pending.height // ROW_GROUP_ROWS * ROW_GROUP_ROWS
        for start in range(0, whole, ROW_GROUP_ROWS):
            yield pending.slice(start, ROW_GROUP_ROWS)
        pending = pending.slice(whole)
    if pending.height:
        yield pending


def _drop_duplicates(
    batch: pl.DataFrame, carried: pl.DataFrame | None, table: Table, written: Written
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The first row of each run of equal keys; and that of the last run, for the next batch.

    ``carried`` is the kept row that the batch's first rows may repeat.
    """
    joined = batch if carried is None else pl.concat([carried, batch])
    values = [column.stored_name for column in table.columns]
    same = _same_as_previous(joined, [table.column(n).stored_name for n in table.key] or values)
    if same.any():
        _note_duplicates(joined, same, values, written)
        kept = joined.filter(pl.Series(~same))
    else:
        kept = joined
    return (kept if carried is None else kept.slice(1)), kept.tail(1)


def _same_as_previous(frame: pl.DataFrame, columns: list[str]) -> NDArray[np.bool_]:
    """Whether each row equals the one before it in the columns, shape (rows,)."""
    equal = pl.all_horizontal(pl.col(c).eq_missing(pl.col(c).shift(1)) for c in columns)
    flags = frame.select(equal.alias("same"))["same"].to_numpy().copy()
    flags[:1] = False
    return flags


def _note_duplicates(
    joined: pl.DataFrame, same: NDArray[np.bool_], values: list[str], written: Written
) -> None:
    """Count the rows that go, apart by whether they equal the row that is kept."""
    first_of_run = np.maximum.accumulate(np.where(same, 0, np.arange(same.size)))
    gone = np.flatnonzero(same)
    left, right = joined[gone].select(values), joined[first_of_run[gone]].select(values)
    pairs = pl.concat([left, right.select(pl.all().name.suffix("_kept"))], how="horizontal")
    equal = pl.all_horizontal(pl.col(c).eq_missing(pl.col(f"{c}_kept")) for c in values)
    exact = pairs.select(equal.alias("exact"))["exact"].to_numpy()
    lines = joined["line"].to_numpy()[gone]
    written.exact_duplicates += int(exact.sum())
    written.key_duplicates += int((~exact).sum())
    written.duplicate_line = _least(written.duplicate_line, lines[exact])
    written.conflict_line = _least(written.conflict_line, lines[~exact])


def _least(so_far: int | None, lines: NDArray[np.int64]) -> int | None:
    if not lines.size:
        return so_far
    least = int(lines.min())
    return least if so_far is None else min(so_far, least)


def _note(kept: pl.DataFrame, written: Written) -> None:
    if not kept.height:
        return
    written.rows += kept.height
    times = kept["time_ms"].to_numpy()
    low, high = int(times.min()), int(times.max())
    written.time_min_ms = low if written.time_min_ms is None else min(written.time_min_ms, low)
    written.time_max_ms = high if written.time_max_ms is None else max(written.time_max_ms, high)
