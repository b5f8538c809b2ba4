"""From a block of CSV lines to typed columns, with the broken rows apart.

Almost every block of a real trace is clean, so the fast way is tried first: count the commas,
let the CSV reader parse typed columns. Only a block that does not add up is taken apart line by
line, still without a Python loop over its good rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.tables import Column, Table

TEXT_SHOWN = 240

_TYPES = {"time": pl.Int64, "number": pl.Float64, "id": pl.String, "text": pl.String}

REJECTS_SCHEMA = {"line": pl.Int64, "column": pl.String, "reason": pl.String, "text": pl.String}


@dataclass(frozen=True)
class Parsed:
    """The rows of a block.

    Attributes
    ----------
    frame : typed columns of the base table, in its order, and ``line`` (int64, header = line 1)
    rejects : ``line, column, reason, text`` of the rows that are no rows at all
    strings : the same rows as ``frame`` as text, where a value may have failed to parse; or None
    """

    frame: pl.DataFrame
    rejects: pl.DataFrame
    strings: pl.DataFrame | None


def no_rejects() -> pl.DataFrame:
    """An empty frame of rejects."""
    return pl.DataFrame(schema=REJECTS_SCHEMA)


def parse_block(
    block: bytes, table: Table, positions: Sequence[int], width: int, first_line: int
) -> Parsed:
    """Parse whole lines of CSV.

    Parameters
    ----------
    positions : for each column of ``table``, its place in a line
    width : the number of fields a line must have
    first_line : the line number of the block's first line
    """
    fast = _parse_typed(block, table, positions, width)
    if fast is not None:
        frame = fast.with_columns(line=pl.int_range(first_line, first_line + fast.height))
        return Parsed(frame, no_rejects(), None)
    return _parse_apart(block, table, positions, width, first_line)


def _parse_typed(
    block: bytes, table: Table, positions: Sequence[int], width: int
) -> pl.DataFrame | None:
    """The block as typed columns, or None when some line is not what it should be."""
    lines = block.count(b"\n")
    if block.count(b",") != lines * (width - 1) or b"\0" in block:
        return None
    try:
        frame = _read_csv(block, table.columns, positions, width, typed=True)
    except (pl.exceptions.ComputeError, pl.exceptions.SchemaError):
        return None
    return frame if frame.height == lines else None


def _read_csv(
    block: bytes, columns: Sequence[Column], positions: Sequence[int], width: int, *, typed: bool
) -> pl.DataFrame:
    names = {at: column.name for column, at in zip(columns, positions, strict=True)}
    types = {at: _TYPES[column.kind] for column, at in zip(columns, positions, strict=True)}
    schema = {
        names.get(at, f"_{at}"): types.get(at, pl.String) if typed else pl.String
        for at in range(width)
    }
    frame = pl.read_csv(
        block,
        has_header=False,
        schema=schema,
        columns=sorted(positions),
        quote_char=None,
        encoding="utf8",
    )
    return frame.select(column.name for column in columns)


def _parse_apart(
    block: bytes, table: Table, positions: Sequence[int], width: int, first_line: int
) -> Parsed:
    """The lines that have the right number of fields as text, then cast; the others rejected."""
    lines = block.split(b"\n")[:-1]
    faults = _line_faults(block, lines, width)
    good = np.flatnonzero(faults == 0)
    rejects = _structure_rejects(lines, faults, width, first_line)
    clean = b"".join(lines[at] + b"\n" for at in good)
    if not clean:
        empty = pl.DataFrame(schema={c.name: _TYPES[c.kind] for c in table.columns})
        return Parsed(empty.with_columns(line=pl.lit(0, pl.Int64)), rejects, None)
    strings = _read_csv(clean, table.columns, positions, width, typed=False)
    frame = strings.select(_cast(column) for column in table.columns)
    return Parsed(
        frame.with_columns(line=pl.Series(good + first_line, dtype=pl.Int64)), rejects, strings
    )


def _cast(column: Column) -> pl.Expr:
    name = pl.col(column.name)
    if column.kind == "number":
        return name.cast(pl.Float64, strict=False)
    if column.kind == "time":
        whole = name.cast(pl.Float64, strict=False)
        # a time written as 30000.0 is a time; one written as 30000.5 is not
        return pl.coalesce(
            name.cast(pl.Int64, strict=False),
            pl.when(whole == whole.floor()).then(whole).cast(pl.Int64, strict=False),
        ).alias(column.name)
    return name


_FIELDS, _NUL, _ENCODING = 1, 2, 3


def _line_faults(block: bytes, lines: list[bytes], width: int) -> NDArray[np.int8]:
    """For each line 0, or what is wrong with it as a line."""
    data = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    faults = np.zeros(len(ends), dtype=np.int8)
    commas = np.searchsorted(np.flatnonzero(data == ord(",")), ends)
    faults[np.diff(commas, prepend=0) != width - 1] = _FIELDS
    faults[np.searchsorted(ends, np.flatnonzero(data == 0))] = _NUL
    for at in np.unique(np.searchsorted(ends, np.flatnonzero(data >= 0x80))):
        try:
            lines[at].decode()
        except UnicodeDecodeError:
            faults[at] = _ENCODING
    return faults


def _structure_rejects(
    lines: list[bytes], faults: NDArray[np.int8], width: int, first_line: int
) -> pl.DataFrame:
    bad = np.flatnonzero(faults)
    if not len(bad):
        return no_rejects()
    return pl.DataFrame(
        {
            "line": bad + first_line,
            "column": [None] * len(bad),
            "reason": [_reason(lines[at], int(faults[at]), width) for at in bad],
            "text": [shown(lines[at]) for at in bad],
        },
        schema=REJECTS_SCHEMA,
    )


def _reason(line: bytes, fault: int, width: int) -> str:
    if fault == _NUL:
        return "holds a NUL byte, expected text"
    if fault == _ENCODING:
        return "is not UTF-8 text"
    if not line:
        return "is empty"
    return f"has {line.count(b',') + 1} fields, expected {width}"


def shown(line: bytes) -> str:
    """A line as the rejects keep it: readable, and cut when long."""
    return line[:TEXT_SHOWN].decode(errors="replace").replace("\0", "\\0")
