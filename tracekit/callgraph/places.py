"""Places in traces: each path that a trace has records of, and those that must have been there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracekit.arrays import BoolArray, Int32Array, IntArray
from tracekit.callgraph.arrays import distinct, find
from tracekit.callgraph.records import Records


@dataclass(frozen=True, kw_only=True)
class Places:
    """Distinct (trace, path), sorted by both; arrays of shape (places,).

    Parameters
    ----------
    parent : int64
        Place of the path without its last number, -1 where there is none.
    recorded : bool
        Whether a record is there. The other places are gaps: paths between two recorded ones, or
        the path that all paths of a trace start with.
    entry : bool
        Whether the place is where its trace starts: the longest path that all paths of the trace
        with the same first number start with. What lies above it belongs to nobody we know.
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
    """The places of records, gaps included."""
    paths = records.paths
    size = len(paths.text)
    record_keys = records.trace * size + records.path
    keys = distinct(record_keys)
    entries, gaps = _entries_and_gaps(keys, paths.parent, paths.first, paths.depth)
    every = distinct(np.concatenate([keys, gaps]))
    trace, path = np.divmod(every, max(size, 1))
    return Places(
        trace=trace,
        path=path.astype(np.int32),
        depth=paths.depth[path],
        parent=find(every, _above(every, paths.parent)),
        recorded=find(keys, every) >= 0,
        entry=find(entries, every) >= 0,
        of_record=find(every, record_keys),
    )


def _above(keys: IntArray, parent: Int32Array) -> IntArray:
    """Keys of the places above; -1 above a path of one number."""
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
    found: list[IntArray] = [entries]
    climbing = detached[find(entries, detached) < 0]
    while len(climbing):
        # every path climbs to its tree's entry at the latest, so -1 is never reached
        climbing = distinct(_above(climbing, parent))
        climbing = climbing[(find(keys, climbing) < 0) & (find(entries, climbing) < 0)]
        found.append(climbing)
    gaps = distinct(np.concatenate(found))
    return entries, gaps[find(keys, gaps) < 0]


def _common(keys: IntArray, parent: Int32Array, first: Int32Array, depth: Int32Array) -> IntArray:
    """For each trace and first number, the key of the longest path that all of them start with."""
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
