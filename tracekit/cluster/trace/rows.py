"""The complete rows of a store's usage table, a row group at a time: no table is held whole."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tracekit.base.arrays import IntArray
from tracekit.base.files.ahead import ahead
from tracekit.base.files.places import parquet_file
from tracekit.store.folder import Store

#: Columns of a row group by name, each of shape (rows,).
Piece = Mapping[str, NDArray[Any]]

NODE, SERVICE, CONTAINER = "node_key", "service_key", "container_key"
TIME = "time_ms"
VALUES = ("cpu_fraction", "memory_fraction")


class UsageTable:
    """One usage table of a store.

    Parameters
    ----------
    entity : str
        The column of the key: node or container.
    required : sequence of str
        Columns that a complete row has.

    Attributes
    ----------
    keys : int
        Number of keys of the entity.
    """

    def __init__(self, store: Store, table: str, entity: str, required: Sequence[str]) -> None:
        self.entity = entity
        self._files: list[Path] = store.table_files(table)
        self._required = tuple(required)
        self._keys = {
            key: store.manifest.dimensions.get(key.removesuffix("_key"), 0)
            for key in (NODE, SERVICE, CONTAINER)
        }

    @property
    def keys(self) -> int:
        """Number of keys of the entity in the store."""
        return self._keys[self.entity]

    def pieces(self, *columns: str) -> Iterator[tuple[Piece, int]]:
        """Complete rows, with these columns, and the number of incomplete rows left out.

        The next row group is read while the last one is used. A missing key is -1.
        """
        yield from ahead(self._pieces(columns))

    def _pieces(self, columns: Sequence[str]) -> Iterator[tuple[Piece, int]]:
        for path in self._files:
            with parquet_file(path) as file:
                for group in range(file.num_row_groups):
                    wanted = [*columns, *self._doubtful(file, group, columns)]
                    read = pl.from_arrow(file.read_row_group(group, columns=wanted))
                    assert isinstance(read, pl.DataFrame)  # noqa: S101 - a table gives no series
                    yield self._complete(read, columns)

    def _doubtful(self, file: pq.ParquetFile, group: int, columns: Sequence[str]) -> list[str]:
        """Required columns, not among those wanted, that may hold NULL in a row group."""
        about = file.metadata.row_group(group)
        found = []
        for at in range(about.num_columns):
            column = about.column(at)
            name, known = column.path_in_schema, column.statistics
            if name in self._required and name not in columns:
                whole = known is not None and known.has_null_count and known.null_count == 0
                found += [] if whole else [name]
        return found

    def _complete(self, read: pl.DataFrame, columns: Sequence[str]) -> tuple[Piece, int]:
        read = read.with_columns(
            pl.when(pl.col(name) < self._keys[name]).then(pl.col(name))
            for name in read.columns
            if name in self._keys and (read[name].max() or 0) >= self._keys[name]  # type: ignore[operator]
        )
        rows = read.drop_nulls([name for name in read.columns if name in self._required])
        keys = [name for name in columns if name in self._keys and rows[name].null_count()]
        rows = rows.with_columns(pl.col(name).fill_null(-1) for name in keys)
        return {name: rows[name].to_numpy() for name in columns}, read.height - rows.height


def node_table(store: Store) -> UsageTable:
    """Use of nodes."""
    return UsageTable(store, "node_usage", NODE, (TIME, NODE, *VALUES))


def container_table(store: Store) -> UsageTable:
    """Use of containers; the service may be missing."""
    return UsageTable(store, "container_usage", CONTAINER, (TIME, CONTAINER, NODE, *VALUES))


def positions(ids: pl.Series) -> IntArray:
    """The rank of each id among all, in order of their text, shape (ids,)."""
    order = ids.arg_sort().to_numpy()
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return places
