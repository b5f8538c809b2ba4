"""The rules every row must pass; the names that stand for 'unknown' become NULL and are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl

from tracekit.ingest.parse import REJECTS_SCHEMA, Parsed
from tracekit.tables import Column, Table

_WANTED = {"time": "a whole number of ms", "number": "a number", "id": "an id", "text": "a word"}


@dataclass(frozen=True)
class CleanBlock:
    """Rows of a base table with text ids and ``line``; the broken rows beside them."""

    frame: pl.DataFrame
    rejects: pl.DataFrame

    @property
    def rows_read(self) -> int:
        """Rows in the file that this block stands for."""
        return self.frame.height + self.rejects.height


@dataclass
class Counts:
    """What was found in rows that were kept, by column.

    ``missing`` counts each spelling of an unknown name, ``above`` values over the usual maximum.
    """

    missing: Counter[tuple[str, str]] = field(default_factory=Counter)
    above: Counter[str] = field(default_factory=Counter)


def validate(
    parsed: Parsed,
    table: Table,
    missing_names: frozenset[str],
    counts: Counts,
    line_text: Callable[[int], str],
) -> CleanBlock:
    """Split parsed rows into clean ones and rejects; count what was mended.

    ``line_text`` gives the raw text of a line by its number, for the rejects.
    """
    frame = parsed.frame
    named = frame.with_columns(_unnamed(column, missing_names) for column in table.columns)
    reasons = [_first_fault(column) for column in table.columns]
    faults = named.select(pl.coalesce(reasons).alias("fault")).to_series()
    broken = faults.is_not_null()
    rejects = parsed.rejects
    if broken.any():
        rejects = pl.concat([rejects, _rejects(parsed, named, faults, table, line_text)])
        frame, named = frame.filter(~broken), named.filter(~broken)
    _count(frame, named, table, counts)
    return CleanBlock(named, rejects.sort("line"))


def _unnamed(column: Column, missing_names: frozenset[str]) -> pl.Expr:
    """The column with every spelling of 'unknown' replaced by NULL."""
    name = pl.col(column.name)
    if column.kind not in {"id", "text"}:
        return name
    return pl.when(name.is_in(sorted(missing_names))).then(None).otherwise(name).alias(column.name)


def _first_fault(column: Column) -> pl.Expr:
    """The column's name where its value breaks a rule, else NULL."""
    name = pl.col(column.name)
    broken = name.is_null() if column.required else pl.lit(value=False)
    if column.kind == "number":
        broken = broken | name.is_nan().fill_null(value=False)
        broken = broken | name.is_infinite().fill_null(value=False)
    if column.minimum is not None:
        broken = broken | (name < column.minimum).fill_null(value=False)
    return pl.when(broken).then(pl.lit(column.name))


def _rejects(
    parsed: Parsed,
    named: pl.DataFrame,
    faults: pl.Series,
    table: Table,
    line_text: Callable[[int], str],
) -> pl.DataFrame:
    at = faults.is_not_null().arg_true()
    lines = named["line"].gather(at).to_list()
    columns = faults.gather(at).to_list()
    source = parsed.strings if parsed.strings is not None else parsed.frame
    found = [source[column][row] for row, column in zip(at.to_list(), columns, strict=True)]
    reasons = [_reason(table.column(c), value) for c, value in zip(columns, found, strict=True)]
    texts = [line_text(line) for line in lines]
    return pl.DataFrame(
        {"line": lines, "column": columns, "reason": reasons, "text": texts}, schema=REJECTS_SCHEMA
    )


def _reason(column: Column, value: object) -> str:
    if value is None or value == "":
        return f"is empty, expected {_WANTED[column.kind]}"
    if column.minimum is not None and _is_below(value, column.minimum):
        return f"is {value}, expected at least {column.minimum:g}"
    return f"is '{str(value)[:60]}', expected {_WANTED[column.kind]}"


def _is_below(value: object, minimum: float) -> bool:
    try:
        return float(str(value)) < minimum
    except ValueError:
        return False


def _count(frame: pl.DataFrame, named: pl.DataFrame, table: Table, counts: Counts) -> None:
    for column in table.columns:
        if column.kind in {"id", "text"} and not column.often_absent:
            unknown = named[column.name].is_null()
            spellings = frame[column.name].filter(unknown).fill_null("").value_counts()
            for spelling, rows in spellings.iter_rows():
                counts.missing[column.name, spelling] += rows
        if column.usual_maximum is not None:
            above = int((named[column.name] > column.usual_maximum).sum())
            if above:
                counts.above[column.name] += above
