"""Intervals for the table of zones."""

import polars as pl

from tracekit.analysis.results import Inputs, Result
from tracekit.analysis.results._blocks import means_with_intervals

MEASURES = (
    "cpu_mean",
    "cpu_median",
    "cpu_std",
    "cpu_max",
    "memory_mean",
    "memory_median",
    "memory_std",
    "memory_max",
    "util_diff",
    "debris",
)


def zone_summary_confidence(inputs: Inputs) -> pl.DataFrame:
    """One row per zone and measure of ``usage/zone_summary``, bootstrapped over the nodes.

    Columns: zone, measure (``node_share`` or a column of that query), mean, low, high (95 %),
    standard_error, nodes.
    """
    profile = inputs.frames["usage/node_profile"]
    values = (
        profile.unpivot(
            MEASURES, index=["zone", "node"], variable_name="measure", value_name="total"
        )
        .with_columns(pl.lit(1.0).alias("weight"))
        .select("zone", "node", "measure", "total", "weight")
    )
    return means_with_intervals(inputs, pl.concat([values, _membership(profile)]), ["zone"])


def _membership(profile: pl.DataFrame) -> pl.DataFrame:
    """Every node against every zone: 1 where it is in it; the mean is the zone's share."""
    return (
        profile.select("node", pl.col("zone").alias("own"))
        .join(profile.select("zone").unique(), how="cross")
        .select(
            "zone",
            "node",
            pl.lit("node_share").alias("measure"),
            (pl.col("own") == pl.col("zone")).cast(pl.Float64).alias("total"),
            pl.lit(1.0).alias("weight"),
        )
    )


RESULT = Result(
    title="Intervals for the table of correlation zones",
    queries=("usage/node_profile", "usage/zone_summary"),
    function=zone_summary_confidence,
)
