"""The records of whole traces as arrays, ready to be compared by position.

Records are read by ranges of traces, so that memory does not grow with the trace. Each file of the
store holds the rows of one source file, sorted by trace. Most traces are in one file; some continue
in another (alibaba/clusterdata issue 168). So a range of trace keys is read from every file whose
statistics say that it may hold a part of the range. A trace is never divided.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, Int32Array, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.files.places import parquet_metadata, scan_parquet
from tracekit.store.folder import Store

#: Rows that are processed at once; each takes about 400 bytes meanwhile.
ROWS_AT_ONCE = 500_000
_KEY = "trace_key"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A file of calls in the store, with first and last trace key and rows of each row group."""

    path: Path
    number: int
    low: IntArray
    high: IntArray
    rows: IntArray


def open_parts(store: Store) -> list[Part]:
    """Return the store's files of calls; raise TracekitError if no file has a row."""
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
    """Return ranges of trace keys (first and last, both included) of about ``rows_at_once`` rows.

    The size is estimated: rows of a row group count as evenly spread over its traces.
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
    """Trace keys, and the expected number of rows below each."""
    edges = np.unique(np.concatenate([low, high + 1]))
    density = rows / (high + 1 - low)
    change = np.zeros(len(edges))
    np.add.at(change, np.searchsorted(edges, low), density)
    np.add.at(change, np.searchsorted(edges, high + 1), -density)
    gained = np.cumsum(change)[:-1] * np.diff(edges)
    return edges, np.concatenate([[0.0], np.cumsum(gained)])


def read(parts: list[Part], first: int, last: int) -> pl.DataFrame:
    """Return the rows of ``call_keyed``, with ``part``, for trace keys first to last (included)."""
    frames = [
        scan_parquet(part.path)
        .filter(pl.col(_KEY).is_between(first, last))
        .with_columns(part=pl.lit(part.number, dtype=pl.Int32))
        for part in parts
        if ((part.low <= last) & (part.high >= first)).any()
    ]
    return pl.concat(pl.collect_all(frames))


def chunks(parts: list[Part], rows_at_once: int = ROWS_AT_ONCE) -> Iterator[pl.DataFrame]:
    """Yield frames of about ``rows_at_once`` rows, until all are read; no trace is divided."""
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
    """Return the id that all known ids of each group agree on, int32 of shape (groups,).

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
    """Return the id that most known ids of each group have, int32 of shape (groups,).

    ``UNKNOWN`` where no id is known, ``SEVERAL`` where no id is more than half of the known ones.
    """
    shared = agreed(ids, group, groups)
    counted = np.flatnonzero((ids >= 0) & (group >= 0))
    counted = counted[shared[group[counted]] == SEVERAL]
    if not len(counted):
        return shared
    keys, count = np.unique(
        group[counted].astype(np.int64) * 2**31 + ids[counted], return_counts=True
    )
    of_group, name = np.divmod(keys, 2**31)
    in_group = np.bincount(group[counted], minlength=groups)
    winning = 2 * count > in_group[of_group]
    shared[of_group[winning]] = name[winning]
    return shared


def at_or(values: Int32Array, index: IntArray, default: int) -> Int32Array:
    """Return ``values[index]``, and ``default`` where the index is negative."""
    if not len(values):
        return np.full(len(index), default, dtype=np.int32)
    return np.where(index >= 0, values[np.maximum(index, 0)], default).astype(np.int32)


def find(keys: IntArray, wanted: IntArray) -> IntArray:
    """Return the position of each wanted key in the sorted ``keys``, -1 for a missing key."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)


def distinct(values: IntArray) -> IntArray:
    """Return the distinct values, sorted.

    On many values this is several times as fast as numpy's hashing.
    """
    ordered: IntArray = np.sort(values)
    fresh = np.ones(len(ordered), dtype=np.bool_)
    fresh[1:] = ordered[1:] != ordered[:-1]
    return ordered[fresh]


#: What an rpc id must be. Real ids are up to 14 levels deep; the limit keeps a broken id from
#: costing a round of work for each of its levels.
PATH = r"^[0-9]+(\.[0-9]+){0,99}$"
NO_PATH = -1


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Distinct paths (rpc ids) and their ancestors, sorted as text; a path's code is its position.

    Parameters
    ----------
    text : Series of String, shape (paths,)
    parent : int32
        The code of the path without its last number, -1 for a path of one number.
    first : int32
        The code of the path's first number: ``0`` for ``0.1.2``.
    depth : int32
        The number of dots in the path.
    """

    text: pl.Series
    parent: Int32Array
    first: Int32Array
    depth: Int32Array


def encode(rpc_ids: pl.Series) -> tuple[Paths, Int32Array]:
    """Return the distinct paths, and the code of each rpc id; ``NO_PATH`` where it is no path."""
    distinct = rpc_ids.unique().drop_nulls()
    text = _with_ancestors(distinct.filter(distinct.str.contains(PATH)))
    # an enumeration in the order of the text gives each text its place in that order
    kind = pl.Enum(text)
    parent = _codes(_parents(text).cast(kind, strict=False))
    depth = text.str.count_matches(".", literal=True).cast(pl.Int32).to_numpy()
    paths = Paths(text=text, parent=parent, first=_firsts(parent, depth), depth=depth)
    return paths, _codes(rpc_ids.cast(kind, strict=False))


def _codes(values: pl.Series) -> Int32Array:
    return values.to_physical().cast(pl.Int32).fill_null(NO_PATH).to_numpy()


def _parents(text: pl.Series) -> pl.Series:
    """Each path without its last number; empty for a path of one number."""
    return text.str.strip_chars_end("0123456789").str.strip_suffix(".")


def _with_ancestors(text: pl.Series) -> pl.Series:
    """The paths and all their ancestors, sorted."""
    paths = text
    fresh = text
    while len(fresh):
        above = _parents(fresh).unique()
        fresh = above.filter((above != "") & ~above.is_in(paths.implode()))
        paths = pl.concat([paths, fresh])
    return paths.sort().rename("path")


def _firsts(parent: Int32Array, depth: Int32Array) -> Int32Array:
    first = np.arange(len(parent), dtype=np.int32)
    for _ in range(int(depth.max(initial=0))):
        first = np.where(parent[first] >= 0, parent[first], first).astype(np.int32)
    return first


#: Types of calls over the network; the called service records the call too.
REMOTE = ("http", "mq", "rpc")
#: Remote types that both ends always record, by the release's description.
TWICE = ("http", "rpc")
#: Types of calls of data stores; a data store calls no service.
STORES = ("db", "mc")


def in_order(rpc_types: pl.Series) -> list[str]:
    """Return the distinct types: remote calls first, calls to data stores last, each by name.

    The order matters where several calls share an rpc id: the first that can make calls is taken as
    the parent of the calls below.
    """
    distinct = rpc_types.unique().drop_nulls().to_list()
    return sorted(distinct, key=lambda name: (_class(name), name))


def _class(name: str) -> int:
    return 0 if name in REMOTE else 2 if name in STORES else 1


_IDS = ("upstream_key", "downstream_key", "interface_key")


@dataclass(frozen=True, kw_only=True)
class Records:
    """The records of complete traces as arrays of shape (records,), made by ``arrange``.

    They are sorted by trace, path, type, and then the calling end's before the called end's.

    Parameters
    ----------
    traces : int64, shape (traces,)
        Keys of the traces, sorted; ``trace`` has positions in it.
    types : list of str
        Types of calls, in the order of ``in_order``; ``kind`` has positions in it, and
        ``len(types)`` stands for a missing type.
    remote, twice, store : bool, shape (types + 1,)
        For each type: whether calls go over the network; whether both ends record them; whether
        they go to a data store.
    side : int8
        1: recorded by the calling end; -1: by the called end; 0: the call was too short to tell.
    duration_ms : float64
        Response time without its sign; NaN where it is missing.
    repeated : int64, shape (traces,)
        Number of records left out because they equal another record.
    not_a_path : int64, shape (traces,)
        Number of records left out because their rpc id is no path.
    """

    paths: Paths
    traces: IntArray
    types: list[str]
    remote: BoolArray
    twice: BoolArray
    store: BoolArray
    trace: IntArray
    path: Int32Array
    kind: Int32Array
    upstream: Int32Array
    downstream: Int32Array
    interface: Int32Array
    time_ms: IntArray
    side: Int32Array
    duration_ms: FloatArray
    repeated: IntArray
    not_a_path: IntArray


@dataclass(frozen=True, kw_only=True)
class Names:
    """Keys of the two services and the interface of each record, int32 of shape (records,)."""

    upstream: Int32Array
    downstream: Int32Array
    interface: Int32Array


def as_recorded(records: Records) -> Names:
    """Return copies of the names in ``records``, to be changed."""
    return Names(
        upstream=records.upstream.copy(),
        downstream=records.downstream.copy(),
        interface=records.interface.copy(),
    )


def arrange(rows: pl.DataFrame) -> Records:
    """Make records of rows of ``call_keyed``; the rows are of complete traces, in any order."""
    paths, path = encode(rows["rpc_id"])
    traces = distinct(rows["trace_key"].to_numpy().astype(np.int64))
    types = in_order(rows["rpc_type"])
    usable, broken = _sorted(rows, traces, path, types)
    repeat = usable.select(_same_as_before(usable.columns))["repeat"]
    once = usable.filter(~repeat)
    time = once["response_time_ms"].to_numpy()
    ids = {name: once[name].to_numpy() for name in _IDS}
    return Records(
        paths=paths,
        traces=traces,
        types=types,
        remote=_flags(types, REMOTE),
        twice=_flags(types, TWICE),
        store=_flags(types, STORES),
        trace=once["trace"].to_numpy(),
        path=once["path"].to_numpy(),
        kind=once["kind"].to_numpy(),
        upstream=ids["upstream_key"],
        downstream=ids["downstream_key"],
        interface=ids["interface_key"],
        time_ms=once["time_ms"].to_numpy(),
        side=np.sign(np.nan_to_num(time)).astype(np.int32),
        duration_ms=np.abs(time),
        repeated=_per_trace(usable.filter(repeat), traces),
        not_a_path=_per_trace(broken, traces),
    )


def _sorted(
    rows: pl.DataFrame, traces: IntArray, path: Int32Array, types: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows with a path, sorted and with codes for texts; and the rows without a path."""
    kind = rows["rpc_type"].cast(pl.Enum(types)).to_physical().cast(pl.Int32)
    coded = rows.select(
        pl.Series("trace", np.searchsorted(traces, rows["trace_key"].to_numpy())),
        pl.Series("path", path),
        kind.fill_null(len(types)).alias("kind"),
        pl.col("response_time_ms").cast(pl.Float64),
        "time_ms",
        *(pl.col(name).cast(pl.Int32).fill_null(UNKNOWN) for name in _IDS),
    )
    # a missing response time stands with those too quick to tell, between the two ends
    waiting = -pl.col("response_time_ms").fill_null(0)
    missing = pl.col("response_time_ms").is_null()
    is_path = pl.col("path") != NO_PATH
    ordered = coded.filter(is_path).sort(
        "trace", "path", "kind", waiting, "time_ms", *_IDS, missing
    )
    return ordered, coded.filter(~is_path)


def _same_as_before(columns: list[str]) -> pl.Expr:
    """Whether a row equals the row before it."""
    alike = (pl.col(name).eq_missing(pl.col(name).shift(1)) for name in columns)
    return (pl.all_horizontal(alike) & (pl.int_range(pl.len()) > 0)).alias("repeat")


def _flags(types: list[str], chosen: tuple[str, ...]) -> BoolArray:
    return np.array([*(name in chosen for name in types), False], dtype=np.bool)


def _per_trace(frame: pl.DataFrame, traces: IntArray) -> IntArray:
    return np.bincount(frame["trace"].to_numpy(), minlength=len(traces))
