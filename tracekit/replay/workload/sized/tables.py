"""The small tables of a store with their ids as texts: what there is, has and asks for what."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from tracekit.errors import TracekitError
from tracekit.files.places import scan_parquet
from tracekit.store import Store
from tracekit.store.manifest import DERIVED
from tracekit.tables import all_tables

_MS = "time_ms"


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What a store says of sizes.

    Attributes
    ----------
    nodes : DataFrame
        The table ``node`` as it is when the replay begins, a row for each node, in the order of
        the source.
    capacity : DataFrame
        ``node_resource`` of these nodes, whole nodes and cells.
    containers : DataFrame
        The table ``container``, in order of arrival, then of the source.
    requests : DataFrame
        ``container_resource``, the first of each container and resource.
    rules : DataFrame
        ``sharing_rule``.
    """

    nodes: pl.DataFrame
    capacity: pl.DataFrame
    containers: pl.DataFrame
    requests: pl.DataFrame
    rules: pl.DataFrame


def is_sized(store: Store) -> bool:
    """Whether a store records what containers ask for."""
    return bool(_rows(store, "container") and _rows(store, "container_resource"))


def records_nodes(store: Store) -> bool:
    """Whether a store records what nodes have."""
    return bool(_rows(store, "node_resource"))


def used_by_others(store: Store) -> bool:
    """Whether use comes as fractions from a source that lists no containers, as CTM21 does not.

    Then the samples of use tell when containers come and go.
    """
    listing = {entry.release for entry in store.manifest.parts("container") if entry.rows}
    using = {
        entry.release
        for entry in store.manifest.parts("container_usage")
        if entry.rows and entry.release != DERIVED
    }
    return bool(using - listing)


def _rows(store: Store, table: str) -> int:
    return sum(entry.rows for entry in store.manifest.parts(table))


def sizes_of(store: Store) -> Sizes:
    """Read the tables.

    Raises
    ------
    TracekitError
        When a container is not listed although resources or use speak of it.
    """
    containers = read(store, "container").sort("time_ms", "position", "container")
    containers = containers.unique("container", keep="last", maintain_order=True)
    requests = read(store, "container_resource").sort("container", "resource", _MS)
    requests = requests.unique(["container", "resource"], keep="first", maintain_order=True)
    strange = requests.join(containers, on="container", how="anti")
    if strange.height:
        raise TracekitError(
            f"container '{strange['container'][0]}' has a request and is not in the table container"
            f" ({strange['container'].n_unique():,} such containers)",
            hint="ingest the file that lists containers with their times too",
        )
    nodes = _as_of_start(read(store, "node"), ["node"])
    gone = nodes.filter(pl.col("state") == "gone")["node"].to_list()
    capacity = _as_of_start(read(store, "node_resource"), ["node", "resource", "cell"])
    unlisted = capacity.select("node").unique().join(nodes, on="node", how="anti").sort("node")
    nodes = pl.concat([nodes, unlisted], how="diagonal").sort("position", "node", nulls_last=True)
    return Sizes(
        nodes=nodes.filter(~pl.col("node").is_in(gone)),
        capacity=capacity.filter(~pl.col("node").is_in(gone)),
        containers=containers,
        requests=requests,
        rules=read(store, "sharing_rule").sort("holder", "guest", _MS),
    )


def _as_of_start(rows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Each thing's first row: what it was when the trace began, or when it came."""
    return rows.sort(_MS, maintain_order=True).unique(keys, keep="first", maintain_order=True)


def read(store: Store, name: str) -> pl.DataFrame:
    """A table with its ids as texts, all its parts, in their order."""
    table = all_tables()[name]
    files = store.table_files(name)
    kinds = {"time": pl.Int64, "number": pl.Float64, "id": pl.String, "text": pl.String}
    if not files:
        return pl.DataFrame(schema={c.name: kinds[c.kind] for c in table.columns})
    rows = scan_parquet(*files).collect()
    for column in table.ids:
        assert column.entity is not None  # noqa: S101 - ids have one
        ids = ids_of(store, column.entity)
        rows = rows.with_columns(
            pl.Series(column.name, ids.gather(rows[column.stored_name]), pl.String)
        )
    lacking = [c for c in table.columns if c.name not in rows.columns]  # of an older store
    rows = rows.with_columns(pl.lit(None, kinds[c.kind]).alias(c.name) for c in lacking)
    return rows.select(column.name for column in table.columns)


def ids_of(store: Store, entity: str) -> pl.Series:
    """The original ids of an entity, by key."""
    files = store.dimension_files(entity)
    if not files:
        return pl.Series(entity, [], dtype=pl.String)
    return scan_parquet(*files).select("key", "id").collect().sort("key")["id"]
