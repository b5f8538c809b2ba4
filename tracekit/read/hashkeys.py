"""Keys by compiled hash table, shared with the compiled walk over lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tracekit.arrays import Int32Array
from tracekit.read.keys import coded
from tracekit.read.keytable import (
    KeyTable,
    add_all,
    add_unknown,
    gathered,
    grown,
    in_key_order,
    new_table,
    padded,
)

_MORE_IDS, _MORE_BYTES = 256, 1 << 16
_SOME = 1 << 16


class HashKeys:
    """Keys for ``kinds`` kinds of names; ``unknown`` are the spellings that stand for no name."""

    def __init__(self, kinds: int, unknown: tuple[str, ...]) -> None:
        self.table: KeyTable = add_unknown(new_table(kinds), list(unknown))

    def make_room(self, names_bytes: int = 0) -> None:
        """Room for at least the names of one more line."""
        self._grow(_MORE_IDS, _MORE_BYTES + names_bytes)

    def _grow(self, ids: int, text_bytes: int) -> None:
        arrays: list[Any] = list(self.table)
        del self.table
        self.table = grown(arrays, ids, text_bytes)

    def encode(self, kind: int, names: pl.Series) -> Int32Array:
        """The key of each name, -1 for NULL, shape (names,)."""
        distinct = names.drop_nulls().unique(maintain_order=True)
        texts = [name.encode() for name in distinct]
        starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        self._grow(len(texts), int(starts[-1]))
        return coded(names, distinct, add_all(self.table, padded(texts), starts, kind))

    def texts(self, kind: int) -> Iterator[pa.Array]:
        """The names of a kind in the order of their keys, some at a time: there may be millions."""
        ids = in_key_order(self.table, kind)
        for start in range(0, ids.size, _SOME):
            text, offsets = gathered(self.table, ids[start : start + _SOME])
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
            yield pa.Array.from_buffers(pa.large_string(), offsets.size - 1, buffers)
