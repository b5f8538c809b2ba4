"""Ids in the place of keys, and the rows in the order of the ids."""

import polars as pl

from tracekit.analysis.quick.forms import Sorted


def by_node(rows: pl.DataFrame, given: Sorted, *order: str) -> pl.DataFrame:
    """The rows with ``node`` for ``node_key``, in the order of ``node`` and of these columns.

    Those of a key without an id are left out.
    """
    # texts are long: they are ordered once and not row by row
    ids = ids_of("node", given).sort("node")
    ranked = rows.join(ids.select("node_key").with_row_index("rank"), on="node_key", how="inner")
    ordered = ranked.sort("rank", *order)
    return ordered.select(ids["node"].gather(ordered["rank"]), pl.exclude("node_key", "rank"))


def ids_of(entity: str, given: Sorted) -> pl.DataFrame:
    """The keys and ids of an entity: ``node_key`` and ``node``."""
    return given.database.frame(f"SELECT {entity}_key, {entity} FROM {entity}_id")
