"""Staged columns: one raw file per column, which is written in blocks and read in pieces."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tracekit.intake.read.coded import DTYPES, LINE
from tracekit.store.tables import Table


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
