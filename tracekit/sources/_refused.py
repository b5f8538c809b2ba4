"""Rows that a source's own rules refuse, apart from the good ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from tracekit.sources._cluster import Broken


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What a row must not be.

    Parameters
    ----------
    column : str
        The column that is wrong where ``broken`` holds.
    broken : Expr
        True for a row that breaks the rule.
    expected : str
        What would be right: ``1 or 2``.
    """

    column: str
    broken: pl.Expr
    expected: str


def refuse(
    rows: pl.DataFrame, rules: Iterable[Rule], table: str
) -> tuple[pl.DataFrame, list[Broken]]:
    """The rows that keep every rule, and a rejected row for each other one, by line.

    Parameters
    ----------
    rows : DataFrame
        With the column ``line``.
    table : str
        The base table whose rejects take the broken rows.
    """
    found: list[Broken] = []
    for rule in rules:
        wrong = rule.broken.fill_null(value=False)
        bad = rows.filter(wrong)
        if bad.height:
            found += [_broken(row, rule, table) for row in bad.iter_rows(named=True)]
            rows = rows.filter(~wrong)
    return rows, sorted(found, key=lambda one: one.line)


def missing(*columns: str, expected: str = "a value") -> list[Rule]:
    """Rules that none of the columns is empty."""
    return [Rule(column=one, broken=pl.col(one).is_null(), expected=expected) for one in columns]


def _broken(row: dict[str, object], rule: Rule, table: str) -> Broken:
    value = row[rule.column]
    shown = "empty" if value is None else f"'{str(value)[:60]}'"
    # a name that ends so was added by a reader: the row stands in the file without it
    own = [one for name, one in row.items() if name != "line" and not name.endswith("\0")]
    text = ",".join("" if one is None else str(one) for one in own)
    return Broken(
        table=table,
        line=int(str(row["line"])),
        column=rule.column,
        reason=f"is {shown}, expected {rule.expected}",
        text=text,
    )
