"""A usage table as a dense matrix over a regular time axis, read a row group at a time.

No table is held whole.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, Int32Array, IntArray
from tracekit.base.files.ahead import ahead
from tracekit.base.files.places import parquet_file
from tracekit.cluster.series import Axis
from tracekit.store.folder import Store

#: Columns of a row group by name, each of shape (rows,).
Piece = Mapping[str, NDArray[Any]]

NODE, SERVICE, CONTAINER = "node_key", "service_key", "container_key"
TIME = "time_ms"
VALUES = ("cpu_fraction", "memory_fraction")


class UsageTable:
    """A usage table of a store, which is read a row group at a time.

    Parameters
    ----------
    entity : str
        The column that says whose use a row has: ``node_key`` or ``container_key``.
    required : sequence of str
        The columns that must not be NULL in a row; other rows are incomplete.

    Attributes
    ----------
    keys : int
        Number of nodes, or of containers, in the store.
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
        """Number of nodes in the store if ``entity`` is ``node_key``; else number of containers."""
        return self._keys[self.entity]

    def pieces(self, *columns: str) -> Iterator[tuple[Piece, int]]:
        """Yield the complete rows of each row group, and the number of its incomplete rows.

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
        doubtful = []
        for at in range(about.num_columns):
            column = about.column(at)
            name, stats = column.path_in_schema, column.statistics
            if name in self._required and name not in columns:
                whole = stats is not None and stats.has_null_count and stats.null_count == 0
                doubtful += [] if whole else [name]
        return doubtful

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
    """Return the table of the use of nodes."""
    return UsageTable(store, "node_usage", NODE, (TIME, NODE, *VALUES))


def container_table(store: Store) -> UsageTable:
    """Return the table of the use of containers, whose service may be missing."""
    return UsageTable(store, "container_usage", CONTAINER, (TIME, CONTAINER, NODE, *VALUES))


def positions(ids: pl.Series) -> IntArray:
    """Return the position of each id in the sorted ids, shape (ids,)."""
    order = ids.arg_sort().to_numpy()
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return places


class Matrix:
    """The use of nodes or containers by step, filled from the rows of a usage table.

    Columns follow the order in which nodes or containers first occur, so that neighbouring rows of
    a sorted table are neighbours in memory.

    Parameters
    ----------
    times : int64, shape (times,)
        Every time of the table.
    keys, entities : int
        Number of nodes or containers in the store, and the most of them that occur in the table.
    nodes : int
        Number of nodes that a container's rows may name; 1 for a table of the use of nodes.

    Attributes
    ----------
    values : float32, shape (2, steps, entities)
        NaN where the table has no row.
    """

    def __init__(self, axis: Axis, times: IntArray, keys: int, entities: int, nodes: int) -> None:
        self._axis = axis
        self._nodes = nodes
        inside = times[axis.steps_of(times) >= 0]
        self._late = np.unique((inside - axis.times_ms[0]) % axis.step_ms)
        steps = len(axis.times_ms)
        self.values = np.full((len(VALUES), steps, entities), np.nan, dtype=np.float32)
        kind = np.min_scalar_type(len(self._late) * nodes)
        # what stands in a cell: a lower rank replaces it
        self._rank = np.full(steps * entities, np.iinfo(kind).max, dtype=kind)
        self._column = np.full(keys, -1, dtype=np.int64)
        self._key = np.empty(entities, dtype=np.int64)
        self.entities = 0

    @property
    def key(self) -> IntArray:
        """The key of each column that has rows, shape (entities,)."""
        return self._key[: self.entities]

    def whole(self) -> Float32Array:
        """Return the values without columns of entities that have no row on the axis."""
        left_out = self.entities < self.values.shape[2]
        return np.ascontiguousarray(self.values[:, :, : self.entities]) if left_out else self.values

    def columns(self, keys: NDArray[Any]) -> IntArray:
        """Return the columns of these entities. Add a column for an entity that has none."""
        column: IntArray = self._column[keys]
        if (column < 0).any():
            fresh = keys[column < 0]
            fresh = fresh[np.concatenate([[True], fresh[1:] != fresh[:-1]])]
            fresh, first = np.unique(fresh, return_index=True)
            fresh = fresh[np.argsort(first)]
            end = self.entities + len(fresh)
            self._column[fresh] = np.arange(self.entities, end)
            self._key[self.entities : end] = fresh
            self.entities = end
            column = self._column[keys]
        return column

    def fill(self, column: IntArray, node: IntArray | int, piece: Piece) -> None:
        """Write the rows of a piece of the table, all of them on the axis, into their cells.

        Of several rows for one cell the earliest stays; of equal times, the one of the first node.

        Parameters
        ----------
        column, node : int64, shape (rows,)
            Each row's column, and the position of its node.
        """
        since = piece[TIME] - self._axis.times_ms[0]
        step = since // self._axis.step_ms
        late = since - step * self._axis.step_ms
        rank = np.searchsorted(self._late, late) if len(self._late) > 1 else 0
        ranks = np.broadcast_to(rank * self._nodes + node, step.shape).astype(self._rank.dtype)
        cell = step * self.values.shape[2] + column
        amounts = [piece[name] for name in VALUES]
        _put(cell, ranks, amounts, self._rank, self.values.reshape(len(VALUES), -1))


def _put(
    cell: IntArray,
    rank: NDArray[Any],
    amounts: list[FloatArray],
    held: NDArray[Any],
    values: Float32Array,
) -> None:
    """Put each row into its cell, unless the cell holds a row of the same or a lower rank."""
    # assignment keeps the last of several rows for one cell, and the first is to stay
    rows = np.flatnonzero(rank < held.take(cell))[::-1]
    held[cell[rows]] = rank[rows]
    if (held.take(cell[rows]) != rank[rows]).any():
        rows = rows[np.lexsort((rows, rank[rows]))[::-1]]
        held[cell[rows]] = rank[rows]
    for target, amount in zip(values, amounts, strict=True):
        target[cell[rows]] = amount[rows]


_NEVER = np.iinfo(np.int64).max


class Places:
    """The nodes, service and steps that the rows of each container name, by column of the matrix.

    A container's first row is the earliest; of equal times, the one with the first node by id.

    Attributes
    ----------
    service : int64, shape (containers,)
        Key of the first service named, -1 for none.
    """

    def __init__(self, axis: Axis, containers: int, nodes: int) -> None:
        self._axis = axis
        self._nodes = nodes
        # time and node as one number, so that the least is the first row's
        self._first = np.full(containers, _NEVER, dtype=np.int64)
        self._named = np.full(containers, _NEVER, dtype=np.int64)
        self._last_ms = np.zeros(containers, dtype=np.int64)
        self._low = np.full(containers, _NEVER, dtype=np.int64)
        self._high = np.full(containers, -1, dtype=np.int64)
        self._is_named = np.zeros(nodes, dtype=np.bool_)
        self.service = np.full(containers, -1, dtype=np.int64)

    @property
    def nodes(self) -> IntArray:
        """Positions of the nodes that rows name, each once."""
        return np.flatnonzero(self._is_named)

    @property
    def node(self) -> IntArray:
        """Position of the node in each container's first row, shape (containers,)."""
        return self._first % self._nodes

    @property
    def steps(self) -> tuple[IntArray, IntArray]:
        """The first and the last step with a row, shape (containers,) each."""
        step_ms = self._axis.step_ms
        return self._first // self._nodes // step_ms, self._last_ms // step_ms

    @property
    def moved(self) -> BoolArray:
        """Whether a container's rows name more than one node, shape (containers,)."""
        return np.asarray(self._low != self._high)

    def add(self, column: IntArray, node: IntArray, piece: Piece) -> None:
        """Update all containers with the rows of a piece, all of them on the axis.

        Parameters
        ----------
        column, node : int64, shape (rows,)
            Each row's column, and the position of its node.
        """
        service, since = piece[SERVICE], piece[TIME] - self._axis.times_ms[0]
        cuts = (np.diff(column) != 0) | (np.diff(node) != 0) | (np.diff(service) != 0)
        start = np.concatenate([[0], np.flatnonzero(cuts) + 1])
        column, node, service = column[start], node[start], service[start]
        first = np.minimum.reduceat(since, start) * self._nodes + node
        np.minimum.at(self._first, column, first)
        np.maximum.at(self._last_ms, column, np.maximum.reduceat(since, start))
        self._is_named[node] = True
        np.minimum.at(self._low, column, node)
        np.maximum.at(self._high, column, node)
        self._name(column, first, service)

    def _name(self, column: IntArray, first: IntArray, service: Int32Array) -> None:
        """Keep the service of the first row that names one; of equal rows the one read first."""
        named = np.flatnonzero((service >= 0) & (first < self._named[column]))
        # in this order the last that is written for a column is its first
        named = named[np.lexsort((named, first[named]))[::-1]]
        self._named[column[named]] = first[named]
        self.service[column[named]] = service[named]
