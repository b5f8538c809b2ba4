"""``usage/node_blocks``, in one walk over the samples of each node."""

from __future__ import annotations

import polars as pl

from tracekit.quick.forms import Quick, Sorted
from tracekit.quick.forms._named import by_node

_BLOCK_MS = 1_800_000
_CPU, _MEMORY = pl.col("cpu_fraction"), pl.col("memory_fraction")
_TIME = pl.col("time_ms")


def node_blocks(given: Sorted) -> pl.DataFrame:
    """The columns of ``queries/usage/node_blocks.sql``."""
    grid = given.frames["quality/time_grid"].row(
        by_predicate=pl.col("table") == "node_usage", named=True
    )
    # one number for node and block, so that the order of both is known to the reader
    blocks = grid["time_max_ms"] // _BLOCK_MS + 1
    place = pl.col("node_key").cast(pl.Int64) * blocks + _TIME // _BLOCK_MS
    moments = (
        given.parts[0]
        .filter(_TIME.is_between(grid["time_min_ms"], grid["time_max_ms"]))
        .select(place.alias("place"), _CPU, _MEMORY)
        .set_sorted("place")
        .group_by("place")
        .agg(
            pl.len().cast(pl.Int64).alias("samples"),
            _CPU.mean().round(12).alias("cpu_mean"),
            _MEMORY.mean().round(12).alias("memory_mean"),
            _CPU.var(ddof=0).round(15).alias("cpu_var"),
            _MEMORY.var(ddof=0).round(15).alias("memory_var"),
            pl.cov(_CPU, _MEMORY, ddof=0).round(15).alias("cpu_memory_cov"),
        )
        .collect(engine="streaming")
        .with_columns(
            (pl.col("place") // blocks).cast(pl.Int32).alias("node_key"),
            (pl.col("place") % blocks * _BLOCK_MS).alias("block_start_ms"),
        )
    )
    start = "block_start_ms"
    return by_node(moments.drop("place"), given, start).select(
        "node", start, pl.exclude("node", start)
    )


QUICK = Quick(query="usage/node_blocks", table="node_usage", function=node_blocks)
