"""Writes the results of ``tracekit callgraph`` as Parquet, piece by piece."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.callgraph.names import Names

#: One file per trace-wise result; the totals are small and written at the end.
PIECEWISE = ("calls", "traces", "ledger")
#: A dictionary of ids may grow to this before a column falls back to plain text.
_DICTIONARY_BYTES = 2**25


class Folder:
    """A folder of results; use as a context manager. Without a path nothing is written.

    Files are written under a hidden name and get their own at the end, so a run that was
    interrupted leaves no half result that looks whole.
    """

    def __init__(self, path: Path | None, names: Names) -> None:
        self._path, self._names = path, names
        self._writers: dict[str, pq.ParquetWriter] = {}

    def __enter__(self) -> Self:
        if self._path is not None:
            self._path.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name, writer in self._writers.items():
            with contextlib.suppress(OSError):
                writer.close()
            if kind is None:
                self._hidden(name).replace(self._file(name))
            else:
                self._hidden(name).unlink(missing_ok=True)

    def append(self, name: str, frame: pl.DataFrame) -> None:
        """Add rows that carry ``trace_key`` to ``<name>.parquet``."""
        if self._path is not None:
            self._write(name, self._names.table(frame))

    def whole(self, name: str, frame: pl.DataFrame) -> None:
        """Write a result, with ids for keys, to ``<name>.parquet``."""
        if self._path is not None:
            self._write(name, self._names.named(frame).to_arrow())

    def files(self) -> Iterator[str]:
        """Names of what was written."""
        yield from (f"{name}.parquet" for name in self._writers)

    def _write(self, name: str, table: pa.Table) -> None:
        if name not in self._writers:
            self._writers[name] = pq.ParquetWriter(
                self._hidden(name),
                table.schema,
                compression="zstd",
                store_schema=False,
                dictionary_pagesize_limit=_DICTIONARY_BYTES,
            )
        self._writers[name].write_table(table)

    def _hidden(self, name: str) -> Path:
        return self._folder / f".{name}.parquet.new"

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.parquet"

    @property
    def _folder(self) -> Path:
        if self._path is None:
            raise AssertionError("nothing is written without a path")
        return self._path
