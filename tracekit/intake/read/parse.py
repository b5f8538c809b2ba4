"""From a block of CSV lines to typed columns and rejects.

Almost every line of a real trace is clean. So polars parses the whole block, or the block without
its malformed lines. A value that is no number becomes NULL; only a reject looks its text up again.
No step loops over good rows in Python. ``validate`` then applies the rules of the table;
the spellings of an unknown name become NULL and are counted.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.intake.read.blocks import BOM, EMPTY, RETURN, Lines
from tracekit.store.tables import Column, Table

#: A decimal; ``float`` alone would also take blanks, '1_000' and digits of other scripts.
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
TYPES = {"time": pl.Int64, "number": pl.Float64, "id": pl.String, "text": pl.String}
REJECTS_SCHEMA = {"line": pl.Int64, "column": pl.String, "reason": pl.String, "text": pl.String}
#: Bytes that a line may not hold but polars accepts.
_ODD = (b"\0", RETURN)
_WANTED = {"time": "a whole number of ms", "number": "a number", "id": "an id", "text": "a word"}


@dataclass(frozen=True)
class Parsed:
    """The rows of a block as typed columns, before their values are checked; see ``validate``.

    Attributes
    ----------
    frame : the table's columns, and ``line`` (int64; the header is line 1)
    rejects : malformed lines, with columns ``line, column, reason, text``
    value_text : function(line, column) that returns the text in the file
    shown : function(line) that returns the line's text for the rejects
    numbers : the columns that the file stores as numbers; a NULL in them is an absent value
    """

    frame: pl.DataFrame
    rejects: pl.DataFrame
    value_text: Callable[[int, str], str]
    shown: Callable[[int], str]
    numbers: frozenset[str] = frozenset()


def row_schema(table: Table) -> dict[str, type[pl.DataType]]:
    """Return the polars type of each column of ``Parsed.frame``."""
    return {column.name: TYPES[column.kind] for column in table.columns} | {"line": pl.Int64}


def no_rejects() -> pl.DataFrame:
    """Return an empty frame of rejects."""
    return pl.DataFrame(schema=REJECTS_SCHEMA)


def parse_block(
    block: bytes, table: Table, positions: Sequence[int], width: int, first_line: int
) -> Parsed:
    """Return the typed rows of a block of whole CSV lines; malformed lines become rejects.

    Parameters
    ----------
    positions : for each column of ``table``, its position in a line
    width : the number of fields a line must have
    first_line : the line number of the block's first line
    """
    lines = Lines(block, width, first_line)
    place = {column.name: at for column, at in zip(table.columns, positions, strict=True)}

    def value_text(line: int, column: str) -> str:
        return lines.text(line).split(b",")[place[column]].decode()

    frame = _read_csv(block, table.columns, positions, width)
    rejects = no_rejects()
    numbers: pl.Series | pl.Expr = pl.int_range(first_line, first_line + lines.count)
    if (
        frame is None
        or frame.height != lines.count
        or _maybe_short(frame)
        or any(odd in block for odd in _ODD)
    ):
        faults = lines.faults()
        rejects = _malformed(lines, faults)
        if rejects.height:
            clean = lines.without(np.flatnonzero(faults))
            frame = _read_csv(clean, table.columns, positions, width)
            numbers = pl.Series(np.flatnonzero(faults == 0) + first_line, dtype=pl.Int64)
    if frame is None:
        return Parsed(pl.DataFrame(schema=row_schema(table)), rejects, value_text, lines.shown)
    frame = frame.select(*place, numbers.alias("line"))
    return Parsed(_mend_times(frame, table, value_text), rejects, value_text, lines.shown)


def _read_csv(
    block: bytes, columns: Sequence[Column], positions: Sequence[int], width: int
) -> pl.DataFrame | None:
    """The block as typed columns, NULL for values that do not fit; None if it is unreadable.

    The reader parses all columns, also unused ones, because only then it notices a line that is too
    long. A line that is too short has NULL in its last column.
    """
    at_place = dict(zip(positions, columns, strict=True))
    schema: dict[str, type[pl.DataType]] = {
        at_place[at].name if at in at_place else f"_{at}": (
            TYPES[at_place[at].kind] if at in at_place else pl.String
        )
        for at in range(width)
    }
    # polars removes a byte-order mark from the start of any block
    text = BOM + block if block.startswith(BOM) else block
    try:
        return pl.read_csv(
            text, has_header=False, schema=schema, quote_char=None, ignore_errors=True
        )
    except (pl.exceptions.NoDataError, pl.exceptions.SchemaError, pl.exceptions.ComputeError):
        return None


def _maybe_short(frame: pl.DataFrame) -> bool:
    """Whether a line may have too few fields: its last column is then NULL."""
    return frame.to_series(-1).null_count() > 0


def _malformed(lines: Lines, faults: NDArray[np.int8]) -> pl.DataFrame:
    bad = np.flatnonzero(faults)
    # a file may have millions of blank lines, so no step loops over them
    others = np.flatnonzero(~lines.empty()[bad])
    numbers = (bad[others] + lines.first_line).tolist()
    kinds = faults[bad[others]].tolist()
    reasons = [lines.reason(n, kind) for n, kind in zip(numbers, kinds, strict=True)]
    texts = [lines.shown(n) for n in numbers]
    return pl.DataFrame(
        {
            "line": bad + lines.first_line,
            "column": pl.repeat(None, bad.size, dtype=pl.String, eager=True),
            "reason": pl.repeat(EMPTY, bad.size, eager=True).scatter(others, reasons),
            "text": pl.repeat("", bad.size, eager=True).scatter(others, texts),
        },
        schema=REJECTS_SCHEMA,
    )


def _mend_times(
    frame: pl.DataFrame, table: Table, value_text: Callable[[int, str], str]
) -> pl.DataFrame:
    """The frame with a time such as 30000.0 read as a whole number; 30000.5 stays NULL."""
    for column in table.columns:
        if column.kind == "time" and frame[column.name].null_count():
            missing = frame.filter(pl.col(column.name).is_null())["line"].to_list()
            mended = {line: _whole(value_text(line, column.name)) for line in missing}
            values = pl.col("line").replace_strict(mended, default=None, return_dtype=pl.Int64)
            frame = frame.with_columns(pl.coalesce(column.name, values).alias(column.name))
    return frame


def _whole(text: str) -> int | None:
    if not _DECIMAL.fullmatch(text):
        return None
    value = float(text)
    return int(value) if abs(value) < 2**63 and value == int(value) else None


@dataclass(frozen=True)
class CleanBlock:
    """Rows of a table that passed all checks, and the broken rows of the same block (``rejects``).

    ``frame`` has the table's columns, with names as text, and ``line``, the line number.
    """

    frame: pl.DataFrame
    rejects: pl.DataFrame


@dataclass
class Counts:
    """Counts of unusual values in good rows.

    Attributes
    ----------
    missing : by column and spelling, the number of unknown names
    above : by column, the number of values above the usual maximum
    """

    missing: Counter[tuple[str, str]] = field(default_factory=Counter)
    above: Counter[str] = field(default_factory=Counter)


def validate(
    parsed: Parsed,
    table: Table,
    missing_names: frozenset[str],
    counts: Counts,
) -> CleanBlock:
    """Return the rows that pass the table's checks; others become rejects, unknown names NULL.

    Unusual values of good rows are added to ``counts``.
    """
    frame = parsed.frame
    named = frame.with_columns(_unnamed(column, missing_names) for column in table.columns)
    reasons = [_first_fault(column, _unparsed(column, parsed)) for column in table.columns]
    faults = named.select(pl.coalesce(reasons).alias("fault")).to_series()
    broken = faults.is_not_null()
    rejects = parsed.rejects
    if broken.any():
        rejects = pl.concat([rejects, _rejects(parsed, faults, table)])
        frame, named = frame.filter(~broken), named.filter(~broken)
    _count(frame, named, table, counts)
    return CleanBlock(named, rejects.sort("line"))


def _unnamed(column: Column, missing_names: frozenset[str]) -> pl.Expr:
    """The column with NULL in place of every spelling of an unknown name."""
    name = pl.col(column.name)
    if column.kind not in {"id", "text"}:
        return name
    return pl.when(name.is_in(sorted(missing_names))).then(None).otherwise(name).alias(column.name)


def _unparsed(column: Column, parsed: Parsed) -> list[int]:
    """The lines in which an optional number has a text that is no number."""
    if column.required or column.kind != "number" or column.name in parsed.numbers:
        return []
    if not parsed.frame[column.name].null_count():
        return []
    lines = parsed.frame.filter(pl.col(column.name).is_null())["line"].to_list()
    return [line for line in lines if parsed.value_text(line, column.name)]


def _first_fault(column: Column, unparsed: list[int]) -> pl.Expr:
    """The column's name where its value breaks a rule, else NULL."""
    name = pl.col(column.name)
    broken = name.is_null() if column.required else pl.col("line").is_in(unparsed)
    if column.kind == "number":
        broken = broken | name.is_nan().fill_null(value=False)
        broken = broken | name.is_infinite().fill_null(value=False)
    if column.minimum is not None:
        broken = broken | (name < column.minimum).fill_null(value=False)
    return pl.when(broken).then(pl.lit(column.name))


def _rejects(parsed: Parsed, faults: pl.Series, table: Table) -> pl.DataFrame:
    """The rejects of the rows with a fault: column, its value, and what would be right."""
    at = faults.is_not_null().arg_true()
    lines = parsed.frame["line"].gather(at).to_list()
    columns = faults.gather(at).to_list()
    where = list(zip(lines, columns, strict=True))
    return pl.DataFrame(
        {
            "line": lines,
            "column": columns,
            "reason": [_reason(table.column(c), parsed.value_text(line, c)) for line, c in where],
            "text": [parsed.shown(line) for line in lines],
        },
        schema=REJECTS_SCHEMA,
    )


def _reason(column: Column, value: str) -> str:
    if value == "":
        return f"is empty, expected {_WANTED[column.kind]}"
    if column.minimum is not None and _is_below(value, column.minimum):
        return f"is {value}, expected at least {column.minimum:g}"
    return f"is '{value[:60]}', expected {_WANTED[column.kind]}"


def _is_below(value: str, minimum: float) -> bool:
    try:
        return float(value) < minimum
    except ValueError:
        return False


def _count(frame: pl.DataFrame, named: pl.DataFrame, table: Table, counts: Counts) -> None:
    for column in table.columns:
        absent = named[column.name].null_count() if column.kind == "number" else 0
        if absent and not column.required and not column.often_absent:
            counts.missing[column.name, ""] += named[column.name].null_count()
        if column.kind in {"id", "text"} and not column.often_absent:
            unknown = named[column.name].is_null()
            spellings = frame[column.name].filter(unknown).fill_null("").value_counts()
            for spelling, rows in spellings.iter_rows():
                counts.missing[column.name, spelling] += rows
        if column.usual_maximum is not None:
            above = int((named[column.name] > column.usual_maximum).sum())
            if above:
                counts.above[column.name] += above
