"""A compiled radix sort of 64-bit words, which sorts by one byte after another."""

import numpy as np

from tracekit.base.arrays import Int32Array, UInt64Array
from tracekit.base.jit import compiled

_BYTE = np.uint64(0xFF)


@compiled
def sorted_by(word: UInt64Array, order: Int32Array) -> tuple[UInt64Array, Int32Array]:
    """Sort the positions in ``order`` by the words there. Return the sorted words and positions.

    The sort is stable. A byte that is equal in all words costs no pass.
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
