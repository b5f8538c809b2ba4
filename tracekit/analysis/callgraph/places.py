"""Places in traces: each path with records, and each path that must have existed between them."""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from tracekit.analysis.callgraph.records import Records, agreed, distinct, find
from tracekit.base.arrays import BoolArray, Int32Array, IntArray
from tracekit.base.files.places import scan_parquet
from tracekit.store.folder import Store
from tracekit.store.views import ids_of


@dataclass(frozen=True, kw_only=True)
class Places:
    """The places of some traces: distinct pairs of trace and path (rpc id), sorted by both.

    Arrays are of shape (places,).

    Parameters
    ----------
    parent : int64
        The place of the path without its last number, -1 without such a place.
    recorded : bool
        Whether the place has a record. The other places are gaps: paths between a recorded path and
        one below it, or entries.
    entry : bool
        Whether a tree of the trace starts at the place. Paths of a trace with the same first number
        form a tree. It starts at their longest common beginning: ``0.1`` for ``0.1.1`` and
        ``0.1.2``. If records of that path name a downstream and agree on an upstream, the call by
        which the upstream was reached is missing, and the tree starts one path higher.
    of_record : int64, shape (records,)
        The place of each record.
    """

    trace: IntArray
    path: Int32Array
    depth: Int32Array
    parent: IntArray
    recorded: BoolArray
    entry: BoolArray
    of_record: IntArray

    def __len__(self) -> int:
        return len(self.trace)


def locate(records: Records) -> Places:
    """Return the places of these records, and the gaps between recorded places."""
    paths = records.paths
    size = max(len(paths.text), 1)
    of_record = records.trace * size + records.path
    fresh = np.diff(of_record, prepend=-1) != 0
    keys = of_record[fresh]
    entries, gaps = _entries_and_gaps(keys, paths.parent, paths.first, paths.depth)
    called = _called(records, of_record, entries)
    raised = _above(entries[called], paths.parent)
    entries = np.sort(np.concatenate([entries[~called], raised]))
    every = distinct(np.concatenate([keys, gaps, raised]))
    trace, path = np.divmod(every, size)
    at = find(every, keys)
    recorded = np.zeros(len(every), dtype=np.bool_)
    recorded[at] = True
    return Places(
        trace=trace,
        path=path.astype(np.int32),
        depth=paths.depth[path],
        parent=find(every, _above(every, paths.parent)),
        recorded=recorded,
        entry=find(entries, every) >= 0,
        of_record=at[np.cumsum(fresh) - 1],
    )


def _called(records: Records, of_record: IntArray, entries: IntArray) -> BoolArray:
    """Whether the caller of each entry is a known service whose call left no record.

    All records of such an entry name one upstream, and some record names a downstream. Records are
    sorted by their keys, ``of_record``.
    """
    low = np.searchsorted(of_record, entries)
    count = np.searchsorted(of_record, entries, side="right") - low
    group = np.repeat(np.arange(len(entries)), count)
    at = np.arange(len(group)) - np.repeat(np.cumsum(count) - count - low, count)
    caller = agreed(records.upstream[at], group, len(entries))
    called: BoolArray = (caller >= 0) & (_above(entries, records.paths.parent) >= 0)
    named = np.zeros(len(entries), dtype=np.bool_)
    named[group[records.downstream[at] >= 0]] = True
    return called & named


def _above(keys: IntArray, parent: Int32Array) -> IntArray:
    """Keys of the places above; -1 for a path of one number."""
    if not len(keys):
        return keys
    trace, path = np.divmod(keys, len(parent))
    up = parent[path]
    return np.where(up >= 0, trace * len(parent) + up, -1)


def _entries_and_gaps(
    keys: IntArray, parent: Int32Array, first: Int32Array, depth: Int32Array
) -> tuple[IntArray, IntArray]:
    """Keys of the places where traces start, and of the places without a record below them."""
    above = _above(keys, parent)
    detached = keys[find(keys, above) < 0]
    entries = _common(detached, parent, first, depth)
    levels: list[IntArray] = [entries]
    climbing = detached[find(entries, detached) < 0]
    while len(climbing):
        # every path climbs to its tree's entry at the latest, so -1 is never reached
        climbing = distinct(_above(climbing, parent))
        climbing = climbing[(find(keys, climbing) < 0) & (find(entries, climbing) < 0)]
        levels.append(climbing)
    gaps = distinct(np.concatenate(levels))
    return entries, gaps[find(keys, gaps) < 0]


def _common(keys: IntArray, parent: Int32Array, first: Int32Array, depth: Int32Array) -> IntArray:
    """For each trace and first number, the key of the longest common beginning of its paths."""
    if not len(keys):
        return keys
    size = len(parent)
    done: list[IntArray] = []
    while len(keys):
        trace, path = np.divmod(keys, size)
        tops = trace * size + first[path].astype(np.int64)
        trees = distinct(tops)
        tree = np.searchsorted(trees, tops)
        members = np.bincount(tree)
        alone = members[tree] == 1
        done.append(keys[alone])
        keys, tree = keys[~alone], tree[~alone]
        level = depth[keys % size]
        deepest = np.zeros(len(members), dtype=np.int32)
        np.maximum.at(deepest, tree, level)
        keys = distinct(np.where(level == deepest[tree], _above(keys, parent), keys))
    return np.sort(np.concatenate(done))


# Original ids for the integer keys of results, read as they are needed.

_ENTITY = {
    "upstream_key": "service",
    "downstream_key": "service",
    "service_key": "service",
    "interface_key": "interface",
}


class StoreNames:
    """A lookup of the original ids for the keys of a store's services, interfaces and traces."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ids = {entity: self.of(entity) for entity in ("service", "interface")}

    def of(self, entity: str) -> pl.Series:
        """Return the original ids of an entity, in the order of its keys."""
        return ids_of(self._store, entity)

    def traces(self, keys: pl.Series) -> pl.Series:
        """Return the ids of traces, one for each key."""
        rows = scan_parquet(*self._store.dimension_files("trace"))
        ids = rows.filter(pl.col("key").is_in(keys.unique().implode())).collect()
        return keys.replace_strict(ids["key"], ids["id"], return_dtype=pl.String)

    def named(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the frame with ids in place of keys, as ``upstream`` for ``upstream_key``."""
        return frame.select(
            self._ids[_ENTITY[name]].gather(frame[name]).alias(name.removesuffix("_key"))
            if name in _ENTITY
            else frame[name]
            for name in frame.columns
        )

    def table(self, frame: pl.DataFrame) -> pa.Table:
        """Return the frame as an Arrow table with dictionary-encoded ids, which are quick to write.

        ``trace_key`` must be a column. All ids between its smallest and its largest key are read.
        """
        keys = frame["trace_key"]
        first, traces = self._range(keys)
        columns = {}
        for name in frame.columns:
            if name == "trace_key":
                columns["trace"] = _dictionary(keys - first, traces)
            elif name in _ENTITY:
                columns[name.removesuffix("_key")] = _dictionary(
                    frame[name], self._ids[_ENTITY[name]]
                )
            else:
                columns[name] = frame[name].to_arrow()
        return pa.table(columns)

    def _range(self, keys: pl.Series) -> tuple[int, pl.Series]:
        if not len(keys):
            return 0, pl.Series("id", [], dtype=pl.String)
        first, last = int(keys.min()), int(keys.max())  # type: ignore[arg-type]
        rows = scan_parquet(*self._store.dimension_files("trace"))
        ids = rows.filter(pl.col("key").is_between(first, last)).collect()
        return first, ids["id"]


def _dictionary(keys: pl.Series, ids: pl.Series) -> pa.DictionaryArray:
    """An Arrow dictionary of the ids of keys; it holds each id once."""
    occurs = np.zeros(len(ids), dtype=np.bool_)
    occurs[keys.drop_nulls().to_numpy()] = True
    place = pl.Series(np.cumsum(occurs, dtype=np.int32) - 1)
    indices = place.gather(keys).cast(pl.Int32)
    return pa.DictionaryArray.from_arrays(
        indices.to_arrow(), ids.filter(pl.Series(occurs)).to_arrow().cast(pa.string())
    )
