"""Shared parts of readers of delimited files: recognition, times, states that repeat."""

from collections.abc import Iterator, Mapping

import polars as pl

from tracekit.sources._cluster import Batch, Broken, Opened
from tracekit.sources._rows import Delimited, frames, long


def standing(
    raw: pl.DataFrame, sizes: Mapping[str, tuple[str, str, float]], *more: pl.Expr | pl.Series
) -> Iterator[Batch]:
    """Nodes that are there from the beginning and ready, in the order of their lines; their sizes.

    Parameters
    ----------
    sizes : resource, unit and factor by the column that holds them
    """
    nodes = raw.with_columns(time_ms=pl.lit(0, pl.Int64))
    rows = nodes.select(
        "time_ms",
        "node",
        pl.col("line").alias("position"),
        pl.lit("ready").alias("state"),
        *more,
        "line",
    )
    yield Batch(table="node", rows=rows)
    yield Batch(table="node_resource", rows=long(nodes, ["time_ms", "node"], sizes))


def whole(opened: Opened, form: Delimited) -> tuple[pl.DataFrame, list[Broken]]:
    """All rows of a file at once; for tables that are small."""
    return together(frames(opened, form))


def together(
    parts: Iterator[tuple[pl.DataFrame, list[Broken]]],
) -> tuple[pl.DataFrame, list[Broken]]:
    """Rows that come in parts, at once. A file that is known by its lines has some."""
    made, broken = zip(*parts, strict=True)
    return pl.concat(made), [one for some in broken for one in some]


def ms(column: str | pl.Expr) -> pl.Expr:
    """Seconds as whole milliseconds."""
    seconds = pl.col(column) if isinstance(column, str) else column
    return (seconds * 1000).round().cast(pl.Int64, strict=False)


def without_labels(entity: str) -> pl.Expr:
    """The column ``labels``, where an entity has none any more of those it had before: ``{}``.

    What a row of the table ``node`` does not state is as it was last stated.
    """
    labels = pl.col("labels")
    before = labels.forward_fill().over(entity, order_by="time_ms")
    lost = labels.is_null() & before.is_not_null()
    return pl.when(lost).then(pl.lit("{}")).otherwise(labels).alias("labels")
