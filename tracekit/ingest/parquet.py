"""Streams a trace table that somebody has already turned into Parquet."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.errors import TracekitError
from tracekit.ingest.discover import TraceFile
from tracekit.ingest.parse import TYPES, Parsed, no_rejects
from tracekit.ingest.validate import CleanBlock, Counts, validate
from tracekit.ingest.wide import layout_of
from tracekit.tables import Table

_BATCH_ROWS = 200_000


def parquet_blocks(file: TraceFile, counts: Counts) -> Iterator[CleanBlock]:
    """Clean blocks of a Parquet file; ``line`` is the row number, the first row being 1."""
    layout = layout_of(file.match)
    table = layout.table
    names = {file.match.header[at]: column for column, at in layout.positions.items()}
    line = 1
    for batch in _batches(file, list(names)):
        parsed = _parsed(batch.rename(names), table, line)
        yield validate(parsed, table, file.match.source.missing_names, counts)
        line += batch.height


def _batches(file: TraceFile, columns: list[str]) -> Iterator[pl.DataFrame]:
    try:
        for batch in pq.ParquetFile(file.path).iter_batches(_BATCH_ROWS, columns=columns):
            yield pl.DataFrame(pa.Table.from_batches([batch]))
    except (pa.ArrowInvalid, OSError) as error:
        raise TracekitError(
            f"{file.name} is truncated or corrupt: {error}", hint="fetch the file again"
        ) from error


def _parsed(batch: pl.DataFrame, table: Table, first_line: int) -> Parsed:
    raw = batch.select(column.name for column in table.columns)
    typed = raw.with_columns(
        pl.col(column.name).cast(TYPES[column.kind], strict=False) for column in table.columns
    ).with_columns(pl.int_range(first_line, first_line + raw.height).alias("line"))

    def found(line: int, column: str) -> str:
        value = raw[column][line - first_line]
        return "" if value is None else str(value)

    def shown(line: int) -> str:
        return ",".join(found(line, column) for column in raw.columns)

    return Parsed(typed, no_rejects(), found, shown)
