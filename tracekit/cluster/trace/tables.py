"""The two usage tables of a store as matrices of fractions, and what they say of each container."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import Float32Array, IntArray
from tracekit.base.constants import STEP_MS
from tracekit.base.errors import TracekitError
from tracekit.cluster.assumptions import Assumptions
from tracekit.cluster.series import Axis, axis_of, commonest, gaps_of, hold
from tracekit.cluster.trace.matrix import Matrix, Places
from tracekit.cluster.trace.rows import (
    CONTAINER,
    NODE,
    SERVICE,
    TIME,
    VALUES,
    Piece,
    UsageTable,
    container_table,
    node_table,
    positions,
)
from tracekit.cluster.trace.survey import Survey, survey
from tracekit.cluster.workload import UNKNOWN
from tracekit.store.broken_rows import all_rejected
from tracekit.store.folder import Store
from tracekit.store.stored_rows import LISTS
from tracekit.store.views import ids_of


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The tables over a time axis; nodes and containers in order of ids.

    Parameters
    ----------
    container_ids, service_ids : tuple of str
    at : int64, shape (containers,)
        The position of each container's node.
    first_step, last_step : int64, shape (containers,)
        First and last step with a row.
    column : int64, shape (containers,)
        The column of ``fraction`` that is each container's.
    fraction : float32, shape (2, steps, containers)
        Use of containers, NaN where there is no row.
    node_fraction : float32, shape (2, steps, nodes)
        Gaps are held; NaN for a node that was never measured.
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
    """The usage tables of a store, read twice: for their times, then for their values.

    Raises
    ------
    TracekitError
        When no container is left to replay.
    """
    found, measured = survey(container_table(store)), survey(node_table(store))
    if not found.rows:
        if lost := all_rejected(store.manifest, LISTS["container"]):
            raise lost
        raise TracekitError(
            "no container to replay: none is listed, and container_usage holds no complete row",
            hint="ingest the file that lists containers, or that of their use",
        )
    axis = axis_of(
        [found.times, measured.times],
        _step_ms(found, measured),
        gap_steps=assumptions.edge_steps,
        stray_share=assumptions.stray_share,
    )
    nodes = ids_of(store, "node")
    use, places = _container_use(container_table(store), found, axis, positions(nodes))
    there, own = _node_use(node_table(store), measured, axis, positions(nodes), places)
    ids = ids_of(store, "container").gather(use.key)
    order = ids.arg_sort().to_numpy().astype(np.int64)
    first, last = places.steps
    return Trace(
        axis=axis,
        node_ids=tuple(nodes.sort().gather(there)),
        container_ids=tuple(ids.gather(order)),
        service_ids=_service_ids(store, places.service[order]),
        at=np.searchsorted(there, places.node[order]),
        first_step=first[order],
        last_step=last[order],
        column=order,
        fraction=use.whole(),
        node_fraction=own,
        facts={
            "rows_incomplete": found.incomplete + measured.incomplete,
            "rows_stray": axis.stray_rows,
            "nodes_without_usage": int(np.isnan(own[0]).all(axis=0).sum()),
            "containers_on_several_nodes": int(places.moved[order].sum()),
        },
    )


def _step_ms(found: Survey, measured: Survey) -> int:
    every = gaps_of(found.times.with_columns(all=pl.lit(0)), "all")
    return found.step_ms or measured.step_ms or commonest(every, 1) or STEP_MS


def _container_use(
    table: UsageTable, found: Survey, axis: Axis, place: IntArray
) -> tuple[Matrix, Places]:
    matrix = Matrix(axis, found.moments, table.keys, found.entities, len(place))
    places = Places(axis, found.entities, len(place))
    for piece in _on_axis(table, axis, CONTAINER, NODE, SERVICE):
        column, node = matrix.columns(piece[CONTAINER]), place[piece[NODE]]
        matrix.fill(column, node, piece)
        places.add(column, node, piece)
    return matrix, places


def _node_use(
    table: UsageTable, found: Survey, axis: Axis, place: IntArray, places: Places
) -> tuple[IntArray, Float32Array]:
    """Positions of the nodes that either table speaks of, in order, and their use, gaps held."""
    matrix = Matrix(axis, found.moments, table.keys, found.entities, 1)
    for piece in _on_axis(table, axis, NODE):
        matrix.fill(matrix.columns(piece[NODE]), 0, piece)
    known = place[matrix.key]
    there = np.union1d(known, places.nodes)
    fraction = np.full((len(VALUES), len(axis.times_ms), len(there)), np.nan, dtype=np.float32)
    at = np.searchsorted(there, known)
    for target, values in zip(fraction, matrix.values, strict=True):
        target[:, at] = values[:, : matrix.entities]
    hold(fraction)
    return there, fraction


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
