"""Rows before sorting: numbers, and integer keys in place of names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.base.arrays import Int32Array
from tracekit.intake.read.plan import key_kinds, kind_of
from tracekit.intake.read.validate import CleanBlock
from tracekit.store.tables import Column, Table


class Keys(Protocol):
    """Gives int32 keys, 0, 1, 2, ..., within each kind of name."""

    def encode(self, kind: int, names: pl.Series) -> Int32Array:
        """The key of each name, -1 for NULL, shape (names,)."""

    def texts(self, kind: int) -> Iterator[pa.Array]:
        """The names of a kind in the order of their keys, in arrays of large strings."""


class PlainKeys:
    """Keys by dictionary: they need no compiled code, which pays for small files."""

    def __init__(self, kinds: int) -> None:
        self._keys: list[dict[str, int]] = [{} for _ in range(kinds)]

    def encode(self, kind: int, names: pl.Series) -> Int32Array:
        """The key of each name, -1 for NULL, shape (names,)."""
        keys = self._keys[kind]
        distinct = names.drop_nulls().unique(maintain_order=True)
        return coded(names, distinct, [keys.setdefault(name, len(keys)) for name in distinct])

    def texts(self, kind: int) -> Iterator[pa.Array]:
        """The names of a kind in the order of their keys."""
        names = pl.Series(list(self._keys[kind]), dtype=pl.String)
        # this type needs no cast, which would load pyarrow's compute functions
        yield names.to_arrow(compat_level=pl.CompatLevel.oldest())


def coded(names: pl.Series, distinct: pl.Series, keys: Sequence[int] | Int32Array) -> Int32Array:
    """The key of each name, from the keys of the distinct names; -1 for NULL; shape (names,)."""
    pairs = pl.DataFrame({"name": distinct, "key": pl.Series(keys, dtype=pl.Int32)})
    wanted = pl.DataFrame({"name": names})
    joined = wanted.join(pairs, on="name", how="left", maintain_order="left")
    return joined["key"].fill_null(-1).to_numpy()


DTYPES = {"time": np.int64, "number": np.float64, "id": np.int32, "text": np.int32}
LINE = "line"


@dataclass(frozen=True)
class CodedRows:
    """Rows of a base table in the order of the file, and the broken rows.

    Attributes
    ----------
    columns : by column name, and ``line``; each of shape (rows,). Times and lines are int64,
        numbers are float64 with NaN for NULL, names are int32 keys of the file with -1 for NULL
    rejects : ``line, column, reason, text``
    """

    columns: dict[str, NDArray[np.generic]]
    rejects: pl.DataFrame

    @property
    def rows(self) -> int:
        """The number of good rows."""
        return int(self.columns[LINE].size)


def code(clean: CleanBlock, table: Table, keys: Keys) -> CodedRows:
    """The rows of a clean block with keys in place of names."""
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
    """The columns of several parts, joined and sorted by line."""
    joined = {
        name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns
    }
    order = np.argsort(joined[LINE], kind="stable")
    return {name: values[order] for name, values in joined.items()}
