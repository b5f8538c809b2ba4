"""Rows of JSON lines, Parquet and workbooks as frames of texts."""

import dataclasses
import io
import itertools
import json
from collections.abc import Iterator, Mapping

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base.errors import TracekitError
from tracekit.base.opened import PARQUET_MAGIC
from tracekit.intake.sources._source import Broken, Head, Opened

#: The columns to read: a text, a record of texts, or a list of either.
Columns = Mapping[str, pl.DataType | type[pl.DataType]]

_ROWS_AT_ONCE = 1 << 16


def objects(
    opened: Opened, columns: Columns, table: str
) -> Iterator[tuple[pl.DataFrame, list[Broken]]]:
    """The rows with ``line``, every value as a text; a missing field is NULL.

    A line that is no JSON object, or that has an object in place of a text, is a broken line of
    ``table``. Fields that ``columns`` does not name are left out.

    Raises
    ------
    TracekitError
        For Parquet that is damaged.
    """
    dtype = pl.Struct(dict(columns))
    with opened.stream() as stream:
        start = stream.read(len(PARQUET_MAGIC))
    texts = _parquet(opened, columns) if start == PARQUET_MAGIC else _lines(opened)
    line = 1
    for some in texts:
        numbered = pl.DataFrame({"text": some}).with_row_index("line", offset=line)
        numbered = numbered.with_columns(pl.col("line").cast(pl.Int64))
        line += numbered.height
        filled = numbered.filter(pl.col("text").str.strip_chars() != "")
        frames, broken = _decoded(filled, dtype, table)
        whole = pl.concat([pl.DataFrame(schema={"line": pl.Int64, **columns}), *frames])
        yield whole, broken


def _lines(opened: Opened) -> Iterator[pl.Series]:
    with opened.stream() as stream:
        while some := list(itertools.islice(stream, _ROWS_AT_ONCE)):
            yield pl.Series([one.decode(errors="replace") for one in some], dtype=pl.String)


def _parquet(opened: Opened, columns: Columns) -> Iterator[pl.Series]:
    """The rows of Parquet as JSON, so that both forms are read alike."""
    with opened.stream() as stream:
        try:
            file = pq.ParquetFile(stream if stream.seekable() else io.BytesIO(stream.read()))
            present = [name for name in columns if name in file.schema_arrow.names]
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=present):
                frame = pl.DataFrame(batch)
                yield frame.select(pl.struct(pl.all()).struct.json_encode()).to_series()
        except (pa.ArrowException, OSError) as error:
            cause = str(error).splitlines()[0]
            raise TracekitError(f"{opened.name} cannot be read as Parquet: {cause}") from error


def _decoded(
    rows: pl.DataFrame, dtype: pl.Struct, table: str
) -> tuple[list[pl.DataFrame], list[Broken]]:
    """Frames of the good lines; broken lines are found by halving."""
    if rows.is_empty():
        return [], []
    try:
        decoded_rows = rows.select("line", pl.col("text").str.json_decode(dtype).alias("row"))
    except pl.exceptions.PolarsError:
        if rows.height == 1:
            ((line, text),) = rows.rows()
            return [], [_broken(line, text, table)]
        half = rows.height // 2
        first, last = (_decoded(some, dtype, table) for some in (rows[:half], rows[half:]))
        return [*first[0], *last[0]], [*first[1], *last[1]]
    none = decoded_rows.filter(pl.col("row").is_null())["line"].to_list()
    if none:
        nulls = rows.filter(pl.col("line").is_in(none))
        broken = [_broken(line, text, table) for line, text in nulls.iter_rows()]
        return [decoded_rows.filter(pl.col("row").is_not_null()).unnest("row")], broken
    return [decoded_rows.unnest("row")], []


def _broken(line: int, text: str, table: str) -> Broken:
    return Broken(table=table, line=line, reason=_reason(text), text=text.strip())


def _reason(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"is no JSON: {error}"
    kind = type(value).__name__
    if not isinstance(value, dict):
        return f"is a JSON {kind}, expected an object"
    return "has an object or a list where a text or a number is due, or the other way round"


#: How the two kinds of workbooks begin: a zip, and an old compound file.
_XLSX, _XLS = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"


def is_workbook(head: Head) -> bool:
    """Whether a file has the name and the first bytes of a workbook, .xlsx or .xls."""
    name = head.name.lower()
    return (name.endswith(".xlsx") and head.start.startswith(_XLSX)) or (
        name.endswith(".xls") and head.start.startswith(_XLS)
    )


def as_csv(opened: Opened) -> Opened:
    """The first sheet of a workbook as comma-separated text; any other file unchanged.

    Cells are read as texts, so that numbers stored as text become numbers too.

    Raises
    ------
    TracekitError
        When no library for workbooks is installed, or the file is damaged.
    """
    with opened.stream() as stream:
        start = stream.read(len(_XLSX))
        if start not in {_XLSX, _XLS}:
            return opened
        data = start + stream.read()
    text = _sheet(data, opened.name).write_csv().encode()
    return dataclasses.replace(opened, stream=lambda: io.BytesIO(text))


def _sheet(data: bytes, name: str) -> pl.DataFrame:
    try:
        return pl.read_excel(io.BytesIO(data), engine="calamine", infer_schema_length=0)
    except ImportError as error:
        raise TracekitError(
            f"{name}: a workbook, and no library that reads workbooks is installed",
            hint="pip install 'tracekit[excel]', or save the sheet as CSV and ingest that",
        ) from error
    except Exception as error:  # the engine's errors have no common class
        raise TracekitError(
            f"{name}: a workbook that cannot be read: {str(error).splitlines()[0][:200]}",
            hint="fetch the file again, or save the sheet as CSV and ingest that",
        ) from error
