"""The store key of each name in one file."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import Int32Array
from tracekit.intake.read.plan import kind_of
from tracekit.store.tables import Column


@dataclass(frozen=True)
class Names:
    """The store keys of the file's keys of one kind.

    Attributes
    ----------
    keys : the store's key (or, for text, the rank) of each of the file's keys, int32
    count : how many keys there are in the store, or how many texts
    texts : for text columns, the texts in the order of their rank
    """

    keys: Int32Array
    count: int
    texts: pl.Series | None = None


class Keys:
    """The store's keys for the columns of a table."""

    def __init__(self, names: Mapping[str, Names]) -> None:
        self._names = names
        # the last place is for NULL, whose key -1 counts from the end
        self._keys = {kind: np.append(n.keys, np.int32(-1)) for kind, n in names.items()}

    def of(self, column: Column) -> Int32Array | None:
        """The store's key of each of the file's keys, the last one for NULL; None for numbers."""
        return self._keys[kind_of(column)] if column.kind in {"id", "text"} else None

    def count(self, column: Column) -> int:
        """How many keys a column may have."""
        return self._names[kind_of(column)].count

    def texts(self, column: Column) -> pl.Series:
        """The texts of a text column, in the order of their rank."""
        texts = self._names[kind_of(column)].texts
        assert texts is not None  # noqa: S101 - given for every text column
        return texts
