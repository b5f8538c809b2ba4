"""The two usage tables of a store as matrices of fractions; nodes and steps of containers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, Float32Array, Int32Array, IntArray
from tracekit.base.constants import STEP_MS
from tracekit.base.errors import TracekitError
from tracekit.cluster.assumptions import Assumptions
from tracekit.cluster.series import Axis, Gaps, axis_of, commonest, fill_gaps, gaps_of
from tracekit.cluster.trace.matrix import (
    CONTAINER,
    NODE,
    SERVICE,
    TIME,
    VALUES,
    Matrix,
    Piece,
    Places,
    UsageTable,
    container_table,
    node_table,
    positions,
)
from tracekit.cluster.workload import UNKNOWN
from tracekit.store.broken_rows import all_rejected
from tracekit.store.folder import Store
from tracekit.store.stored_rows import LISTS
from tracekit.store.views import ids_of

#: So many counted values wait to be added up, and so many rows are sorted at once.
_WAITING = 1 << 20
_SORTED_ROWS = 1 << 24


@dataclass(frozen=True, kw_only=True)
class Survey:
    """The times of a usage table, with counts of its rows and entities; ``survey`` makes it.

    Parameters
    ----------
    times : DataFrame
        Complete rows at each time: time_ms, rows.
    rows, incomplete : int
        Number of complete rows, and of rows left out.
    entities : int
        Number of entities with a complete row.
    step_ms : int, optional
        The commonest gap between an entity's samples; None where samples are too few to tell.
    """

    times: pl.DataFrame
    rows: int
    incomplete: int
    entities: int
    step_ms: int | None

    @property
    def moments(self) -> IntArray:
        """Every time of the table, shape (times,)."""
        return self.times["time_ms"].to_numpy()


def survey(table: UsageTable) -> Survey:
    """Return the times, the counts and the step of a usage table.

    The table is read once. If runs of successive rows of an entity overlap in time, the rows of
    that entity are read again, to be sorted.
    """
    times, gaps, ends = _Tally(), _Tally(), _Ends(table.keys)
    incomplete = 0
    for piece, missing in table.pieces(TIME, table.entity):
        incomplete += missing
        if not len(piece[TIME]):
            continue
        stretches = _Stretches(piece, table.entity)
        times.add(stretches.time)
        gaps.add(stretches.gaps())
        ends.add(stretches)
    entities = int((ends.rows > 0).sum())
    crossed, between = ends.joined()
    gaps.add(between)
    for chosen in _blocks(crossed, ends.rows):
        _correct(gaps, table, chosen)
    counted = times.counts().rename({"value": "time_ms", "len": "rows"})
    gap_counts = gaps.counts().rename({"value": "gap"})
    return Survey(
        times=counted,
        rows=int(ends.rows.sum()),
        incomplete=incomplete,
        entities=entities,
        step_ms=commonest(gap_counts, entities),
    )


class _Stretches:
    """The rows of a piece, cut where the entity changes or time falls."""

    def __init__(self, piece: Piece, entity: str) -> None:
        self.time = piece[TIME].astype(np.int64, copy=False)
        self.entity = piece[entity]
        self._gap = np.diff(self.time)
        self._goes_on = (self.entity[1:] == self.entity[:-1]) & (self._gap >= 0)

    def gaps(self, of: BoolArray | None = None) -> IntArray:
        """Gaps inside the stretches, of all entities or of some."""
        inside = self._goes_on & (self._gap > 0)
        return np.asarray(self._gap[inside if of is None else inside & of[self.entity[1:]]])

    def ends(self) -> tuple[IntArray, IntArray]:
        """The first and the last row of each stretch."""
        cuts = np.flatnonzero(~self._goes_on)
        return np.concatenate([[0], cuts + 1]), np.concatenate([cuts, [len(self.time) - 1]])


class _Ends:
    """The ends of all stretches, and the rows of each entity."""

    def __init__(self, keys: int) -> None:
        self.rows = np.zeros(keys, dtype=np.int64)
        self._ends: list[tuple[Int32Array, IntArray, IntArray]] = []

    def add(self, stretches: _Stretches) -> None:
        """Take the stretches of a piece in."""
        first, last = stretches.ends()
        entity = stretches.entity[first]
        np.add.at(self.rows, entity, last - first + 1)
        self._ends.append((entity, stretches.time[first], stretches.time[last]))

    def joined(self) -> tuple[IntArray, IntArray]:
        """Entities whose stretches cross, and the gaps between the stretches of all others."""
        if not self._ends:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        entity, first, last = (np.concatenate(part) for part in zip(*self._ends, strict=True))
        self._ends = []
        order = np.lexsort((first, entity))
        entity, first, last = entity[order], first[order], last[order]
        same, gap = entity[1:] == entity[:-1], first[1:] - last[:-1]
        crossed = np.unique(entity[1:][same & (gap < 0)])
        return crossed, gap[same & (gap > 0) & ~np.isin(entity[1:], crossed)]


class _Tally:
    """Counts how often each value occurs."""

    def __init__(self) -> None:
        self._counts: list[pl.DataFrame] = []
        self._waiting = 0

    def add(self, values: IntArray, sign: int = 1) -> None:
        """Count values in, or out."""
        self.add_counts(pl.Series("value", values).value_counts(name="len"), sign)

    def add_counts(self, counts: pl.DataFrame, sign: int = 1) -> None:
        """Count counted values in, or out: value, len."""
        self._counts.append(counts.with_columns(pl.col("len").cast(pl.Int64) * sign))
        self._waiting += counts.height
        if self._waiting > _WAITING:
            self._counts = [self.counts()]
            self._waiting = 0

    def counts(self) -> pl.DataFrame:
        """Values with a count above 0: value, len."""
        empty = pl.DataFrame(schema={"value": pl.Int64, "len": pl.Int64})
        summed = pl.concat([empty, *self._counts]).group_by("value").agg(pl.col("len").sum())
        return summed.filter(pl.col("len") > 0)


def _blocks(crossed: IntArray, rows: IntArray) -> Iterator[BoolArray]:
    """Entities in blocks whose rows can be sorted in memory; each block is a mask of keys."""
    block = np.cumsum(rows[crossed]) // _SORTED_ROWS
    for number in np.unique(block):
        chosen = np.zeros(len(rows), dtype=np.bool_)
        chosen[crossed[block == number]] = True
        yield chosen


def _correct(gaps: _Tally, table: UsageTable, chosen: BoolArray) -> None:
    """Replace the gaps of some entities inside their stretches by their true gaps."""
    rows = []
    for piece, _ in table.pieces(TIME, table.entity):
        stretches = _Stretches(piece, table.entity)
        gaps.add(stretches.gaps(chosen), sign=-1)
        here = chosen[stretches.entity]
        columns = {"entity": stretches.entity[here], "time_ms": stretches.time[here]}
        rows.append(pl.DataFrame(columns))
    true: Gaps = gaps_of(pl.concat(rows), "entity")
    gaps.add_counts(true.rename({"gap": "value"}))


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The two usage tables over a time axis; nodes and containers are in order of their ids.

    Parameters
    ----------
    container_ids, service_ids : tuple of str
    at : int64, shape (containers,)
        The position of each container's node in ``node_ids``.
    first_step, last_step : int64, shape (containers,)
        First and last step with a row.
    column : int64, shape (containers,)
        The column of ``fraction`` that holds each container's use.
    fraction : float32, shape (2, steps, containers)
        Use of containers, NaN where there is no row.
    node_fraction : float32, shape (2, steps, nodes)
        A gap has the last value before it; NaN for a node that was never measured.
    """

    axis: Axis
    node_ids: tuple[str, ...]
    container_ids: tuple[str, ...]
    service_ids: tuple[str, ...]
    at: IntArray
    first_step: IntArray
    last_step: IntArray
    column: IntArray
    fraction: Float32Array
    node_fraction: Float32Array
    facts: Mapping[str, int]


def trace_of(store: Store, assumptions: Assumptions) -> Trace:
    """Return the usage tables of a store, read twice: for their times, then for their values.

    Raises
    ------
    TracekitError
        When no container is left to replay.
    """
    surveyed, measured = survey(container_table(store)), survey(node_table(store))
    if not surveyed.rows:
        if lost := all_rejected(store.manifest, LISTS["container"]):
            raise lost
        raise TracekitError(
            "no container to replay: none is listed, and container_usage holds no complete row",
            hint="ingest the file that lists containers, or that of their use",
        )
    axis = axis_of(
        [surveyed.times, measured.times],
        _step_ms(surveyed, measured),
        gap_steps=assumptions.edge_steps,
        stray_share=assumptions.stray_share,
    )
    nodes = ids_of(store, "node")
    use, places = _container_use(container_table(store), surveyed, axis, positions(nodes))
    node_positions, own = _node_use(node_table(store), measured, axis, positions(nodes), places)
    ids = ids_of(store, "container").gather(use.key)
    order = ids.arg_sort().to_numpy().astype(np.int64)
    first, last = places.steps
    return Trace(
        axis=axis,
        node_ids=tuple(nodes.sort().gather(node_positions)),
        container_ids=tuple(ids.gather(order)),
        service_ids=_service_ids(store, places.service[order]),
        at=np.searchsorted(node_positions, places.node[order]),
        first_step=first[order],
        last_step=last[order],
        column=order,
        fraction=use.whole(),
        node_fraction=own,
        facts={
            "rows_incomplete": surveyed.incomplete + measured.incomplete,
            "rows_stray": axis.stray_rows,
            "nodes_without_usage": int(np.isnan(own[0]).all(axis=0).sum()),
            "containers_on_several_nodes": int(places.moved[order].sum()),
        },
    )


def _step_ms(containers: Survey, measured: Survey) -> int:
    every = gaps_of(containers.times.with_columns(all=pl.lit(0)), "all")
    return containers.step_ms or measured.step_ms or commonest(every, 1) or STEP_MS


def _container_use(
    table: UsageTable, containers: Survey, axis: Axis, place: IntArray
) -> tuple[Matrix, Places]:
    matrix = Matrix(axis, containers.moments, table.keys, containers.entities, len(place))
    places = Places(axis, containers.entities, len(place))
    for piece in _on_axis(table, axis, CONTAINER, NODE, SERVICE):
        column, node = matrix.columns(piece[CONTAINER]), place[piece[NODE]]
        matrix.fill(column, node, piece)
        places.add(column, node, piece)
    return matrix, places


def _node_use(
    table: UsageTable, surveyed: Survey, axis: Axis, place: IntArray, places: Places
) -> tuple[IntArray, Float32Array]:
    """Positions of the nodes that either table names, in order, and their use with gaps held."""
    matrix = Matrix(axis, surveyed.moments, table.keys, surveyed.entities, 1)
    for piece in _on_axis(table, axis, NODE):
        matrix.fill(matrix.columns(piece[NODE]), 0, piece)
    measured = place[matrix.key]
    every = np.union1d(measured, places.nodes)
    fraction = np.full((len(VALUES), len(axis.times_ms), len(every)), np.nan, dtype=np.float32)
    at = np.searchsorted(every, measured)
    for target, values in zip(fraction, matrix.values, strict=True):
        target[:, at] = values[:, : matrix.entities]
    fill_gaps(fraction)
    return every, fraction


def _on_axis(table: UsageTable, axis: Axis, *keys: str) -> Iterator[Piece]:
    """The rows of a table that lie on the axis, a piece at a time."""
    for piece, _ in table.pieces(TIME, *keys, *VALUES):
        inside = axis.steps_of(piece[TIME]) >= 0
        rows: Piece = piece
        if not inside.all():
            rows = {name: values[inside] for name, values in piece.items()}
        if len(rows[TIME]):
            yield rows


def _service_ids(store: Store, keys: IntArray) -> tuple[str, ...]:
    """The ids of services; a question mark for -1."""
    names = [*ids_of(store, "service"), UNKNOWN]
    return tuple(names[key] for key in keys.tolist())
