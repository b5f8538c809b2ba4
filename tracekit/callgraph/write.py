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

#: A dictionary of ids may grow to this before a column falls back to plain text.
_DICTIONARY_BYTES = 2**25


class Folder:
    """A folder of results, written as they come; use as a context manager.

    Parameters
    ----------
    path : where to write; None: nothing is written
    """

    def __init__(self, path: Path | None, names: Names) -> None:
        self._path, self._names = path, names
        self._writers: dict[str, pq.ParquetWriter] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for writer in self._writers.values():
            if kind is None:
                writer.close()
            else:
                with contextlib.suppress(OSError, pa.ArrowException):
                    writer.close()

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
            assert self._path is not None  # noqa: S101 - as the callers saw
            self._writers[name] = pq.ParquetWriter(
                self._path / f"{name}.parquet",
                table.schema,
                compression="zstd",
                store_schema=False,
                dictionary_pagesize_limit=_DICTIONARY_BYTES,
            )
        self._writers[name].write_table(table)
