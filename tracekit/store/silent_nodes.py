"""Nodes of which no use is recorded, where that of others is: they look empty, and may be full."""

import polars as pl

from tracekit.files.places import scan_parquet
from tracekit.store import never_ran
from tracekit.store.folder import Store
from tracekit.store.manifest import DERIVED
from tracekit.store.moments import is_moment
from tracekit.store.views import ids_of

_OWN = ("node_amount", "node_usage")
_RAN = ("container", "container_usage")


def silent(store: Store, nodes: pl.DataFrame) -> pl.DataFrame:
    """The nodes without recorded use of their own, and without a container; none if all are alike.

    A list of kubectl has every pod: there a node without a pod is empty, and is not among them.
    """
    own = without_use(store, nodes)
    if never_ran.says_so(store) or not own.height:
        return own.clear()
    return own.filter(~pl.col("node").is_in(_named(store, _RAN).implode()))


def told(store: Store, nodes: pl.DataFrame) -> str:
    """A sentence on the nodes without recorded use; empty where there are none."""
    own, aside = without_use(store, nodes).height, silent(store, nodes).height
    parts = []
    if aside:
        parts.append(
            f"of {aside:,} of {nodes.height:,} nodes neither use nor a container is recorded, while"
            " the use of others is: they may be full, so they are set aside, and nothing is placed"
            " there"
        )
    if own > aside:
        parts.append(
            f"use of nodes is recorded for {nodes.height - own:,} of {nodes.height - aside:,}: on"
            " the others only containers count, and not what runs beside them"
        )
    return "; ".join(parts)


def without_use(store: Store, nodes: pl.DataFrame) -> pl.DataFrame:
    """The nodes that no sample of a node is of, where samples are of others."""
    used = pl.Series([], dtype=pl.String) if is_moment(store.manifest) else _named(store, _OWN)
    found = nodes.filter(~pl.col("node").is_in(used.implode()))
    return found if found.height < nodes.height else nodes.clear()


def _named(store: Store, tables: tuple[str, ...]) -> pl.Series:
    """The nodes that sources speak of in these tables."""
    files = [
        path
        for table in tables
        for entry, path in zip(store.manifest.parts(table), store.table_files(table), strict=True)
        if entry.rows and entry.release != DERIVED
    ]
    keys = [scan_parquet(file).select("node_key").unique().collect()["node_key"] for file in files]
    known = pl.concat([pl.Series([], dtype=pl.Int32), *keys]).unique().drop_nulls()
    return ids_of(store, "node").gather(known)
