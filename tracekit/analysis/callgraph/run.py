"""Rebuilds all call graphs of a store, a few hundred thousand rows at a time, into frames."""

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

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit._version import VERSION
from tracekit.analysis.callgraph import MODE, MODES, Mode
from tracekit.analysis.callgraph.graph import Graph, rebuild
from tracekit.analysis.callgraph.ledger import UNITS, Totals
from tracekit.analysis.callgraph.places import StoreNames
from tracekit.analysis.callgraph.records import (
    ROWS_AT_ONCE,
    Part,
    distinct,
    open_parts,
    ranges,
    read,
)
from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.crew import Alone, Crew, OnProgress, Workers
from tracekit.base.errors import TracekitError
from tracekit.base.files.result_folder import ResultFolder
from tracekit.base.progress import SILENT, Progress
from tracekit.base.shown import Shown
from tracekit.store.folder import Store


def calls_frame(graph: Graph) -> pl.DataFrame:
    """Return one row per call, sorted by trace and path.

    Columns: trace_key, call (number within the trace), parent (call that made it, NULL at the top
    of a tree), rpc_id, depth, upstream_key, downstream_key, rpc_type, interface_key, time_ms,
    response_time_ms, repeats, fan_out (calls it made), by_caller, by_callee, contradicts (whether
    it names another upstream than the service that its parent called). An inserted call has no
    rpc_type and no response time.
    """
    calls, tree, records = graph.calls, graph.tree, graph.records
    number = _numbers_within_trace(graph)
    path = graph.places.path[calls.place]
    types = pl.Series([*records.types, None], dtype=pl.String)
    frame = pl.DataFrame(
        {
            "trace_key": records.traces[graph.trace].astype(np.int32),
            "call": number,
            "parent": np.where(tree.parent >= 0, number[np.maximum(tree.parent, 0)], -1),
            "rpc_id": records.paths.text.gather(path),
            "depth": tree.depth,
            "upstream_key": calls.upstream,
            "downstream_key": calls.downstream,
            "rpc_type": types.gather(calls.kind),
            "interface_key": calls.interface,
            "time_ms": calls.time_ms,
            "response_time_ms": calls.duration_ms,
            "repeats": calls.repeats,
            "fan_out": fan_out(graph),
            "by_caller": calls.by_caller,
            "by_callee": calls.by_callee,
            "contradicts": tree.contradicts,
        },
        nan_to_null=True,
    )
    absent = ("parent", "upstream_key", "downstream_key", "interface_key")
    return frame.with_columns(pl.when(pl.col(name) >= 0).then(name).alias(name) for name in absent)


def fan_out(graph: Graph) -> IntArray:
    """Return how many calls each call made, repeats counted, int64 of shape (calls,)."""
    made = np.flatnonzero(graph.tree.parent >= 0)
    counted = np.bincount(
        graph.tree.parent[made], weights=graph.calls.repeats[made], minlength=len(graph.calls)
    )
    return counted.astype(np.int64)


def _numbers_within_trace(graph: Graph) -> IntArray:
    """Calls counted from 0 in each trace."""
    first = np.searchsorted(graph.trace, np.arange(len(graph.records.traces)))
    numbers: IntArray = np.arange(len(graph.calls)) - first[graph.trace]
    return numbers


def traces_frame(graph: Graph, rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per trace, sorted by trace_key.

    Columns: trace_key, start_ms, end_ms (first and last record), records, calls (repeats counted,
    without inserted ones), inserted, left_out (always 0), contradicting (calls that contradict
    their parent), missing_calls (rpc ids without a record), extra_calls (calls beyond one per rpc
    id), depth, services, trees, connected (one tree without contradicting calls), files (that hold
    the trace), first_part, last_part (the smallest and the largest number of these files).
    """
    seen = rows.group_by("trace_key").agg(
        pl.col("time_ms").min().alias("start_ms"),
        pl.col("time_ms").max().alias("end_ms"),
        pl.len().cast(pl.Int64).alias("records"),
        pl.col("part").n_unique().cast(pl.Int64).alias("files"),
        pl.col("part").min().alias("first_part"),
        pl.col("part").max().alias("last_part"),
    )
    counts = pl.DataFrame(_counts(graph)).with_columns(
        connected=(pl.col("trees") == 1) & (pl.col("contradicting") == 0)
    )
    files = ("files", "first_part", "last_part")
    joined = seen.join(counts, on="trace_key", how="inner", validate="1:1").sort("trace_key")
    return joined.select(pl.exclude(*counts.columns[1:], *files), *counts.columns[1:], *files)


def _counts(graph: Graph) -> dict[str, IntArray]:
    calls = graph.calls
    real = calls.by_caller | calls.by_callee
    tops = distinct(calls.place[graph.tree.parent < 0])
    traces = len(graph.records.traces)
    depth = np.zeros(traces, dtype=np.int64)
    np.maximum.at(depth, graph.trace, graph.tree.depth)
    return {
        "trace_key": graph.records.traces.astype(np.int32),
        "calls": _sum(graph, real),
        "inserted": _sum(graph, ~real),
        "left_out": np.zeros(traces, dtype=np.int64),
        "contradicting": _sum(graph, real & graph.tree.contradicts),
        "missing_calls": graph.ledger.of("missing_call"),
        "extra_calls": graph.ledger.of("reused_rpc_id"),
        "depth": depth,
        "services": _services(graph),
        "trees": np.bincount(graph.places.trace[tops], minlength=traces),
    }


def _sum(graph: Graph, chosen: BoolArray) -> IntArray:
    """The number of chosen calls of each trace, repeats counted."""
    counted = np.bincount(
        graph.trace[chosen],
        weights=graph.calls.repeats[chosen],
        minlength=len(graph.records.traces),
    )
    return counted.astype(np.int64)


def _services(graph: Graph) -> IntArray:
    """Distinct services that each trace's calls name."""
    names = np.concatenate([graph.calls.upstream, graph.calls.downstream])
    size = int(names.max(initial=0)) + 1
    keys = np.tile(graph.trace, 2) * size + names
    named = distinct(keys[names >= 0])
    return np.bincount(named // size, minlength=len(graph.records.traces))


def ledger_frame(graph: Graph) -> pl.DataFrame:
    """Return the defects of each trace: trace_key, defect, action, count; sorted.

    ``defect`` and ``action`` are of type Enum, which takes less memory than text.
    """
    ledger = graph.ledger.frame()
    keys = pl.Series("trace_key", graph.records.traces.astype(np.int32))
    return ledger.select(keys.gather(ledger["trace"]), "defect", "action", "count")


#: calls, traces and ledger of a piece.
Piece = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]


@dataclass(frozen=True)
class PieceTask:
    """A task for a worker: rebuild the traces with keys ``first`` to ``last``, both included."""

    parts: list[Part]
    first: int
    last: int
    mode: Mode

    def run(self, on_progress: OnProgress) -> Piece | None:
        """Return the frames of calls, traces and defects; None if no call has such a key."""
        del on_progress  # a piece is short
        rows = read(self.parts, self.first, self.last)
        if not rows.height:
            return None
        graph = rebuild(rows, mode=self.mode)
        return (
            calls_frame(graph),
            traces_frame(graph, rows),
            ledger_frame(graph),
        )


#: A dictionary of ids may grow to this before a column falls back to plain text.
_DICTIONARY_BYTES = 2**25


class Folder:
    """A writer of Parquet files into one folder, piece by piece; use it as a context manager.

    Parameters
    ----------
    path : the folder; None if nothing is to be written
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
        """Append the rows of a frame with a column ``trace_key`` to ``<name>.parquet``."""
        if self._path is not None:
            self._write(name, self._names.table(frame))

    def whole(self, name: str, frame: pl.DataFrame) -> None:
        """Write a complete result to ``<name>.parquet``, with ids in place of keys."""
        if self._path is not None:
            self._write(name, self._names.named(frame).to_arrow())

    def files(self) -> Iterator[str]:
        """Yield the names of the written files."""
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
    """The totals over all call graphs of a store, returned by ``callgraph``.

    Parameters
    ----------
    counts : dict of str to int
        Sums of ``traces_frame``: records, calls, inserted, left_out, contradicting. Numbers of
        traces: traces, connected, split (in several files), with_missing_calls,
        with_reused_rpc_ids, with_left_out_calls, with_contradicting_calls, unaffected (in none of
        the last four).
    ledger : DataFrame
        defect, action, count, unit of count, traces (number of traces with the defect).
    shapes : DataFrame
        measure (calls, depth or services of a trace, fan_out of a call), value, count.
    edges : DataFrame
        upstream, downstream, rpc_type, calls, response times, weight.
    services : DataFrame
        service, calls, traces, calls_made; the busiest first.
    files : tuple of str
        The names of the written files.
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
    rows_at_once: int = ROWS_AT_ONCE,
    jobs: int | None = None,
    crew: Crew | None = None,
    progress: Progress = SILENT,
) -> CallGraphs:
    """Rebuild the call graphs of a store, and count the defects of their records.

    Parameters
    ----------
    out : folder for calls, traces, ledger, edges, services and shapes as Parquet
    mode : ``naive`` or ``repair``, see ``tracekit.analysis.callgraph.graph.rebuild``
    rows_at_once : rows that a process holds in memory; the results do not depend on it
    jobs : number of processes; by default one for a small store, else one for each core
    crew : workers to use instead of ``jobs`` processes; they are closed at the end

    Raises TracekitError for an unknown mode or a store without calls.
    """
    chosen = _mode(mode)
    parts = open_parts(store)
    names, totals = StoreNames(store), Totals()
    pieces = ranges(parts, rows_at_once)
    with _folder(out, store, chosen) as path, Folder(path, names) as folder:
        with progress.task("callgraph", len(pieces), "pieces") as task:
            for piece in _rebuilt(parts, pieces, chosen, crew or _crew(jobs, len(pieces))):
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


def _mode(mode: str) -> Mode:
    for one in MODES:
        if mode == one:
            return one
    raise TracekitError(
        f"no mode '{mode}'", hint=f"modes of tracekit callgraph: {', '.join(MODES)}"
    )


def _crew(jobs: int | None, pieces: int) -> Crew:
    """Processes of this machine; few pieces are done sooner than a second process starts."""
    size = min(jobs or ((os.cpu_count() or 1) if pieces >= _PARALLEL_FROM_PIECES else 1), pieces)
    return Workers(size) if size > 1 else Alone()


def _rebuilt(
    parts: list[Part],
    pieces: Sequence[tuple[int, int]],
    mode: Mode,
    crew: Crew,
) -> Iterator[Piece | None]:
    """The pieces in their order; the crew is a few pieces ahead, so that memory stays small."""
    waiting = iter(pieces)
    under_way: deque[Future[Piece | None]] = deque()

    def start(count: int) -> None:
        for first, last in itertools.islice(waiting, count):
            task = PieceTask(parts, first, last, mode)
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
