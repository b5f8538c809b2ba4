"""Array types of the call graphs, and the one value that a group agrees on."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.int32]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

#: An id that is missing; and, of a group, that none of its ids is known.
UNKNOWN = -1
#: Of a group: its known ids disagree.
SEVERAL = -2


def agreed(ids: Codes, group: Ints, groups: int) -> Codes:
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


def at_or(values: Codes, index: Ints, default: int) -> Codes:
    """``values[index]``, and ``default`` where the index is negative."""
    if not len(values):
        return np.full(len(index), default, dtype=np.int32)
    return np.where(index >= 0, values[np.maximum(index, 0)], default).astype(np.int32)


def find(keys: Ints, wanted: Ints) -> Ints:
    """Where each wanted key stands in the sorted ``keys``, -1 where it does not."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)


def distinct(values: Ints) -> Ints:
    """The distinct values, sorted; several times as fast as numpy's hashing on many values."""
    ordered: Ints = np.sort(values)
    fresh = np.ones(len(ordered), dtype=np.bool_)
    fresh[1:] = ordered[1:] != ordered[:-1]
    return ordered[fresh]
