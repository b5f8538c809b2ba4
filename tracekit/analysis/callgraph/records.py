"""The records of whole traces as arrays, ready to be compared by position."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.analysis.callgraph.parts import UNKNOWN, distinct
from tracekit.base.arrays import BoolArray, FloatArray, Int32Array, IntArray

#: What an rpc id must be. Real ids are up to 14 levels deep; the limit keeps a broken id from
#: costing a round of work for each of its levels.
PATH = r"^[0-9]+(\.[0-9]+){0,99}$"
NO_PATH = -1


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Distinct paths in the order of their text, all their ancestors included.

    Parameters
    ----------
    text : Series of String, shape (paths,)
    parent : int32
        Code of the path without its last number, -1 for a path of one number.
    first : int32
        Code of the path of one number that the path starts with.
    depth : int32
        Dots in the path.
    """

    text: pl.Series
    parent: Int32Array
    first: Int32Array
    depth: Int32Array


def encode(rpc_ids: pl.Series) -> tuple[Paths, Int32Array]:
    """The paths of rpc ids, and each id's code; ``NO_PATH`` for an id that is no path."""
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
    known = text
    fresh = text
    while len(fresh):
        above = _parents(fresh).unique()
        fresh = above.filter((above != "") & ~above.is_in(known.implode()))
        known = pl.concat([known, fresh])
    return known.sort().rename("path")


def _firsts(parent: Int32Array, depth: Int32Array) -> Int32Array:
    first = np.arange(len(parent), dtype=np.int32)
    for _ in range(int(depth.max(initial=0))):
        first = np.where(parent[first] >= 0, parent[first], first).astype(np.int32)
    return first


#: Called over the network by one service on another, which records the call too.
REMOTE = ("http", "mq", "rpc")
#: Of those, the ones that each end always records, by the release's description.
TWICE = ("http", "rpc")
#: Data stores: they answer, and call nobody.
STORES = ("db", "mc")


def in_order(rpc_types: pl.Series) -> list[str]:
    """The distinct types: remote ones first, stores last, by name within each.

    Where several calls share one rpc id, the first that can call on is taken for the caller of
    what is below it, so this order matters.
    """
    distinct = rpc_types.unique().drop_nulls().to_list()
    return sorted(distinct, key=lambda name: (_class(name), name))


def _class(name: str) -> int:
    return 0 if name in REMOTE else 2 if name in STORES else 1


_IDS = ("upstream_key", "downstream_key", "interface_key")


@dataclass(frozen=True, kw_only=True)
class Records:
    """Records sorted by trace, path, type, and within these the calling end's before the called's.

    Arrays are of shape (records,).

    Parameters
    ----------
    traces : int64, shape (traces,)
        Keys of the traces, sorted; ``trace`` is a place in it.
    types : list of str
        Types of call, in the order of ``in_order``; ``kind`` is a place in it, and
        ``len(types)`` stands for a missing type.
    remote, twice, store : bool, shape (types + 1,)
        Whether calls of a type are made over the network, are recorded by either end, are to a
        data store.
    side : int8
        1 recorded by the calling end, -1 by the called end, 0 too quick to tell.
    duration_ms : float64
        Response time without its sign; NaN where it is missing.
    repeated : int64, shape (traces,)
        Records that repeat another one to the letter; they are not among the records.
    not_a_path : int64, shape (traces,)
        Records whose rpc id is no path; they are not among the records.
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
    """The names of each record, mended or as they were; int32 of shape (records,)."""

    upstream: Int32Array
    downstream: Int32Array
    interface: Int32Array


def as_recorded(records: Records) -> Names:
    """The names of the records as they are, in arrays of their own."""
    return Names(
        upstream=records.upstream.copy(),
        downstream=records.downstream.copy(),
        interface=records.interface.copy(),
    )


def arrange(rows: pl.DataFrame) -> Records:
    """Turn rows of ``call_keyed`` (whole traces, any order) into records."""
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
    """The rows with a path in order, with codes for texts; and the traces of those without."""
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
    """Whether a row repeats the one before it; in sorted rows, all but the first of equal ones."""
    alike = (pl.col(name).eq_missing(pl.col(name).shift(1)) for name in columns)
    return (pl.all_horizontal(alike) & (pl.int_range(pl.len()) > 0)).alias("repeat")


def _flags(types: list[str], chosen: tuple[str, ...]) -> BoolArray:
    return np.array([*(name in chosen for name in types), False], dtype=np.bool)


def _per_trace(frame: pl.DataFrame, traces: IntArray) -> IntArray:
    return np.bincount(frame["trace"].to_numpy(), minlength=len(traces))
