"""Intervals for the table of busy, idle and memory-skewed nodes."""

import polars as pl

from tracekit.analysis.results import Inputs, Result
from tracekit.analysis.results._blocks import means_with_intervals


def node_cohorts_confidence(inputs: Inputs) -> pl.DataFrame:
    """One row per cohort and measure of ``usage/node_cohorts``, bootstrapped over the nodes.

    Who belongs to a cohort is taken as given. Columns: cohort, measure, mean, low, high (95 %),
    standard_error, nodes.
    """
    members = inputs.frames["usage/cohort_members"].join(
        inputs.frames["usage/node_containers"], on="node", how="left"
    )
    one, stays = pl.lit(1.0), pl.col("stays").fill_null(0).cast(pl.Float64)
    parts = [
        _part(members, "containers_per_node", pl.col("containers").fill_null(0), one),
        _part(members, "container_cpu_mean", stays * pl.col("container_cpu_mean"), stays),
        _part(members, "container_cpu_std", stays * pl.col("container_cpu_std"), stays),
        _part(members, "cpu_mean", pl.col("cpu_mean"), one),
        _part(members, "memory_mean", pl.col("memory_mean"), one),
    ]
    return means_with_intervals(inputs, pl.concat(parts), ["cohort"])


def _part(members: pl.DataFrame, measure: str, total: pl.Expr, weight: pl.Expr) -> pl.DataFrame:
    return members.select(
        "cohort",
        pl.lit(measure).alias("measure"),
        "node",
        total.cast(pl.Float64).alias("total"),
        weight.alias("weight"),
    )


RESULT = Result(
    title="Intervals for the table of busy, idle and memory-skewed nodes",
    queries=("usage/cohort_members", "usage/node_containers", "usage/node_cohorts"),
    function=node_cohorts_confidence,
)
