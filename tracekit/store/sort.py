"""Puts a source file's rows into the store's order, out of core, and drops its duplicates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.tables import Table

ROW_GROUP_ROWS = 122_880


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
    staged: Path,
    mappings: dict[str, pl.DataFrame],
    table: Table,
    target: Path,
    memory_limit_bytes: int,
) -> Written:
    """Write the staged rows of one source file as one sorted Parquet file.

    Of rows with the same key the one that stood first in the file is kept; where a table has no
    key, of rows equal in every column. DuckDB sorts within the memory limit and spills to the
    staging folder; the order is total, so the bytes do not depend on threads.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    written = Written()
    schema = parquet_schema(table)
    with pq.ParquetWriter(target, schema, compression="zstd", use_dictionary=_few(table)) as out:
        for frame in _row_groups(
            _sorted(staged, mappings, table, memory_limit_bytes), table, written
        ):
            out.write_table(frame.to_arrow().cast(schema), row_group_size=ROW_GROUP_ROWS)
    return written


def _few(table: Table) -> list[str]:
    """Columns with few distinct values, for which a dictionary pays."""
    return [column.stored_name for column in table.columns if column.kind != "number"]


def _sorted(
    staged: Path, mappings: dict[str, pl.DataFrame], table: Table, memory_limit_bytes: int
) -> Iterator[pl.DataFrame]:
    with duckdb.connect() as con:
        con.execute(f"SET memory_limit = '{memory_limit_bytes // 2**20}MiB'")
        con.execute(f"SET temp_directory = '{_quoted(staged / 'spill')}'")
        con.execute("SET preserve_insertion_order = false")
        for entity, mapping in mappings.items():
            con.register(f"map_{entity}", mapping.to_arrow())
        reader = con.sql(_sort_sql(staged, table)).to_arrow_reader(ROW_GROUP_ROWS)
        for batch in reader:
            yield pl.DataFrame(pa.table(batch))


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _sort_sql(staged: Path, table: Table) -> str:
    selected, joins = [], []
    for column in table.columns:
        if column.kind == "id":
            selected.append(f"m_{column.name}.key AS {column.stored_name}")
            joins.append(
                f"LEFT JOIN map_{column.entity} AS m_{column.name}"
                f" ON m_{column.name}.local = s.{column.name}"
            )
        else:
            selected.append(f"s.{column.name}")
    order = [table.column(name).stored_name for name in table.order]
    rest = (
        [c.stored_name for c in table.columns if c.stored_name not in order]
        if not table.key
        else []
    )
    keys = ", ".join(f"{name} NULLS FIRST" for name in [*order, *rest, "line"])
    return (
        f"SELECT {', '.join(selected)}, s.line"
        f" FROM read_parquet('{_quoted(staged)}/*.parquet') AS s {' '.join(joins)} ORDER BY {keys}"
    )


def _row_groups(
    batches: Iterator[pl.DataFrame], table: Table, written: Written
) -> Iterator[pl.DataFrame]:
    """Deduplicated frames of exactly ROW_GROUP_ROWS rows, the last one shorter."""
    pending: list[pl.DataFrame] = []
    height = 0
    first_of_group: pl.DataFrame | None = None
    for batch in batches:
        kept, first_of_group = _drop_duplicates(batch, first_of_group, table, written)
        _note(kept, written)
        pending.append(kept.drop("line"))
        height += kept.height
        while height >= ROW_GROUP_ROWS:
            whole = pl.concat(pending)
            yield whole.head(ROW_GROUP_ROWS)
            pending = [whole.slice(ROW_GROUP_ROWS)]
            height = pending[0].height
    if height:
        yield pl.concat(pending)


def _drop_duplicates(
    batch: pl.DataFrame, carried: pl.DataFrame | None, table: Table, written: Written
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The first row of each run of equal keys; and that of the last run, for the next batch.

    ``carried`` is the kept row that the batch's first rows may repeat.
    """
    joined = batch if carried is None else pl.concat([carried, batch])
    values = [column.stored_name for column in table.columns]
    keys = [table.column(name).stored_name for name in table.key] or values
    same_key = _same_as_previous(joined, keys)
    group_start = np.maximum.accumulate(np.where(same_key, 0, np.arange(joined.height)))
    repeated = np.flatnonzero(same_key)
    if len(repeated):
        first = joined.select(values)[group_start[repeated]]
        exact = _equal_rows(joined.select(values)[repeated], first)
        _note_duplicates(joined["line"].to_numpy()[repeated], exact, written)
    starts = np.flatnonzero(~same_key)
    kept = joined[starts]
    if carried is not None:
        kept = kept.slice(1)
    return kept, joined[starts[-1:]]


def _same_as_previous(
    frame: pl.DataFrame, columns: list[str]
) -> np.ndarray[tuple[int], np.dtype[np.bool]]:
    same = pl.all_horizontal(pl.col(c).eq_missing(pl.col(c).shift(1)) for c in columns)
    flags = frame.select(same.alias("same"))["same"].to_numpy().copy()
    flags[:1] = False
    return flags


def _equal_rows(
    left: pl.DataFrame, right: pl.DataFrame
) -> np.ndarray[tuple[int], np.dtype[np.bool]]:
    both = pl.concat([left, right.rename({c: f"{c}_" for c in right.columns})], how="horizontal")
    equal = pl.all_horizontal(pl.col(c).eq_missing(pl.col(f"{c}_")) for c in left.columns)
    return both.select(equal.alias("equal"))["equal"].to_numpy()


def _note_duplicates(
    lines: np.ndarray[tuple[int], np.dtype[np.int64]],
    exact: np.ndarray[tuple[int], np.dtype[np.bool]],
    written: Written,
) -> None:
    written.exact_duplicates += int(exact.sum())
    written.key_duplicates += int((~exact).sum())
    written.duplicate_line = _least(written.duplicate_line, lines[exact])
    written.conflict_line = _least(written.conflict_line, lines[~exact])


def _least(so_far: int | None, lines: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int | None:
    if not len(lines):
        return so_far
    least = int(lines.min())
    return least if so_far is None else min(so_far, least)


def _note(kept: pl.DataFrame, written: Written) -> None:
    if not kept.height:
        return
    written.rows += kept.height
    low, high = int(kept["time_ms"].min()), int(kept["time_ms"].max())  # type: ignore[arg-type]
    written.time_min_ms = low if written.time_min_ms is None else min(written.time_min_ms, low)
    written.time_max_ms = high if written.time_max_ms is None else max(written.time_max_ms, high)
