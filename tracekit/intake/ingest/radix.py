"""Compiled loops that put rows in order: into words, sorted byte by byte, out of the columns."""

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import Int32Array, IntArray, UInt64Array
from tracekit.base.jit import compiled

_BYTE = np.uint64(0xFF)


@compiled
def sorted_by(word: UInt64Array, order: Int32Array) -> tuple[UInt64Array, Int32Array]:
    """The words in ascending order, and ``order`` brought along; equal words stay as they are.

    A byte that is the same in all words costs no pass.
    """
    size = order.size
    keys, other_keys = np.empty(size, np.uint64), np.empty(size, np.uint64)
    rows, other_rows = order, np.empty(size, np.int32)
    counts = np.zeros((8, 256), np.int64)
    for at in range(size):
        key = word[order[at]]
        keys[at] = key
        for byte in range(8):
            counts[byte, (key >> np.uint64(8 * byte)) & _BYTE] += 1
    for byte in range(8):
        shift = np.uint64(8 * byte)
        if size == 0 or counts[byte, (keys[0] >> shift) & _BYTE] == size:
            continue
        places = np.zeros(256, np.int64)
        for value in range(1, 256):
            places[value] = places[value - 1] + counts[byte, value - 1]
        for at in range(size):
            value = np.int64((keys[at] >> shift) & _BYTE)
            to = places[value]
            places[value] = to + 1
            other_keys[to] = keys[at]
            other_rows[to] = rows[at]
        keys, other_keys = other_keys, keys
        rows, other_rows = other_rows, rows
    return keys, rows


# Compiled loops over rows on their way into order: into words, and out of the columns. Each does
# in one pass, and with 32-bit places, what numpy does in several with 64-bit ones.


@compiled
def add_times(word: UInt64Array, times: IntArray, base: int, shift: np.uint64) -> None:
    """Put times, less ``base``, into words from bit ``shift`` on."""
    for at in range(word.size):
        word[at] |= np.uint64(times[at] - base) << shift


@compiled
def add_keys(
    word: UInt64Array,
    keys: Int32Array,
    values: Int32Array,
    base: int,
    shift: np.uint64,
) -> None:
    """Put what ``keys`` has for each value, less ``base``, into words from bit ``shift`` on.

    The value -1 is NULL; what it becomes is the last of ``keys``.
    """
    for at in range(word.size):
        word[at] |= np.uint64(np.int64(keys[values[at]]) - base) << shift


@compiled
def taken(values: NDArray[np.generic], rows: Int32Array) -> NDArray[np.generic]:
    """The values at these places, shape (rows,)."""
    found = np.empty(rows.size, values.dtype)
    for at in range(rows.size):
        found[at] = values[rows[at]]
    return found


@compiled
def taken_keys(keys: Int32Array, values: Int32Array, rows: Int32Array) -> Int32Array:
    """The keys of the values at these places; the value -1 is as in ``add_keys``."""
    found = np.empty(rows.size, np.int32)
    for at in range(rows.size):
        found[at] = keys[values[rows[at]]]
    return found
