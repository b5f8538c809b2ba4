"""Intervals for single numbers of the queries; trends and tails of the nodes of zones."""

import numpy as np
import polars as pl
from scipy.special import stdtrit

from tracekit.analysis.metrics.correlation import correlation_error, effective_samples, zone_doubt
from tracekit.analysis.metrics.load import ccdf_slope, hill_index, theil_sen_slope
from tracekit.analysis.results import Inputs, blocks, means_with_intervals, result

MEASURES = ("cpu_change_mean", "memory_change_mean", "cpu_move_mean", "memory_move_mean")


@result(
    title="Intervals for the table of causes of utilization change",
    queries=("usage/node_causes", "usage/change_causes"),
)
def change_causes_confidence(inputs: Inputs) -> pl.DataFrame:
    """Return one row per cause and measure of ``usage/change_causes``, bootstrapped over the nodes.

    A node is drawn with all its steps, because these depend on each other. Columns: cause, measure,
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


@result(
    title="Intervals for the table of busy, idle and memory-skewed nodes",
    queries=("usage/cohort_members", "usage/node_containers", "usage/node_cohorts"),
)
def node_cohorts_confidence(inputs: Inputs) -> pl.DataFrame:
    """Return one row per cohort and measure of ``usage/node_cohorts``, bootstrapped over the nodes.

    Every draw keeps the division of nodes into cohorts. Columns: cohort, measure, mean, low, high
    (95 %), standard_error, nodes.
    """
    members = inputs.frames["usage/cohort_members"].join(
        inputs.frames["usage/node_containers"], on="node", how="left"
    )
    one, stay_count = pl.lit(1.0), pl.col("stays").fill_null(0).cast(pl.Float64)
    parts = [
        _part(members, measure, total, weight, cohort=pl.col("cohort"))
        for measure, total, weight in (
            ("containers_per_node", pl.col("containers").fill_null(0), one),
            ("container_cpu_mean", stay_count * pl.col("container_cpu_mean"), stay_count),
            ("container_cpu_std", stay_count * pl.col("container_cpu_std"), stay_count),
            ("cpu_mean", pl.col("cpu_mean"), one),
            ("memory_mean", pl.col("memory_mean"), one),
        )
    ]
    return means_with_intervals(inputs, pl.concat(parts), ["cohort"])


def _part(
    frame: pl.DataFrame, measure: str, total: pl.Expr, weight: pl.Expr, **keys: pl.Expr
) -> pl.DataFrame:
    """What each node contributes to a measure, as ``means_with_intervals`` takes it."""
    return frame.select(
        **keys,
        measure=pl.lit(measure),
        node="node",
        total=total.cast(pl.Float64),
        weight=weight.cast(pl.Float64),
    )


#: Columns of each measure of the table: of the entity's own mean, maximum and deviation.
LEVEL_MEASURES = {"mean": "mean", "peak": "max", "std": "std"}


@result(
    title="Intervals for the table of nodes against containers",
    queries=("usage/node_profile", "usage/node_containers", "usage/node_vs_container"),
)
def node_vs_container_confidence(inputs: Inputs) -> pl.DataFrame:
    """Return one row per level, resource and measure of ``usage/node_vs_container``.

    Containers are drawn with their node, because containers of a node depend on each other.
    Columns: level, resource, measure, mean, low, high (95 %), standard_error, nodes.
    """
    nodes = inputs.frames["usage/node_profile"].with_columns(pl.lit(1).alias("stays"))
    hosts = inputs.frames["usage/node_containers"]
    stay_count = pl.col("stays")
    parts = [
        _part(
            frame,
            measure,
            stay_count * pl.col(f"{prefix}{resource}_{column}"),
            stay_count,
            level=pl.lit(level),
            resource=pl.lit(resource),
        )
        for frame, level, prefix in ((nodes, "node", ""), (hosts, "container", "container_"))
        for resource in ("cpu", "memory")
        for measure, column in LEVEL_MEASURES.items()
    ]
    return means_with_intervals(inputs, pl.concat(parts), ["level", "resource"])


#: Columns of ``usage/node_profile`` of which zones have intervals.
ZONE_MEASURES = (
    *(f"{name}_{what}" for name in ("cpu", "memory") for what in ("mean", "median", "std", "max")),
    "util_diff",
    "debris",
)


@result(
    title="Intervals for the table of correlation zones",
    queries=("usage/node_profile", "usage/zone_summary"),
)
def zone_summary_confidence(inputs: Inputs) -> pl.DataFrame:
    """Return one row per zone and measure of ``usage/zone_summary``, bootstrapped over the nodes.

    Columns: zone, measure (``node_share`` or a column of that query), mean, low, high (95 %),
    standard_error, nodes.
    """
    profile = inputs.frames["usage/node_profile"]
    values = (
        profile.unpivot(
            ZONE_MEASURES,
            index=["zone", "node"],
            variable_name="measure",
            value_name="total",
        )
        .with_columns(pl.lit(1.0).alias("weight"))
        .select("zone", "node", "measure", "total", "weight")
    )
    return means_with_intervals(inputs, pl.concat([values, _membership(profile)]), ["zone"])


def _membership(profile: pl.DataFrame) -> pl.DataFrame:
    """Each node for each zone: 1 if it is in the zone, else 0; the mean is the zone's share."""
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


@result(
    title="How sure the correlation zone of each node is",
    queries=("usage/node_profile", "usage/node_blocks"),
)
def zones_confidence(inputs: Inputs) -> pl.DataFrame:
    """Return one row per node: its zone, and the probability that its true zone is another one.

    Columns: node, zone, pearson_r, r_low, r_high (95 % interval of the true correlation),
    other_zone_probability (0..1), blocks, samples, cpu_effective_samples, memory_effective_samples,
    r_effective_samples (how many independent samples would give the mean of CPU, the mean of memory
    and the correlation as exactly). NULL where the correlation is undefined or there are fewer than
    four blocks of time.
    """
    cut = inputs.once(blocks)
    error = correlation_error(
        cut.samples,
        (cut.cpu_mean, cut.memory_mean),
        (cut.cpu_var, cut.memory_var),
        cut.cpu_memory_cov,
    )
    measured = pl.DataFrame(
        {
            "node": cut.node,
            "error": error,
            "blocks": (cut.samples > 0).sum(axis=1),
            "cpu_effective_samples": effective_samples(cut.cpu_mean, cut.cpu_var, cut.samples),
            "memory_effective_samples": effective_samples(
                cut.memory_mean, cut.memory_var, cut.samples
            ),
        }
    )
    profile = inputs.frames["usage/node_profile"].select("node", "zone", "pearson_r", "samples")
    return _with_doubt(profile.join(measured, on="node", how="left", maintain_order="left"))


def _with_doubt(frame: pl.DataFrame) -> pl.DataFrame:
    r = frame["pearson_r"].cast(pl.Float64).to_numpy()
    error = frame["error"].to_numpy()
    freedom = np.maximum(frame["blocks"].to_numpy() - 1, 1)
    z, reach = np.arctanh(np.clip(r, -1 + 1e-9, 1 - 1e-9)), stdtrit(freedom, 0.975) * error
    positive = np.where(error > 0, error, np.nan)
    effective = np.minimum(3 + positive**-2, frame["samples"].to_numpy())
    columns = {
        "r_low": np.tanh(z - reach),
        "r_high": np.tanh(z + reach),
        "other_zone_probability": zone_doubt(r, error, freedom),
        "r_effective_samples": effective,
    }
    made = [pl.Series(name, np.where(np.isnan(r), np.nan, v)) for name, v in columns.items()]
    order = ["node", "zone", "pearson_r", "r_low", "r_high", "other_zone_probability", "blocks"]
    rest = ["cpu_effective_samples", "memory_effective_samples", "r_effective_samples"]
    whole = frame.with_columns(made).select(*order, "samples", *rest)
    floats = pl.selectors.float()
    return whole.with_columns(floats.fill_nan(None).round(9))


#: Memory stands still when its slope is below this part of CPU's.
STILL_PART = 0.1


@result(
    title="Trends of the nodes of each correlation zone",
    queries=("usage/node_profile", "usage/node_blocks"),
)
def zone_trends(inputs: Inputs) -> pl.DataFrame:
    """Return one row per zone: trends of its nodes over the trace.

    The trends are Theil-Sen slopes of block means.

    Columns: zone, nodes, cpu_slope_median and memory_slope_median (fraction of capacity per hour,
    medians over nodes), falling_share and rising_share (share of the nodes, 0..1, whose CPU falls
    or rises while the slope of memory is less than a tenth as steep).
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


UPPER_SHARE = 0.05
REPLICATES = 400


@result(title="The upper tail of the utilization difference", queries=("usage/node_profile",))
def util_diff_tail(inputs: Inputs) -> pl.DataFrame:
    """Return the tail of G, the difference of utilisations, for each zone and for all nodes.

    Columns: zone, nodes, tail_nodes (the upper 5 %), tail_start (G at which the tail starts),
    hill_index, hill_index_low, hill_index_high (95 % bootstrap interval over nodes), ccdf_slope (of
    the log-log CCDF over the tail). NULL where the tail has fewer than two nodes.
    """
    profile = inputs.frames["usage/node_profile"]
    groups = {"all": profile["util_diff"].to_numpy()}
    for zone in profile["zone"].unique().sort():
        groups[zone] = profile.filter(zone=zone)["util_diff"].to_numpy()
    rng = inputs.rng("util_diff_tail")
    rows = [_row(zone, values, rng) for zone, values in groups.items()]
    frame = pl.DataFrame(rows, schema=_TAIL_SCHEMA, orient="row")
    return frame.with_columns(pl.selectors.float().fill_nan(None).round(9))


_TAIL_SCHEMA = {
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
    index = hill_index(values, UPPER_SHARE)
    return zone, len(values), size, start, index, low, high, ccdf_slope(values, UPPER_SHARE)


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
