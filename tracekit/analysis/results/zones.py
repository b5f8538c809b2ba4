"""What the nodes of the correlation zones do over time."""

import numpy as np
import polars as pl

from tracekit.analysis.metrics.load import ccdf_slope, hill_index, theil_sen_slope
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


zone_trends_ = Result(
    title="Trends of the nodes of each correlation zone",
    queries=("usage/node_profile", "usage/node_blocks"),
    function=zone_trends,
)


UPPER_SHARE = 0.05
REPLICATES = 400


def util_diff_tail(inputs: Inputs) -> pl.DataFrame:
    """One row for each zone and one, 'all', for all nodes: the tail of G.

    Columns: zone, nodes, tail_nodes (the upper 5 %), tail_start (G at which the tail starts),
    hill_index, hill_index_low, hill_index_high (95 % bootstrap interval over nodes), ccdf_slope
    (of the log-log CCDF over the tail). NULL where the tail has fewer than two nodes.
    """
    profile = inputs.frames["usage/node_profile"]
    groups = {"all": profile["util_diff"].to_numpy()}
    for zone in profile["zone"].unique().sort():
        groups[zone] = profile.filter(zone=zone)["util_diff"].to_numpy()
    rng = inputs.rng("util_diff_tail")
    rows = [_row(zone, values, rng) for zone, values in groups.items()]
    frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    return frame.with_columns(pl.selectors.float().fill_nan(None).round(9))


_SCHEMA = {
    "zone": pl.String,
    "nodes": pl.Int64,
    "tail_nodes": pl.Int64,
    "tail_start": pl.Float64,
    "hill_index": pl.Float64,
    "hill_index_low": pl.Float64,
    "hill_index_high": pl.Float64,
    "ccdf_slope": pl.Float64,
}


def _row(
    zone: str, values: np.ndarray[tuple[int], np.dtype[np.float64]], rng: np.random.Generator
) -> tuple[object, ...]:
    size = int(UPPER_SHARE * len(values))
    start = float(np.sort(values)[-size]) if size else float("nan")
    # only the tail and the value below it enter the index, and a draw keeps a tail of that size
    low, high = _interval(values, rng) if size >= 2 else (float("nan"), float("nan"))
    found = hill_index(values, UPPER_SHARE)
    return zone, len(values), size, start, found, low, high, ccdf_slope(values, UPPER_SHARE)


def _interval(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], rng: np.random.Generator
) -> tuple[float, float]:
    drawn = [
        hill_index(rng.choice(values, size=len(values)), UPPER_SHARE) for _ in range(REPLICATES)
    ]
    usable = [value for value in drawn if not np.isnan(value)]
    if not usable:
        return float("nan"), float("nan")
    low, high = np.quantile(usable, [0.025, 0.975])
    return float(low), float(high)


util_diff_tail_ = Result(
    title="The upper tail of the utilization difference",
    queries=("usage/node_profile",),
    function=util_diff_tail,
)
