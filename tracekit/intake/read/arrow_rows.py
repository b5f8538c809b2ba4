"""Rows of Arrow tables: trace tables in Parquet, wide tables, and fractions above 1."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.base.errors import TracekitError
from tracekit.base.files.places import parquet_file, store_error
from tracekit.intake.read.blocks import NOT_UTF8
from tracekit.intake.read.coded import LINE, CodedRows, Keys, key_kinds
from tracekit.intake.read.discover import TraceFile
from tracekit.intake.read.parse import (
    REJECTS_SCHEMA,
    TYPES,
    CleanBlock,
    Counts,
    Parsed,
    no_rejects,
    parse_block,
    validate,
)
from tracekit.intake.sources import Match, Unpivot
from tracekit.store.tables import Column, Kind, Table, all_tables

# Types of Parquet columns: a value is treated like its text in a CSV.


_EXPECTED = {
    "time": "whole milliseconds or a timestamp",
    "number": "numbers",
    "id": "strings or whole numbers",
    "text": "strings",
}
_PER_MS = {"ms": 1, "us": 1_000, "ns": 1_000_000}


def check_types(name: str, types: Mapping[str, pa.DataType], columns: Mapping[str, Column]) -> None:
    """Raise TracekitError if a Parquet column has a type that its table column cannot be read from.

    Parameters
    ----------
    name : the name of the file, for the error
    types, columns : the Arrow type and the table column, by the column's name in the file
    """
    for at, column in columns.items():
        if not _is_read(types[at], column.kind):
            raise TracekitError(
                f"{name}: column '{at}' is of type {types[at]}, expected {_EXPECTED[column.kind]}",
                hint="cast the column, and write the file again",
            )


def _is_read(kind: pa.DataType, wanted: Kind) -> bool:
    types = pa.types
    if types.is_dictionary(kind):
        return bool(is_text(kind.value_type))
    if types.is_timestamp(kind):
        return wanted == "time"
    if types.is_floating(kind):
        return not types.is_float16(kind)
    plain: tuple[Callable[[pa.DataType], bool], ...] = (
        types.is_integer, types.is_decimal128, types.is_null, is_text,
    )  # fmt: skip
    return any(test(kind) for test in plain)


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column of the type holds strings."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def typed(raw: pl.Series, kind: Kind) -> pl.Series:
    """Return a Parquet column cast to the polars type of its kind: time, number, id or text.

    A value that does not fit becomes NULL.
    """
    if raw.dtype.is_decimal() or raw.dtype in (pl.Categorical, pl.Enum, pl.Null):
        raw = raw.cast(pl.String)
    if kind in {"id", "text"}:
        texts = raw.cast(pl.String)
        return texts.set(texts == "", None)
    if isinstance(raw.dtype, pl.Datetime):
        return _timestamps(raw)
    if raw.dtype == pl.String:
        return _texts(raw, kind)
    if kind == "time" and raw.dtype.is_float():
        return _floats(raw)
    return raw.cast(TYPES[kind], strict=False)


def _timestamps(raw: pl.Series) -> pl.Series:
    """Milliseconds since 1970 in UTC; NULL for a timestamp with a fraction of a millisecond."""
    assert isinstance(raw.dtype, pl.Datetime)  # noqa: S101 - as the caller saw
    ticks, per_ms = raw.to_physical(), _PER_MS[raw.dtype.time_unit]
    return (ticks // per_ms).set(ticks % per_ms != 0, None)


def _floats(raw: pl.Series) -> pl.Series:
    """Whole numbers of milliseconds; NULL for every other float."""
    fits = raw.is_finite() & (raw == raw.floor()) & (raw.abs() < 2.0**63)
    return raw.set(~fits, None).cast(pl.Int64)


def _texts(raw: pl.Series, kind: Kind) -> pl.Series:
    """Texts parsed by the CSV reader; each distinct text is parsed once."""
    in_a_line = raw.filter(raw.is_not_null() & ~raw.str.contains("[,\\n\\r\\x00]")).unique()
    block = "".join(f"{text},\n" for text in in_a_line).encode()
    table = replace(next(iter(all_tables().values())), columns=(_ANY[kind],))
    frame = parse_block(block, table, [0], 2, 0).frame
    texts = in_a_line.gather(frame["line"])
    return raw.replace_strict(texts, frame["value"], default=None, return_dtype=TYPES[kind])


_ANY = {
    kind: Column(name="value", kind=kind, unit="", description="Any.")
    for kind in ("time", "number")
}


@dataclass(frozen=True)
class Layout:
    """The table whose rows a file's lines hold, and the position of each column in a line."""

    table: Table
    positions: Mapping[str, int]


def layout_of(match: Match) -> Layout:
    """Return the layout of a recognised header.

    A wide table has a column for each measure; each of these is a column of the layout.
    """
    table = table_of(match)
    spread = match.format.unpivot
    if spread is None:
        return Layout(table, match.positions)
    value = table.column(spread.value_column)
    plain = [c for c in table.columns if c.name not in {spread.name_column, spread.value_column}]
    measures = [replace(value, name=name, required=False, often_absent=True) for name in match.wide]
    return Layout(replace(table, columns=(*plain, *measures)), {**match.positions, **match.wide})


def table_of(match: Match) -> Table:
    """Return the table of tracekit's stores to which rows under a recognised header belong."""
    return all_tables()[match.format.table]


def unpivot(rows: CodedRows, match: Match, keys: Keys) -> CodedRows:
    """Return the rows in the form of the stored table, which has one measure in a row.

    If the file is wide, each measure of a line becomes a row, in the order of the header. Rows of
    other files are unchanged.
    """
    spread = match.format.unpivot
    return rows if spread is None else _spread(rows, match, spread, keys)


def _spread(rows: CodedRows, match: Match, spread: Unpivot, keys: Keys) -> CodedRows:
    measures = sorted(match.wide, key=lambda name: match.wide[name])
    # every measure of the header gets a key, in the order of the header, also one without values
    kind = key_kinds(table_of(match)).index(spread.name_column)
    names = keys.encode(kind, pl.Series(measures, dtype=pl.String))
    values = np.stack([rows.columns[name].astype(np.float64) for name in measures], axis=1)
    line, measure = np.nonzero(~np.isnan(values))
    repeated = {
        name: column[line] for name, column in rows.columns.items() if name not in match.wide
    }
    spread_columns: dict[str, NDArray[np.generic]] = {
        spread.name_column: names[measure],
        spread.value_column: values[line, measure],
    }
    return CodedRows({**repeated, **spread_columns, LINE: rows.columns[LINE][line]}, rows.rejects)


_BATCH_ROWS = 200_000


def parquet_blocks(file: TraceFile, counts: Counts) -> Iterator[CleanBlock]:
    """Yield the rows of a Parquet file in blocks; column ``line`` is the row number, from 1 on."""
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
    """Batches of rows, each with the places of the rows whose text is not UTF-8."""
    with _damaged(file), parquet_file(file.path) as opened:
        for batch in opened.iter_batches(_BATCH_ROWS, columns=columns):
            texts = [_text(column) for column in batch.columns]
            whole = pa.table([column for column, _ in texts], names=batch.schema.names)
            yield pl.DataFrame(whole), sorted({at for _, broken in texts for at in broken})


def _text(column: pa.Array) -> tuple[pa.Array, list[int]]:
    """The column with all its text in UTF-8, and the places of the rows that were not UTF-8."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type):
        # Arrow stores instants in UTC; the zone is only for display
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
        raise store_error(error) or TracekitError(
            f"{file.name} is truncated or corrupt: {error}", hint="fetch the file again"
        ) from error


def _parsed(batch: pl.DataFrame, broken: list[int], table: Table, first_line: int) -> Parsed:
    raw = batch.select(column.name for column in table.columns)
    rows = pl.DataFrame([typed(raw[column.name], column.kind) for column in table.columns])
    frame = rows.with_columns(pl.int_range(first_line, first_line + raw.height).alias("line"))

    def value_text(line: int, column: str) -> str:
        values, at = raw[column], line - first_line
        if isinstance(values.dtype, pl.Datetime):
            # numpy knows years that Python and polars do not
            ticks = values.to_physical()[at]
            return "" if ticks is None else str(np.datetime64(ticks, values.dtype.time_unit))
        return "" if values[at] is None else str(values[at])

    def shown(line: int) -> str:
        return ",".join(value_text(line, column) for column in raw.columns)

    if not broken:
        return Parsed(frame, no_rejects(), value_text, shown)
    lines = [first_line + at for at in broken]
    rejects = pl.DataFrame(
        [(line, None, NOT_UTF8, shown(line)) for line in lines], schema=REJECTS_SCHEMA, orient="row"
    )
    return Parsed(frame.filter(~pl.col("line").is_in(lines)), rejects, value_text, shown)


#: Values above this many percent are amounts.
_MOST_PERCENT = 400.0
#: The unit of an amount that is a fraction.
_UNIT = "fraction"
_AMOUNTS = ("amount", "request", "limit")


def usual_maximum() -> float:
    """Return the value above which a fraction is unusual, as column ``cpu_fraction`` states it."""
    columns = {one.name: one for one in all_tables()["node_usage"].columns}
    usual = columns["cpu_fraction"].usual_maximum
    assert usual is not None  # noqa: S101 - the table states it
    return usual


def check_above(name: str, what: str, *, above: int, of: int, most: float, usual: float) -> None:
    """Raise TracekitError if more than half of the values are above the usual maximum.

    Parameters
    ----------
    name, what : the name of the file, and the name of the values in it
    above, of : the number of values above ``usual``, and the number of all values
    most : the largest value
    """
    if above * 2 <= of:
        return
    likely = "percent" if most <= _MOST_PERCENT else "an amount, not a share"
    raise TracekitError(
        f"{name}: {what} is a fraction, 0..1, but {above:,} of {of:,} values are above {usual:g},"
        f" up to {most:g}",
        hint=f"it looks like {likely}; nothing of the file was taken in",
    )


@dataclass
class Fractions:
    """A check of one file that its amounts with the unit ``fraction`` are indeed fractions."""

    _seen: dict[tuple[str, str, str], tuple[int, int, float]] = field(default_factory=dict)

    def note(self, table: str, rows: pl.DataFrame) -> None:
        """Count the amounts of some rows with the unit ``fraction``, and how many are too large."""
        if "unit" not in rows.columns or "resource" not in rows.columns:
            return
        shares = rows.filter(pl.col("unit") == _UNIT)
        for column in _AMOUNTS:
            if shares.height and column in shares.columns:
                self._add(table, column, shares)

    def _add(self, table: str, column: str, shares: pl.DataFrame) -> None:
        value = pl.col(column).cast(pl.Float64, strict=False).fill_nan(None)
        counts = shares.group_by("resource").agg(
            above=(value > usual_maximum()).sum(), of=value.count(), most=value.max()
        )
        for resource, above, of, most in counts.iter_rows():
            key = (table, column, str(resource))
            before = self._seen.get(key, (0, 0, 0.0))
            self._seen[key] = (before[0] + above, before[1] + of, max(before[2], most or 0.0))

    def check(self, name: str) -> None:
        """Raise TracekitError if most fractions of a resource are above the usual maximum."""
        for (_, column, resource), (above, of, most) in sorted(self._seen.items()):
            what = resource if column == "amount" else f"{column} of {resource}"
            check_above(name, what, above=above, of=of, most=most, usual=usual_maximum())
