"""Rebuilds all call graphs of a store, a few hundred thousand rows at a time."""

import contextlib
import dataclasses
import itertools
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit._version import VERSION
from tracekit.analysis.callgraph import frames
from tracekit.analysis.callgraph.declared import MODE, MODES, Mode
from tracekit.analysis.callgraph.graph import rebuild
from tracekit.analysis.callgraph.ledger import UNITS
from tracekit.analysis.callgraph.parts import ROWS_AT_ONCE, Part, open_parts, ranges, read
from tracekit.analysis.callgraph.places import StoreNames
from tracekit.analysis.callgraph.totals import Totals
from tracekit.base.crew.crew import Alone, Crew, OnProgress, Workers
from tracekit.base.errors import TracekitError
from tracekit.base.files.result_folder import ResultFolder
from tracekit.base.progress import SILENT, Progress
from tracekit.base.shown import Shown
from tracekit.store.folder import Store

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


_PARALLEL_FROM_PIECES = 4

CALLS_FOLDER = ResultFolder(what="folder of call graphs", schema="tracekit/calls/1")


@dataclass(frozen=True, kw_only=True, repr=False)
class CallGraphs(Shown):
    """The totals of all call graphs of a store.

    Parameters
    ----------
    counts : dict of str to int
        traces, records, calls, inserted, left_out, contradicting, connected, with_missing_calls,
        with_reused_rpc_ids, with_left_out_calls, with_contradicting_calls, unaffected, split.
    ledger : DataFrame
        defect, action, count, unit, traces.
    shapes : DataFrame
        measure, value, count.
    edges : DataFrame
        upstream, downstream, rpc_type, calls, response times, weight.
    services : DataFrame
        service, calls, traces, calls_made; the busiest first.
    files : tuple of str
        What was written, if anything.
    """

    mode: Mode
    counts: dict[str, int]
    ledger: pl.DataFrame
    shapes: pl.DataFrame
    edges: pl.DataFrame
    services: pl.DataFrame
    files: tuple[str, ...]


def callgraph(
    store: Store,
    out: Path | None = None,
    *,
    mode: str = MODE,
    move: bool = True,
    rows_at_once: int = ROWS_AT_ONCE,
    jobs: int | None = None,
    crew: Crew | None = None,
    progress: Progress = SILENT,
) -> CallGraphs:
    """Rebuild the call graphs of a store, and count what was wrong with their records.

    Parameters
    ----------
    out : folder for calls, traces, ledger, edges, services and shapes as Parquet
    mode : ``naive`` or ``repair``, see ``tracekit.analysis.callgraph.graph.rebuild``
    move : see ``tracekit.analysis.callgraph.graph.by_name``
    rows_at_once : rows in memory; the results do not depend on it
    jobs : processes; as many as there are cores if not given, one for a small store
    crew : who rebuilds the pieces, instead of this process; closed at the end

    Raises TracekitError for an unknown mode or a store without calls.
    """
    chosen = _known(mode)
    parts = open_parts(store)
    names, totals = StoreNames(store), Totals()
    pieces = ranges(parts, rows_at_once)
    with _folder(out, store, chosen) as path, Folder(path, names) as folder:
        with progress.task("callgraph", len(pieces), "pieces") as task:
            for piece in _rebuilt(
                parts, pieces, chosen, crew or _crew(jobs, len(pieces)), move=move
            ):
                if piece is not None:
                    _take(piece, totals, folder)
                task.advance(1)
        result = _result(chosen, totals, names)
        for name in ("edges", "services", "shapes"):
            folder.whole(name, getattr(result, name))
        return dataclasses.replace(result, files=tuple(folder.files()))


@contextmanager
def _folder(out: Path | None, store: Store, mode: Mode) -> Iterator[Path | None]:
    """A folder to write to; it replaces ``out`` if all goes well."""
    if out is None:
        yield None
        return
    document = {"tool_version": VERSION, "store": store.path.name, "mode": mode}
    with CALLS_FOLDER.writing(out, document) as made:
        yield made


def _known(mode: str) -> Mode:
    for known in MODES:
        if mode == known:
            return known
    raise TracekitError(
        f"no mode '{mode}'", hint=f"modes of tracekit callgraph: {', '.join(MODES)}"
    )


def _crew(jobs: int | None, pieces: int) -> Crew:
    """Processes of this machine; a piece is done before a second one has started."""
    size = min(jobs or ((os.cpu_count() or 1) if pieces >= _PARALLEL_FROM_PIECES else 1), pieces)
    return Workers(size) if size > 1 else Alone()


def _rebuilt(
    parts: list[Part],
    pieces: Sequence[tuple[int, int]],
    mode: Mode,
    crew: Crew,
    *,
    move: bool,
) -> Iterator[Piece | None]:
    """The pieces in their order; a crew is a few of them ahead, so that memory stays small."""
    waiting = iter(pieces)
    under_way: deque[Future[Piece | None]] = deque()

    def start(count: int) -> None:
        for first, last in itertools.islice(waiting, count):
            task = PieceTask(parts, first, last, mode, move)
            under_way.append(crew.submit(task, lambda *_: None))

    try:
        start(crew.size + (crew.size > 1))
        while under_way:
            yield under_way.popleft().result()
            start(1)
    finally:
        crew.close()


def _take(piece: Piece, totals: Totals, folder: Folder) -> None:
    calls, traces, ledger = piece
    totals.add(calls, traces, ledger)
    texts = ledger.with_columns(pl.col("defect", "action").cast(pl.String))
    for name, frame in (("calls", calls), ("traces", traces), ("ledger", texts)):
        folder.append(name, frame)


def _result(mode: Mode, totals: Totals, names: StoreNames) -> CallGraphs:
    units = pl.DataFrame({"defect": list(UNITS), "unit": list(UNITS.values())})
    ledger = totals.ledger().with_columns(pl.col("defect", "action").cast(pl.String))
    return CallGraphs(
        mode=mode,
        counts=totals.traces(),
        ledger=ledger.join(units, on="defect", how="left", maintain_order="left").select(
            "defect", "action", "count", "unit", "traces"
        ),
        shapes=totals.shapes(),
        edges=names.named(totals.edges()).sort(
            "upstream", "downstream", "rpc_type", nulls_last=True
        ),
        services=names.named(totals.services()),
        files=(),
    )
