"""Whether the nodes of zone A are what the study says: CPU falling while memory stands."""

import polars as pl

from tracekit.analysis.metrics.theil_sen_slope import theil_sen_slope
from tracekit.analysis.results import Inputs, Result
from tracekit.analysis.results._blocks import blocks

#: Memory stands still when its slope is below this part of CPU's.
STILL_PART = 0.1


def zone_trends(inputs: Inputs) -> pl.DataFrame:
    """One row per zone: trends of its nodes over the trace (Theil-Sen slopes of block means).

    Columns: zone, nodes, cpu_slope_median and memory_slope_median (fraction of capacity per
    hour, medians over nodes), falling_share (nodes whose CPU falls while the slope of memory is
    below a tenth of CPU's, 0..1) and rising_share (the same with CPU rising).
    """
    cut = inputs.once(blocks)
    slopes = pl.DataFrame(
        {
            "node": cut.node,
            "cpu": theil_sen_slope(cut.cpu_mean, cut.time_h),
            "memory": theil_sen_slope(cut.memory_mean, cut.time_h),
        }
    ).with_columns(pl.col("cpu", "memory").fill_nan(None))
    still = pl.col("memory").abs() < STILL_PART * pl.col("cpu").abs()
    return (
        inputs.frames["usage/node_profile"]
        .select("node", "zone")
        .join(slopes, on="node", how="left")
        .group_by("zone")
        .agg(
            pl.len().cast(pl.Int64).alias("nodes"),
            pl.col("cpu").median().alias("cpu_slope_median"),
            pl.col("memory").median().alias("memory_slope_median"),
            ((pl.col("cpu") < 0) & still).mean().alias("falling_share"),
            ((pl.col("cpu") > 0) & still).mean().alias("rising_share"),
        )
        .with_columns(pl.selectors.float().round(9))
        .sort("zone")
    )


RESULT = Result(
    title="Trends of the nodes of each correlation zone",
    queries=("usage/node_profile", "usage/node_blocks"),
    function=zone_trends,
)
