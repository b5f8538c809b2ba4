"""Reads a store's calls by ranges of traces, so that memory does not grow with the trace.

Each file of the store holds the rows of one source file, sorted by trace. Most traces are in one
file; some continue in another (alibaba/clusterdata issue 168), so a range of trace keys is read
from every file whose statistics say that it may hold some of it. A trace is never divided.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray, Int32Array, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.files.places import parquet_metadata, scan_parquet
from tracekit.store.folder import Store

#: Rows that are worked on at once; about 400 bytes each while that lasts.
ROWS_AT_ONCE = 500_000
_KEY = "trace_key"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A file of the store, and for each of its row groups the traces it spans and its rows."""

    path: Path
    number: int
    low: IntArray
    high: IntArray
    rows: IntArray


def open_parts(store: Store) -> list[Part]:
    """The store's files of calls; raises TracekitError when it has none with a row."""
    entries = store.manifest.parts("call")
    files = store.table_files("call")
    parts = [_part(path, e.part) for path, e in zip(files, entries, strict=True) if e.rows]
    if not parts:
        raise TracekitError(
            f"{store.path} has no calls, so there is no call graph to rebuild",
            hint="ingest calls too: MSCallGraph files, or spans of OpenTelemetry or Jaeger",
        )
    return parts


def _part(path: Path, number: int) -> Part:
    metadata = parquet_metadata(path)
    column = metadata.schema.names.index(_KEY)
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    spans = [group.column(column).statistics for group in groups]
    return Part(
        path=path,
        number=number,
        low=np.array([span.min for span in spans], dtype=np.int64),
        high=np.array([span.max for span in spans], dtype=np.int64),
        rows=np.array([group.num_rows for group in groups], dtype=np.int64),
    )


def ranges(parts: list[Part], rows_at_once: int = ROWS_AT_ONCE) -> list[tuple[int, int]]:
    """Ranges of trace keys, first and last, that hold about ``rows_at_once`` rows each.

    It is assumed that the rows of a row group are spread evenly over the traces it spans.
    """
    low = np.concatenate([part.low for part in parts])
    high = np.concatenate([part.high for part in parts])
    rows = np.concatenate([part.rows for part in parts])
    edges, reached = _rows_below(low, high, rows)
    cuts = np.arange(1, int(reached[-1] // rows_at_once) + 1) * rows_at_once
    starts = np.unique(np.floor(np.interp(cuts, reached, edges)).astype(np.int64))
    first, last = int(low.min()), int(high.max())
    starts = starts[(starts > first) & (starts <= last)]
    firsts = [first, *starts.tolist()]
    return list(zip(firsts, [*(start - 1 for start in firsts[1:]), last], strict=True))


def _rows_below(low: IntArray, high: IntArray, rows: IntArray) -> tuple[IntArray, FloatArray]:
    """Trace keys, and the rows that are likely to lie below each."""
    edges = np.unique(np.concatenate([low, high + 1]))
    density = rows / (high + 1 - low)
    change = np.zeros(len(edges))
    np.add.at(change, np.searchsorted(edges, low), density)
    np.add.at(change, np.searchsorted(edges, high + 1), -density)
    gained = np.cumsum(change)[:-1] * np.diff(edges)
    return edges, np.concatenate([[0.0], np.cumsum(gained)])


def read(parts: list[Part], first: int, last: int) -> pl.DataFrame:
    """All rows of the traces of a range: the columns of ``call_keyed`` and ``part``."""
    frames = [
        scan_parquet(part.path)
        .filter(pl.col(_KEY).is_between(first, last))
        .with_columns(part=pl.lit(part.number, dtype=pl.Int32))
        for part in parts
        if ((part.low <= last) & (part.high >= first)).any()
    ]
    return pl.concat(pl.collect_all(frames))


def chunks(parts: list[Part], rows_at_once: int = ROWS_AT_ONCE) -> Iterator[pl.DataFrame]:
    """All rows, some hundred thousand at a time; each trace is whole in one of the frames."""
    for first, last in ranges(parts, rows_at_once):
        rows = read(parts, first, last)
        if rows.height:
            yield rows


# Functions of arrays of ids: the id that a group agrees on, the place of a key.

#: An id that is missing; and, of a group, that none of its ids is known.
UNKNOWN = -1
#: Of a group: its known ids disagree.
SEVERAL = -2


def agreed(ids: Int32Array, group: IntArray, groups: int) -> Int32Array:
    """The id that all known ids of each group agree on, int32 of shape (groups,).

    ``UNKNOWN`` where a group has no known id, ``SEVERAL`` where it has different ones. A negative
    group number puts a value in no group.
    """
    counted = (ids >= 0) & (group >= 0)
    low = np.full(groups, np.iinfo(np.int32).max, dtype=np.int32)
    high = np.full(groups, UNKNOWN, dtype=np.int32)
    np.minimum.at(low, group[counted], ids[counted])
    np.maximum.at(high, group[counted], ids[counted])
    return np.where(high < 0, UNKNOWN, np.where(low == high, high, SEVERAL)).astype(np.int32)


def most(ids: Int32Array, group: IntArray, groups: int) -> Int32Array:
    """The id that more than half of the known ids of each group have, int32 of shape (groups,).

    ``UNKNOWN`` without a known id, ``SEVERAL`` without a majority.
    """
    found = agreed(ids, group, groups)
    counted = np.flatnonzero((ids >= 0) & (group >= 0))
    counted = counted[found[group[counted]] == SEVERAL]
    if not len(counted):
        return found
    keys, count = np.unique(
        group[counted].astype(np.int64) * 2**31 + ids[counted], return_counts=True
    )
    of_group, name = np.divmod(keys, 2**31)
    known = np.bincount(group[counted], minlength=groups)
    winning = 2 * count > known[of_group]
    found[of_group[winning]] = name[winning]
    return found


def at_or(values: Int32Array, index: IntArray, default: int) -> Int32Array:
    """``values[index]``, and ``default`` where the index is negative."""
    if not len(values):
        return np.full(len(index), default, dtype=np.int32)
    return np.where(index >= 0, values[np.maximum(index, 0)], default).astype(np.int32)


def find(keys: IntArray, wanted: IntArray) -> IntArray:
    """The position of each wanted key in the sorted ``keys``, -1 for a key that is missing."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)


def distinct(values: IntArray) -> IntArray:
    """The distinct values, sorted; several times as fast as numpy's hashing on many values."""
    ordered: IntArray = np.sort(values)
    fresh = np.ones(len(ordered), dtype=np.bool_)
    fresh[1:] = ordered[1:] != ordered[:-1]
    return ordered[fresh]
