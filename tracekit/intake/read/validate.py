"""The rules for every row; the spellings of an unknown name become NULL and are counted."""

from collections import Counter
from dataclasses import dataclass, field

import polars as pl

from tracekit.intake.read.parse import REJECTS_SCHEMA, Parsed
from tracekit.store.tables import Column, Table

_WANTED = {"time": "a whole number of ms", "number": "a number", "id": "an id", "text": "a word"}


@dataclass(frozen=True)
class CleanBlock:
    """Clean rows of a base table with text ids and ``line``, and the rejects of the same lines."""

    frame: pl.DataFrame
    rejects: pl.DataFrame


@dataclass
class Counts:
    """Counts of unusual values in rows that were taken.

    Attributes
    ----------
    missing : by column and spelling, the number of unknown names
    above : by column, the number of values over the usual maximum
    """

    missing: Counter[tuple[str, str]] = field(default_factory=Counter)
    above: Counter[str] = field(default_factory=Counter)


def validate(
    parsed: Parsed,
    table: Table,
    missing_names: frozenset[str],
    counts: Counts,
) -> CleanBlock:
    """The clean rows and the rejects of parsed rows; adds to ``counts``."""
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
    """Lines whose text for an optional number is no number; an absent number is no fault."""
    if column.required or column.kind != "number" or column.name in parsed.numbers:
        return []
    if not parsed.frame[column.name].null_count():
        return []
    lines = parsed.frame.filter(pl.col(column.name).is_null())["line"].to_list()
    return [line for line in lines if parsed.found(line, column.name)]


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
    """The rejects of the rows with a fault: column, value found, and what would be right."""
    at = faults.is_not_null().arg_true()
    lines = parsed.frame["line"].gather(at).to_list()
    columns = faults.gather(at).to_list()
    where = list(zip(lines, columns, strict=True))
    return pl.DataFrame(
        {
            "line": lines,
            "column": columns,
            "reason": [_reason(table.column(c), parsed.found(line, c)) for line, c in where],
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
