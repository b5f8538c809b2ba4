"""Rows that repeat the one before them in the sort key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracekit.arrays import BoolArray, IntArray, UInt64Array


@dataclass(frozen=True)
class Duplicates:
    """Which of the sorted rows stay, which go, and the row that is kept in place of each."""

    kept: BoolArray
    gone: IntArray
    first: IntArray

    def among(self, places: IntArray, rows: int) -> Duplicates:
        """The same, when what was looked at are but the rows at ``places`` of ``rows``."""
        kept = np.ones(rows, dtype=np.bool_)
        kept[places] = self.kept
        return Duplicates(kept, places[self.gone], places[self.first])


def find_duplicates(words: UInt64Array) -> Duplicates:
    """The duplicates among rows in the order of their words, shape (words, rows)."""
    same = np.ones(words.shape[1], dtype=np.bool_)
    same[:1] = False
    for word in words:
        same[1:] &= word[1:] == word[:-1]
    gone = np.flatnonzero(same)
    # each run of equals begins at the last row that does not repeat its predecessor
    begins = np.flatnonzero(~same)
    first = begins[np.searchsorted(begins, gone) - 1] if gone.size else gone
    return Duplicates(~same, gone, first)


def tied_places(word: UInt64Array) -> IntArray:
    """The places in ascending words that have an equal beside them, shape (ties,)."""
    same = word[1:] == word[:-1]
    tied = np.zeros(word.size, dtype=np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    return np.flatnonzero(tied)
