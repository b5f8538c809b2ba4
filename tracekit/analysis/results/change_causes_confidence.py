"""Intervals for the table of causes of utilization change."""

import polars as pl

from tracekit.analysis.results import Inputs, Result
from tracekit.analysis.results._blocks import means_with_intervals

MEASURES = ("cpu_change_mean", "memory_change_mean", "cpu_move_mean", "memory_move_mean")


def change_causes_confidence(inputs: Inputs) -> pl.DataFrame:
    """One row per cause and measure of ``usage/change_causes``, bootstrapped over the nodes.

    A node is drawn with all its steps, so their dependence does no harm. Columns: cause, measure,
    mean, low, high (95 %), standard_error, nodes.
    """
    causes = inputs.frames["usage/node_causes"]
    parts = causes.unpivot(
        MEASURES, index=["cause", "node", "events"], variable_name="measure", value_name="mean"
    ).select(
        "cause",
        "measure",
        "node",
        (pl.col("events") * pl.col("mean")).alias("total"),
        pl.col("events").cast(pl.Float64).alias("weight"),
    )
    return means_with_intervals(inputs, parts, ["cause"])


RESULT = Result(
    title="Intervals for the table of causes of utilization change",
    queries=("usage/node_causes", "usage/change_causes"),
    function=change_causes_confidence,
)
