"""Compiled loops that sort rows: they build words, sort them by bytes, and gather columns."""

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import Int32Array, IntArray, UInt64Array
from tracekit.base.jit import compiled

_BYTE = np.uint64(0xFF)


@compiled
def sorted_by(word: UInt64Array, order: Int32Array) -> tuple[UInt64Array, Int32Array]:
    """Sort ``order`` by the words at its places; returns the sorted words and the new order.

    Places with equal words keep their order. A byte that is equal in all words costs no pass.
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


# Each of these loops takes one pass with 32-bit places, where numpy takes several with 64-bit ones.


@compiled
def add_times(word: UInt64Array, times: IntArray, base: int, shift: np.uint64) -> None:
    """Put ``times - base`` into the words, from bit ``shift`` on; changes ``word``."""
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
    """Put ``keys[values] - base`` into the words, from bit ``shift`` on; changes ``word``.

    The value -1 means NULL and takes the last of ``keys``.
    """
    for at in range(word.size):
        word[at] |= np.uint64(np.int64(keys[values[at]]) - base) << shift


@compiled
def taken(values: NDArray[np.generic], rows: Int32Array) -> NDArray[np.generic]:
    """The values at places ``rows``, shape (rows,)."""
    gathered = np.empty(rows.size, values.dtype)
    for at in range(rows.size):
        gathered[at] = values[rows[at]]
    return gathered


@compiled
def taken_keys(keys: Int32Array, values: Int32Array, rows: Int32Array) -> Int32Array:
    """The keys of the values at places ``rows``, shape (rows,); -1 takes the last of ``keys``."""
    gathered = np.empty(rows.size, np.int32)
    for at in range(rows.size):
        gathered[at] = keys[values[rows[at]]]
    return gathered
