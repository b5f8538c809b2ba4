"""Keys for names within one file: handed out as names are first seen, by kind of name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import polars as pl
import pyarrow as pa

from tracekit.arrays import Int32Array


class Keys(Protocol):
    """Gives int32 keys, 0, 1, 2, ... within each kind."""

    def encode(self, kind: int, names: pl.Series) -> Int32Array:
        """The key of each name, -1 for NULL, shape (names,)."""

    def texts(self, kind: int) -> Iterator[pa.Array]:
        """The names of a kind in the order of their keys: large strings, some at a time."""


class PlainKeys:
    """Keys by dictionary: no start-up, for files that are small."""

    def __init__(self, kinds: int) -> None:
        self._known: list[dict[str, int]] = [{} for _ in range(kinds)]

    def encode(self, kind: int, names: pl.Series) -> Int32Array:
        """The key of each name, -1 for NULL, shape (names,)."""
        known = self._known[kind]
        distinct = names.drop_nulls().unique(maintain_order=True)
        return coded(names, distinct, [known.setdefault(name, len(known)) for name in distinct])

    def texts(self, kind: int) -> Iterator[pa.Array]:
        """The names of a kind in the order of their keys."""
        names = pl.Series(list(self._known[kind]), dtype=pl.String)
        # a type that needs no cast: that would load pyarrow's compute functions
        yield names.to_arrow(compat_level=pl.CompatLevel.oldest())


def coded(names: pl.Series, distinct: pl.Series, keys: Sequence[int] | Int32Array) -> Int32Array:
    """Each name's key, given those of the distinct names; -1 for NULL."""
    pairs = pl.DataFrame({"name": distinct, "key": pl.Series(keys, dtype=pl.Int32)})
    wanted = pl.DataFrame({"name": names})
    found = wanted.join(pairs, on="name", how="left", maintain_order="left")
    return found["key"].fill_null(-1).to_numpy()
