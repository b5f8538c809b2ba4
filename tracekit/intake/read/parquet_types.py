"""Types of Parquet columns: a value is treated as its text would be in a CSV."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import polars as pl
import pyarrow as pa

from tracekit.base.errors import TracekitError
from tracekit.intake.read.parse import TYPES, parse_block
from tracekit.store.tables import Column, Kind, all_tables

_ASKED = {
    "time": "whole milliseconds or a timestamp",
    "number": "numbers",
    "id": "strings or whole numbers",
    "text": "strings",
}
_PER_MS = {"ms": 1, "us": 1_000, "ns": 1_000_000}


def check_types(name: str, found: Mapping[str, pa.DataType], columns: Mapping[str, Column]) -> None:
    """Raise TracekitError for a type that no text of a CSV stands for.

    Parameters
    ----------
    name : of the file
    found, columns : by name in the file
    """
    for at, column in columns.items():
        if not _is_read(found[at], column.kind):
            raise TracekitError(
                f"{name}: column '{at}' is of type {found[at]}, expected {_ASKED[column.kind]}",
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
    """Whether a column of the type holds strings."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def typed(raw: pl.Series, kind: Kind) -> pl.Series:
    """A column as the table has it; NULL where a value does not fit."""
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
    """Milliseconds since 1970, in UTC; NULL where a timestamp is finer."""
    assert isinstance(raw.dtype, pl.Datetime)  # noqa: S101 - as the caller saw
    ticks, per_ms = raw.to_physical(), _PER_MS[raw.dtype.time_unit]
    return (ticks // per_ms).set(ticks % per_ms != 0, None)


def _floats(raw: pl.Series) -> pl.Series:
    """Whole numbers of milliseconds; NULL for all else."""
    fits = raw.is_finite() & (raw == raw.floor()) & (raw.abs() < 2.0**63)
    return raw.set(~fits, None).cast(pl.Int64)


def _texts(raw: pl.Series, kind: Kind) -> pl.Series:
    """Texts as the CSV reader takes them: by itself, each different one once."""
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
