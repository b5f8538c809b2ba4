"""Pieces of the call graphs: a range of traces rebuilt anywhere, and their results as Parquet."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.analysis.callgraph import frames
from tracekit.analysis.callgraph.declared import Mode
from tracekit.analysis.callgraph.graph import rebuild
from tracekit.analysis.callgraph.names import StoreNames
from tracekit.analysis.callgraph.parts import Part, read
from tracekit.base.crew.crew import OnProgress

#: calls, traces and ledger of a piece.
Piece = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]


@dataclass(frozen=True)
class PieceTask:
    """Rebuild the traces with keys from ``first`` to ``last``."""

    parts: list[Part]
    first: int
    last: int
    mode: Mode
    move: bool

    def run(self, on_progress: OnProgress) -> Piece | None:
        """The frames of the piece; None where no call has such a key."""
        del on_progress  # a piece is short
        rows = read(self.parts, self.first, self.last)
        if not rows.height:
            return None
        graph = rebuild(rows, mode=self.mode, move=self.move)
        return (
            frames.calls_frame(graph),
            frames.traces_frame(graph, rows),
            frames.ledger_frame(graph),
        )


#: A dictionary of ids may grow to this before a column falls back to plain text.
_DICTIONARY_BYTES = 2**25


class Folder:
    """A folder of results, written as they come; use as a context manager.

    Parameters
    ----------
    path : where to write; None: nothing is written
    """

    def __init__(self, path: Path | None, names: StoreNames) -> None:
        self._path, self._names = path, names
        self._writers: dict[str, pq.ParquetWriter] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
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
