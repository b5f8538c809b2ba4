"""Intervals for the table of nodes against containers."""

import polars as pl

from tracekit.analysis.results import Inputs, Result
from tracekit.analysis.results._blocks import means_with_intervals

#: Columns of each measure of the table: of the entity's own mean, maximum and deviation.
MEASURES = {"mean": "mean", "peak": "max", "std": "std"}


def node_vs_container_confidence(inputs: Inputs) -> pl.DataFrame:
    """One row per level, resource and measure of ``usage/node_vs_container``.

    Nodes are drawn, and containers with their node: what shares a node is not independent.
    Columns: level, resource, measure, mean, low, high (95 %), standard_error, nodes.
    """
    nodes = inputs.frames["usage/node_profile"].with_columns(pl.lit(1).alias("stays"))
    hosts = inputs.frames["usage/node_containers"]
    parts = [
        _part(frame, level, resource, measure, f"{prefix}{resource}_{column}")
        for frame, level, prefix in ((nodes, "node", ""), (hosts, "container", "container_"))
        for resource in ("cpu", "memory")
        for measure, column in MEASURES.items()
    ]
    return means_with_intervals(inputs, pl.concat(parts), ["level", "resource"])


def _part(
    frame: pl.DataFrame, level: str, resource: str, measure: str, column: str
) -> pl.DataFrame:
    return frame.select(
        pl.lit(level).alias("level"),
        pl.lit(resource).alias("resource"),
        pl.lit(measure).alias("measure"),
        "node",
        (pl.col("stays") * pl.col(column)).alias("total"),
        pl.col("stays").cast(pl.Float64).alias("weight"),
    )


RESULT = Result(
    title="Intervals for the table of nodes against containers",
    queries=("usage/node_profile", "usage/node_containers", "usage/node_vs_container"),
    function=node_vs_container_confidence,
)
