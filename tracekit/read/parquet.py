"""Streams a trace table that somebody has already turned into Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import polars as pl
import pyarrow as pa

from tracekit.errors import TracekitError
from tracekit.files.places import parquet_file, told
from tracekit.read.discover import TraceFile
from tracekit.read.lines import NOT_UTF8
from tracekit.read.parquet_types import check_types, is_text, typed
from tracekit.read.parse import REJECTS_SCHEMA, Parsed, no_rejects
from tracekit.read.validate import CleanBlock, Counts, validate
from tracekit.read.wide import layout_of
from tracekit.tables import Table

_BATCH_ROWS = 200_000


def parquet_blocks(file: TraceFile, counts: Counts) -> Iterator[CleanBlock]:
    """Clean blocks of a Parquet file; ``line`` is the row number, the first row being 1."""
    layout = layout_of(file.match)
    table = layout.table
    names = {file.match.header[at]: column for column, at in layout.positions.items()}
    check_types(file.name, _types(file, names), {a: table.column(c) for a, c in names.items()})
    line = 1
    for batch, broken in _batches(file, list(names)):
        parsed = _parsed(batch.rename(names), broken, table, line)
        yield validate(parsed, table, file.match.source.missing_names, counts)
        line += batch.height


def _types(file: TraceFile, names: Mapping[str, str]) -> dict[str, pa.DataType]:
    """The type of each column that is read, by its name in the file."""
    twice = [name for name in names if file.match.header.count(name) > 1]
    if twice:
        raise TracekitError(
            f"{file.name} has two columns '{twice[0]}'", hint="leave one of them out"
        )
    with _damaged(file), parquet_file(file.path) as opened:
        return {name: opened.schema_arrow.field(name).type for name in names}


def _batches(file: TraceFile, columns: list[str]) -> Iterator[tuple[pl.DataFrame, list[int]]]:
    """Rows of the file, and which of each batch hold text that is none."""
    with _damaged(file), parquet_file(file.path) as opened:
        for batch in opened.iter_batches(_BATCH_ROWS, columns=columns):
            texts = [_text(column) for column in batch.columns]
            whole = pa.table([column for column, _ in texts], names=batch.schema.names)
            yield pl.DataFrame(whole), sorted({at for _, broken in texts for at in broken})


def _text(column: pa.Array) -> tuple[pa.Array, list[int]]:
    """The column with all its text in UTF-8, and the rows where it was not; nobody else looks."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type):
        # its instants are those of UTC, whatever zone they are shown in
        column = column.view(pa.timestamp(column.type.unit))
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        if not is_text(column.type):
            raise
    else:
        return column, []
    values = column.cast(pa.large_binary()).to_pylist()
    shown = [None if value is None else value.decode(errors="replace") for value in values]
    broken = [at for at, value in enumerate(values) if value and not _is_utf8(value)]
    return pa.array(shown, pa.large_string()), broken


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


@contextmanager
def _damaged(file: TraceFile) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise told(error) or TracekitError(
            f"{file.name} is truncated or corrupt: {error}", hint="fetch the file again"
        ) from error


def _parsed(batch: pl.DataFrame, broken: list[int], table: Table, first_line: int) -> Parsed:
    raw = batch.select(column.name for column in table.columns)
    rows = pl.DataFrame([typed(raw[column.name], column.kind) for column in table.columns])
    frame = rows.with_columns(pl.int_range(first_line, first_line + raw.height).alias("line"))

    def found(line: int, column: str) -> str:
        values, at = raw[column], line - first_line
        if isinstance(values.dtype, pl.Datetime):
            # numpy knows years that Python and polars do not
            ticks = values.to_physical()[at]
            return "" if ticks is None else str(np.datetime64(ticks, values.dtype.time_unit))
        return "" if values[at] is None else str(values[at])

    def shown(line: int) -> str:
        return ",".join(found(line, column) for column in raw.columns)

    if not broken:
        return Parsed(frame, no_rejects(), found, shown)
    lines = [first_line + at for at in broken]
    rejects = pl.DataFrame(
        [(line, None, NOT_UTF8, shown(line)) for line in lines], schema=REJECTS_SCHEMA, orient="row"
    )
    return Parsed(frame.filter(~pl.col("line").is_in(lines)), rejects, found, shown)
