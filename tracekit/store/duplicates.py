"""Rows that repeat the one before them in the sort key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Duplicates:
    """Which of the sorted rows stay, which go, and the row that is kept in place of each."""

    kept: NDArray[np.bool_]
    gone: NDArray[np.int64]
    first: NDArray[np.int64]


def find_duplicates(words: NDArray[np.uint64], order: NDArray[np.int32]) -> Duplicates:
    """The duplicates among rows with those sort words, shape (words, rows), in that order."""
    same = np.ones(order.size, dtype=np.bool_)
    same[:1] = False
    for word in words:
        in_order = word[order]
        same[1:] &= in_order[1:] == in_order[:-1]
    gone = np.flatnonzero(same)
    # each run of equals begins at the last row that does not repeat its predecessor
    begins = np.flatnonzero(~same)
    first = begins[np.searchsorted(begins, gone) - 1] if gone.size else gone
    return Duplicates(~same, gone, first)
