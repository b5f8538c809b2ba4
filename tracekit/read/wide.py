"""Wide tables: parsed as they stand, a column per measure, then a row per measure that is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.read.coded import LINE, CodedRows
from tracekit.read.keys import Keys
from tracekit.read.plan import key_kinds
from tracekit.sources import Match, Unpivot
from tracekit.tables import Table, all_tables


@dataclass(frozen=True)
class Layout:
    """A file's table as its lines have it, and the place of each column in a line."""

    table: Table
    positions: Mapping[str, int]


def layout_of(match: Match) -> Layout:
    """The layout of a recognised header; for wide tables, measures are columns of their own."""
    table = table_of(match)
    spread = match.format.unpivot
    if spread is None:
        return Layout(table, match.positions)
    value = table.column(spread.value_column)
    kept = [c for c in table.columns if c.name not in {spread.name_column, spread.value_column}]
    measures = [replace(value, name=name, required=False, often_absent=True) for name in match.wide]
    return Layout(replace(table, columns=(*kept, *measures)), {**match.positions, **match.wide})


def table_of(match: Match) -> Table:
    """The base table a recognised header belongs to."""
    return all_tables()[match.format.table]


def unpivot(rows: CodedRows, match: Match, keys: Keys) -> CodedRows:
    """The rows of the base table: as they are, or one for each measure of a wide row.

    Measures of one line follow each other in the order of the header.
    """
    spread = match.format.unpivot
    return rows if spread is None else _spread(rows, match, spread, keys)


def _spread(rows: CodedRows, match: Match, spread: Unpivot, keys: Keys) -> CodedRows:
    measures = sorted(match.wide, key=lambda name: match.wide[name])
    # a key for every measure the header has, in its order, whether or not it has values
    kind = key_kinds(table_of(match)).index(spread.name_column)
    names = keys.encode(kind, pl.Series(measures, dtype=pl.String))
    values = np.stack([rows.columns[name].astype(np.float64) for name in measures], axis=1)
    line, measure = np.nonzero(~np.isnan(values))
    kept = {name: column[line] for name, column in rows.columns.items() if name not in match.wide}
    spread_columns: dict[str, NDArray[np.generic]] = {
        spread.name_column: names[measure],
        spread.value_column: values[line, measure],
    }
    return CodedRows({**kept, **spread_columns, LINE: rows.columns[LINE][line]}, rows.rejects)
