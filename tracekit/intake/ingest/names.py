"""The store's keys for the names of one file."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import Int32Array
from tracekit.intake.read.plan import kind_of
from tracekit.store.tables import Column


@dataclass(frozen=True)
class Names:
    """The store's keys for the file's keys of one kind.

    Attributes
    ----------
    keys : the store's key of each of the file's keys, or the rank of each text; int32
    count : the number of keys in the store, or of texts in the file
    texts : for a text column, the texts in the order of their rank
    """

    keys: Int32Array
    count: int
    texts: pl.Series | None = None


class Keys:
    """The store's keys for each column of a table."""

    def __init__(self, names: Mapping[str, Names]) -> None:
        self._names = names
        # the key of NULL is -1, which as an index means the last place
        self._keys = {kind: np.append(n.keys, np.int32(-1)) for kind, n in names.items()}

    def of(self, column: Column) -> Int32Array | None:
        """The store's key of each of the file's keys, and -1 at the end; None for other columns."""
        return self._keys[kind_of(column)] if column.kind in {"id", "text"} else None

    def count(self, column: Column) -> int:
        """The number of different keys that a column may have."""
        return self._names[kind_of(column)].count

    def texts(self, column: Column) -> pl.Series:
        """The texts of a text column, in the order of their rank."""
        texts = self._names[kind_of(column)].texts
        assert texts is not None  # noqa: S101 - given for every text column
        return texts
