"""Staged columns, and the store's keys for the names in them.

A column is one raw file, which is written in blocks and read in pieces.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

import numpy as np
import polars as pl
from numpy.typing import DTypeLike, NDArray

from tracekit.base.arrays import Int32Array
from tracekit.intake.read.coded import DTYPES, LINE, kind_of
from tracekit.store.tables import Column, Table


class ColumnsWriter:
    """Appends rows to the column files of a folder; use as a context manager."""

    def __init__(self, folder: Path, table: Table) -> None:
        self._folder = folder
        self._types = column_types(table)
        self._files: dict[str, IO[bytes]] = {}
        self._open = ExitStack()
        self.rows = 0

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        for name in self._types:
            path = self._folder / f"{name}.bin"
            self._files[name] = self._open.enter_context(path.open("wb", buffering=1 << 18))
        return self

    def append(self, columns: Mapping[str, NDArray[np.generic]]) -> None:
        """Append rows: ``columns`` has every column of the table and ``line``, each (rows,)."""
        for name, file in self._files.items():
            file.write(np.ascontiguousarray(columns[name], dtype=self._types[name]).data)
        self.rows += int(columns[LINE].size)

    def __exit__(self, *_: object) -> None:
        self._open.close()


def column_types(table: Table) -> Mapping[str, DTypeLike]:
    """The type of each staged column of a table."""
    return {column.name: DTYPES[column.kind] for column in table.columns} | {LINE: np.int64}


class Columns:
    """The staged columns of a folder, read in pieces."""

    def __init__(self, folder: Path, table: Table, rows: int) -> None:
        self._folder = folder
        self._types = column_types(table)
        self.rows = rows

    def read(self, name: str, start: int, stop: int) -> NDArray[np.generic]:
        """Rows ``start`` to ``stop`` of a column, shape (stop - start,)."""
        kind = np.dtype(self._types[name])
        path = self._folder / f"{name}.bin"
        return np.fromfile(path, kind, count=stop - start, offset=start * kind.itemsize)


@dataclass(frozen=True)
class Names:
    """The store's keys for the file's keys of one kind.

    Attributes
    ----------
    keys : the store's key of each of the file's keys, or the rank of each text; int32
    count : the number of keys in the store, or of texts in the file
    texts : for a text column, the texts in the order of their rank
    """

    keys: Int32Array
    count: int
    texts: pl.Series | None = None


class Keys:
    """The store's keys for each column of a table."""

    def __init__(self, names: Mapping[str, Names]) -> None:
        self._names = names
        # the key of NULL is -1, which as an index means the last place
        self._keys = {kind: np.append(n.keys, np.int32(-1)) for kind, n in names.items()}

    def of(self, column: Column) -> Int32Array | None:
        """The store's key of each of the file's keys, and -1 at the end; None for other columns."""
        return self._keys[kind_of(column)] if column.kind in {"id", "text"} else None

    def count(self, column: Column) -> int:
        """The number of different keys that a column may have."""
        return self._names[kind_of(column)].count

    def texts(self, column: Column) -> pl.Series:
        """The texts of a text column, in the order of their rank."""
        texts = self._names[kind_of(column)].texts
        assert texts is not None  # noqa: S101 - given for every text column
        return texts
