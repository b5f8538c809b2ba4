"""Compiled loops over rows on their way into order: into words, and out of the columns.

Each does in one pass, and with 32-bit places, what numpy does in several with 64-bit ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracekit.arrays import Int32Array, IntArray, UInt64Array
from tracekit.jit import compiled


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
    """What ``keys`` has for the values at these places; the value -1 as in ``add_keys``."""
    found = np.empty(rows.size, np.int32)
    for at in range(rows.size):
        found[at] = keys[values[rows[at]]]
    return found
