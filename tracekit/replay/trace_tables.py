"""Usage tables of a trace with ids as positions, so that 65 million rows stay small.

A position is the place of an id among all ids in order, so that sorting by position is sorting
by id, whatever keys a store gave.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from tracekit.errors import TracekitError

if TYPE_CHECKING:
    from tracekit.store import Store

_VALUES = ("cpu_fraction", "memory_fraction")
_ENTITIES = ("node", "service", "container")


@dataclass(frozen=True, kw_only=True)
class TraceTables:
    """Complete rows of the two usage tables, sorted by entity and time.

    Parameters
    ----------
    nodes : DataFrame
        time_ms, node, cpu_fraction, memory_fraction.
    containers : DataFrame
        time_ms, service, container, node, cpu_fraction, memory_fraction; service may be NULL.
    ids : dict of str to Series
        Original ids by entity; a position in the tables is an index here.
    incomplete : int
        Rows left out because an id, the time or a value was missing.
    """

    nodes: pl.DataFrame
    containers: pl.DataFrame
    ids: dict[str, pl.Series]
    incomplete: int


def tables_of_frames(node_usage: pl.DataFrame, container_usage: pl.DataFrame) -> TraceTables:
    """From frames whose id columns hold the ids themselves."""
    ids = {
        "node": pl.concat([node_usage["node"], container_usage["node"]]),
        "service": container_usage["service"],
        "container": container_usage["container"],
    }
    dimensions = {
        entity: pl.DataFrame({"key": column, "id": column})
        for entity, column in ((e, c.drop_nulls().unique().sort()) for e, c in ids.items())
    }
    return _coded(node_usage, container_usage, dimensions)


def tables_of_store(store: Store) -> TraceTables:
    """From a store, by its integer keys and dimensions."""
    from tracekit.query.database import Database  # noqa: PLC0415 - duckdb is slow to import

    with Database(store) as database:
        nodes = database.frame(
            "SELECT time_ms, node_key AS node, cpu_fraction, memory_fraction FROM node_usage"
        )
        containers = database.frame(
            "SELECT time_ms, service_key AS service, container_key AS container,"
            " node_key AS node, cpu_fraction, memory_fraction FROM container_usage"
        )
        dimensions = {entity: _dimension(database.frame(_distinct(entity))) for entity in _ENTITIES}
    return _coded(nodes, containers, dimensions)


def _distinct(entity: str) -> str:
    column = f"SELECT DISTINCT {entity}_key AS key, {entity} AS id FROM"
    both = f" UNION {column} node_usage" if entity == "node" else ""
    return f"{column} container_usage{both}"


def _dimension(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.drop_nulls().unique()


def _coded(
    node_usage: pl.DataFrame, container_usage: pl.DataFrame, dimensions: dict[str, pl.DataFrame]
) -> TraceTables:
    ordered = {
        entity: dimension.sort("id").with_row_index("position")
        for entity, dimension in dimensions.items()
    }
    nodes = _replace(node_usage, {"node": ordered["node"]}).drop_nulls()
    containers = _replace(container_usage, ordered).drop_nulls(
        ["time_ms", "container", "node", *_VALUES]
    )
    if not containers.height:
        raise TracekitError(
            "no container usage to replay: container_usage holds no complete row",
            hint="ingest the container usage table, or give --workload DIR",
        )
    return TraceTables(
        nodes=nodes.sort("node", "time_ms", maintain_order=True),
        containers=containers.sort("container", "time_ms", "node", maintain_order=True),
        ids={entity: dimension["id"] for entity, dimension in ordered.items()},
        incomplete=node_usage.height + container_usage.height - nodes.height - containers.height,
    )


def _replace(frame: pl.DataFrame, dimensions: dict[str, pl.DataFrame]) -> pl.DataFrame:
    for entity, dimension in dimensions.items():
        frame = (
            frame.join(
                dimension.select(pl.col("key").alias(entity), "position"),
                on=entity,
                how="left",
                maintain_order="left",
            )
            .drop(entity)
            .rename({"position": entity})
        )
    return frame.with_columns(pl.col("time_ms").cast(pl.Int64))
