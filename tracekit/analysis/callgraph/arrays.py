"""Functions of arrays of ids: the id that a group agrees on, the place of a key."""

import numpy as np

from tracekit.base.arrays import Int32Array, IntArray

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
    """The id that more than half of the known ids of each group are, int32 of shape (groups,).

    As ``agreed``, but that ``SEVERAL`` stands only where no id has such a majority.
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
