"""Streams CSV with a header, quotes allowed, and Parquet as frames of named columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from io import BufferedIOBase

import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from tracekit.base.errors import TracekitError, nearest
from tracekit.base.opened import PARQUET_MAGIC
from tracekit.intake.sources._rows import in_ms
from tracekit.intake.sources._source import Broken, Opened
from tracekit.store.tables import all_tables

_BLOCK_BYTES = 8 << 20
#: Arrow reads each byte as one character, so that a line of undecodable bytes becomes a reject.
_BYTE_FOR_BYTE = "latin-1"
_BLOCK_ROWS = 1 << 17
#: Columns of the user's own nodes and containers that no table of the store has.
_AMOUNTS = ("arrival_ms", "cpu_milli", "memory_bytes", "cpu_limit_milli", "memory_limit_bytes")
#: Types whose values become milliseconds.
_TEMPORAL = (pl.Datetime, pl.Date)


def named_frames(
    opened: Opened, table: str, *, needed: Sequence[str] = ()
) -> Iterator[tuple[pl.DataFrame, list[Broken]]]:
    """Yield the rows of a file in blocks, with the column ``line``, and each block's broken lines.

    Columns of a CSV are texts, NULL where empty. Columns of Parquet keep their types. A point in
    time becomes ms since 1970; so does a text that states one with its zone. A column whose name
    differs from a known name only in case or surrounding spaces gets the known name. A line with
    another number of fields, or with undecodable bytes, is a broken line of ``table``.

    Raises
    ------
    TracekitError
        For a needed column that is missing, and for a file that is neither CSV nor Parquet.
    """
    stream = opened.stream()
    with stream:
        start = stream.read(4)
    read = (
        _parquet(opened, table, needed) if start == PARQUET_MAGIC else _csv(opened, table, needed)
    )
    yield from read


def spelled(names: Sequence[str], table_names: AbstractSet[str]) -> dict[str, str]:
    """Return, by column, the known name that it differs from only in case or spaces.

    A column is left out if another column has the known name, or would get it too.
    """
    likely = {one: one.strip().casefold() for one in names if one not in table_names}
    meant = [one for one in likely.values() if one in table_names and one not in names]
    return {one: as_known for one, as_known in likely.items() if meant.count(as_known) == 1}


def _names_of(table: str, needed: Sequence[str]) -> set[str]:
    of_table = all_tables()[table].columns if table in all_tables() else ()
    return {*needed, *_AMOUNTS, *(column.name for column in of_table)}


def _named(name: str, columns: Sequence[str], table: str, needed: Sequence[str]) -> list[str]:
    """The columns under their known names; raises TracekitError if one lacks or occurs twice."""
    table_names = _names_of(table, needed)
    respelled = spelled(columns, table_names)
    likely = [
        one.strip().casefold() for one in columns if one not in table_names and one not in respelled
    ]
    named = [respelled.get(one, one) for one in columns]
    for one in likely:
        if one in table_names and one not in named:
            same = [f"'{other}'" for other in columns if other.strip().casefold() == one]
            raise TracekitError(
                f"{name} has the columns {' and '.join(same)}, each of which may be '{one}'",
                hint=f"name one of them {one}, and the other otherwise",
            )
    _check(name, named, needed)
    return named


def _check(name: str, columns: Sequence[str], needed: Sequence[str]) -> None:
    twice = sorted({one for one in columns if list(columns).count(one) > 1})
    if twice:
        raise TracekitError(f"{name} has more than one column '{twice[0]}'")
    for one in needed:
        if one not in columns:
            close = nearest(one, columns)
            raise TracekitError(
                f"{name} has no column '{one}'; it has: {', '.join(columns)}"[:400],
                hint=f"'{close}' may be '{one}'" if close else None,
            )


def _parquet(
    opened: Opened, table: str, needed: Sequence[str]
) -> Iterator[tuple[pl.DataFrame, list[Broken]]]:
    with opened.stream() as stream:
        try:
            file = pq.ParquetFile(_seekable(stream))
            names = _named(opened.name, file.schema_arrow.names, table, needed)
            line = 1
            for batch in file.iter_batches(batch_size=_BLOCK_ROWS):
                frame = pl.DataFrame(batch.rename_columns(names))
                numbered = pl.int_range(line, line + frame.height, dtype=pl.Int64).alias("line")
                yield _plain(frame).with_columns(numbered), []
                line += frame.height
        except (pa.ArrowException, OSError) as error:
            cause = str(error).splitlines()[0]
            raise TracekitError(f"'{opened.name}' cannot be read as Parquet: {cause}") from None


def _seekable(stream: BufferedIOBase) -> BufferedIOBase:
    return stream if stream.seekable() else io.BytesIO(stream.read())


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with times in ms, and with texts in place of dictionaries."""
    schema = frame.schema
    times = [name for name, kind in schema.items() if isinstance(kind, _TEMPORAL)]
    spans = [name for name, kind in schema.items() if isinstance(kind, pl.Duration)]
    coded = [name for name, kind in schema.items() if isinstance(kind, pl.Categorical | pl.Enum)]
    plain = frame.with_columns(
        *(pl.col(name).cast(pl.Datetime("ms")).cast(pl.Int64) for name in times),
        *(pl.col(name).cast(pl.Duration("ms")).cast(pl.Int64) for name in spans),
        *(pl.col(name).cast(pl.String) for name in coded),
    )
    return in_ms(plain)


def _csv(
    opened: Opened, table: str, needed: Sequence[str]
) -> Iterator[tuple[pl.DataFrame, list[Broken]]]:
    stated, more = _header(opened)
    names = _named(opened.name, stated, table, needed)
    broken: list[tuple[int, str, int]] = []

    def skipped(row: arrow_csv.InvalidRow) -> str:
        broken.append((row.number, row.text, row.actual_columns))
        return "skip"

    line = 2
    with opened.stream() as stream:
        try:
            for batch in _csv_batches(stream, names, skipped) if more else ():
                bad, broken[:] = sorted(broken), []
                frame, line = _numbered(batch, line, {number for number, _, _ in bad})
                yield _decoded(frame, table, len(names), bad)
        except pa.ArrowException as error:
            cause = str(error).splitlines()[0]
            raise TracekitError(f"'{opened.name}' cannot be read as CSV: {cause}") from None
    if broken:
        nothing = pl.DataFrame(schema={**dict.fromkeys(names, pl.String), "line": pl.Int64})
        yield _decoded(nothing, table, len(names), broken)


def _header(opened: Opened) -> tuple[list[str], bool]:
    """The columns, and whether any line follows."""
    with opened.stream() as stream:
        first = stream.readline(_BLOCK_BYTES).decode("utf-8-sig", errors="replace")
        more = bool(stream.read(1))
    return [name.strip() for name in next(csv.reader([first]), [])], more


def _csv_batches(
    stream: BufferedIOBase, names: list[str], skipped: arrow_csv.InvalidRowHandler
) -> Iterator[pa.RecordBatch]:
    reader = arrow_csv.open_csv(
        stream,
        read_options=arrow_csv.ReadOptions(
            column_names=names,
            skip_rows=1,
            block_size=_BLOCK_BYTES,
            use_threads=False,
            encoding=_BYTE_FOR_BYTE,
        ),
        parse_options=arrow_csv.ParseOptions(
            invalid_row_handler=skipped, ignore_empty_lines=len(names) == 1
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )
    yield from reader


def _numbered(batch: pa.RecordBatch, line: int, bad: set[int]) -> tuple[pl.DataFrame, int]:
    """The rows with their line numbers, counting broken lines too, and the next number."""
    frame = pl.DataFrame(batch)
    lines: list[int] = []
    while len(lines) < frame.height:
        wanted = frame.height - len(lines)
        lines += [at for at in range(line, line + wanted) if at not in bad]
        line += wanted
    return frame.with_columns(pl.Series("line", lines, dtype=pl.Int64)), line


def _decoded(
    frame: pl.DataFrame, table: str, wanted: int, bad: list[tuple[int, str, int]]
) -> tuple[pl.DataFrame, list[Broken]]:
    names = [name for name in frame.columns if name != "line"]
    texts = frame.with_columns(_as_utf8(frame[name]).alias(f"{name}\0") for name in names)
    undecoded = _any(pl.col(f"{name}\0").is_null() for name in names)
    torn = _any(pl.col(f"{name}\0").str.contains("\n", literal=True) for name in names)
    broken = [
        _broken(table, number, f"has {fields} fields, expected {wanted}", _readable(text))
        for number, text, fields in bad
        if text.strip()
    ]
    for what, reason in (
        (undecoded, "is not UTF-8 text"),
        (~undecoded & torn, "has a line's end within quotes"),
    ):
        broken += [
            _broken(table, row[0], reason, repr(",".join(row[1:]).encode(_BYTE_FOR_BYTE)))
            for row in texts.filter(what).select("line", *names).iter_rows()
        ]
    stripped = (pl.col(f"{name}\0").str.strip_chars().alias(name) for name in names)
    whole = texts.filter(~undecoded & ~torn).select("line", *stripped)
    filled = whole.with_columns(
        pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in names
    )
    # a line without any value is an empty one
    filled = filled.filter(_any(pl.col(name).is_not_null() for name in names))
    return in_ms(filled), sorted(broken, key=lambda one: one.line)


def _as_utf8(column: pl.Series) -> pl.Series:
    """The texts of bytes; null for bytes that are not UTF-8."""
    plain = column.str.len_bytes() == column.str.len_chars()
    if plain.all():
        return column
    other = column.filter(~plain).unique()
    texts = pl.Series([_utf8(text) for text in other], dtype=pl.String)
    return column.replace_strict(other, texts, default=column, return_dtype=pl.String)


def _utf8(text: str) -> str | None:
    try:
        return text.encode(_BYTE_FOR_BYTE).decode()
    except UnicodeDecodeError:
        return None


def _readable(text: str) -> str:
    return text.encode(_BYTE_FOR_BYTE).decode(errors="replace")


def _any(conditions: Iterable[pl.Expr]) -> pl.Expr:
    return pl.any_horizontal(pl.lit(value=False), *conditions)


def _broken(table: str, line: int, reason: str, text: str) -> Broken:
    return Broken(table=table, line=line, reason=reason, text=text)
