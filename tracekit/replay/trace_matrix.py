"""A trace's usage tables as dense matrices over a regular time axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.replay.arrivals import Life, lives
from tracekit.replay.assumptions import Assumptions
from tracekit.replay.resources import BASE
from tracekit.replay.series import Axis, hold
from tracekit.replay.trace_tables import TraceTables

_COLUMNS = ("cpu_fraction", "memory_fraction")


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The tables as matrices of fractions, gaps held; nodes and containers in order of ids.

    Parameters
    ----------
    table : DataFrame
        One row per container: id, service_id, and ``at``, the position of its node.
    container_fraction : float32, shape (2, steps, containers)
    node_fraction : float32, shape (2, steps, nodes)
        NaN for a node that was never measured.
    """

    axis: Axis
    node_ids: tuple[str, ...]
    table: pl.DataFrame
    lives: Life
    container_fraction: NDArray[np.float32]
    node_fraction: NDArray[np.float32]
    facts: Mapping[str, int]


def trace_of(tables: TraceTables, axis: Axis, assumptions: Assumptions) -> Trace:
    """The matrices of a trace on an axis."""
    rows, node_rows = _on_axis(tables.containers, axis), _on_axis(tables.nodes, axis)
    nodes = pl.concat([rows["node"], node_rows["node"]]).unique().sort().to_numpy()
    table = _container_table(rows, tables)
    used = _matrix(rows, axis, rows["container"], table["container"].to_numpy())
    measured = _matrix(node_rows, axis, node_rows["node"], nodes)
    life = lives(table, axis, assumptions)
    facts = {
        "rows_incomplete": tables.incomplete,
        "rows_stray": axis.stray_rows,
        "nodes_without_usage": int(np.isnan(measured[0]).all(axis=0).sum()),
        "containers_on_several_nodes": int((table["node_count"] > 1).sum()),
        "container_steps_held": int((life.at_steps(len(axis.times_ms)) & np.isnan(used[0])).sum()),
    }
    hold(used)
    hold(measured)
    return Trace(
        axis=axis,
        node_ids=tuple(tables.ids["node"].gather(nodes)),
        table=table.with_columns(at=pl.Series(np.searchsorted(nodes, table["node"].to_numpy()))),
        lives=life,
        container_fraction=used,
        node_fraction=measured,
        facts=facts,
    )


def _on_axis(rows: pl.DataFrame, axis: Axis) -> pl.DataFrame:
    steps = axis.steps_of(rows["time_ms"].to_numpy())
    return rows.with_columns(step=pl.Series(steps)).filter(pl.col("step") >= 0)


def _container_table(rows: pl.DataFrame, tables: TraceTables) -> pl.DataFrame:
    found = rows.group_by("container", maintain_order=True).agg(
        pl.col("service").drop_nulls().first(),
        pl.col("node").first(),
        node_count=pl.col("node").n_unique(),
        first_step=pl.col("step").min(),
        last_step=pl.col("step").max(),
    )
    return found.with_columns(
        id=tables.ids["container"].gather(found["container"]),
        service_id=tables.ids["service"].gather(found["service"]).fill_null("?"),
    )


def _matrix(
    rows: pl.DataFrame, axis: Axis, entity: pl.Series, there: NDArray[np.uint32]
) -> NDArray[np.float32]:
    matrix = np.full((len(BASE), len(axis.times_ms), len(there)), np.nan, dtype=np.float32)
    column = np.searchsorted(there, entity.to_numpy())
    step = rows["step"].to_numpy()
    # Of several rows for one cell the first shall stay, and assignment keeps the last.
    _, first = np.unique(column * len(axis.times_ms) + step, return_index=True)
    for at, name in enumerate(_COLUMNS):
        matrix[at, step[first], column[first]] = rows[name].to_numpy()[first]
    return matrix
