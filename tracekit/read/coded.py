"""Rows as they wait to be sorted: numbers, and keys in the place of names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.read.keys import Keys
from tracekit.read.plan import key_kinds, kind_of
from tracekit.read.validate import CleanBlock
from tracekit.tables import Column, Table

DTYPES = {"time": np.int64, "number": np.float64, "id": np.int32, "text": np.int32}
LINE = "line"


@dataclass(frozen=True)
class CodedRows:
    """Rows of a base table in the order of the file, and the broken ones beside them.

    Attributes
    ----------
    columns : by column name, and ``line``; each of shape (rows,). Times and lines are int64,
        numbers float64 with NaN for NULL, names int32 keys of the file with -1 for NULL
    rejects : ``line, column, reason, text``
    """

    columns: dict[str, NDArray[np.generic]]
    rejects: pl.DataFrame

    @property
    def rows(self) -> int:
        """The number of good rows."""
        return int(self.columns[LINE].size)


def code(clean: CleanBlock, table: Table, keys: Keys) -> CodedRows:
    """Put keys in the place of a clean block's names."""
    kinds = key_kinds(table)
    columns = {
        column.name: _coded(clean.frame[column.name], column, kinds, keys)
        for column in table.columns
    }
    columns[LINE] = clean.frame[LINE].to_numpy()
    return CodedRows(columns, clean.rejects)


def _coded(
    values: pl.Series, column: Column, kinds: tuple[str, ...], keys: Keys
) -> NDArray[np.generic]:
    if column.kind in {"id", "text"}:
        return keys.encode(kinds.index(kind_of(column)), values)
    if column.kind == "number":
        return values.fill_null(np.nan).to_numpy()
    return values.to_numpy()


def in_line_order(parts: list[CodedRows]) -> dict[str, NDArray[np.generic]]:
    """The columns of several parts of one block, put together in the order of lines."""
    joined = {
        name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns
    }
    order = np.argsort(joined[LINE], kind="stable")
    return {name: values[order] for name, values in joined.items()}
