"""Calls along the edges of chains, by what containers report themselves.

Call graphs are a sample of calls (0.5 % in CTM21), so that in most periods none goes along an edge.
The rates of calls are reported whole (MSRTQps). What a container answers in a period is its own
rate; the sample tells how its callers on the chain share it (Yao et al., 1.1 (3): both tables).
"""

from __future__ import annotations

import polars as pl

from tracekit.files.places import scan_parquet
from tracekit.store.folder import Store
from tracekit.units import MS_PER_MINUTE, MS_PER_S

#: Rates of calls that a container answers; the first that it reports is its own.
ANSWERED = ("providerRPC_MCR", "HTTP_MCR", "consumerMQ_MCR")


def rated_calls(store: Store, sampled: pl.DataFrame, period_ms: int) -> pl.DataFrame:
    """The table of calls, by rates where the container that is called reports any.

    Parameters
    ----------
    sampled : DataFrame
        timestamp, um, dm (container_key), calls: those of the sampled traces, per period and edge.

    Returns
    -------
    DataFrame
        The same columns, sorted; ``calls`` is a float. Edges to containers without rates keep the
        calls of the sample.
    """
    edges = sampled.group_by("um", "dm").agg(pl.col("calls").sum().cast(pl.Float64).alias("seen"))
    shares = edges.with_columns(share=pl.col("seen") / pl.col("seen").sum().over("dm"))
    rates = _answered(store, edges["dm"].unique())
    parts = MS_PER_MINUTE // period_ms
    # a rate stands under the end of its minute, as usage samples do under theirs
    ends = pl.col("time_ms") + (MS_PER_MINUTE - pl.col("time_ms") % MS_PER_MINUTE) % MS_PER_MINUTE
    by_rate = (
        rates.join(shares, left_on="container_key", right_on="dm")
        .join(pl.DataFrame({"part": range(parts)}, schema={"part": pl.Int64}), how="cross")
        .select(
            (ends - pl.col("part") * period_ms).alias("timestamp"),
            "um",
            pl.col("container_key").alias("dm"),
            (pl.col("value") * pl.col("share") * (period_ms / MS_PER_S)).alias("calls"),
        )
        .filter(pl.col("calls") > 0)
        .group_by("timestamp", "um", "dm")
        .agg(pl.col("calls").mean())
    )
    kept = sampled.join(rates.select("container_key").unique(), left_on="dm",
                        right_on="container_key", how="anti")  # fmt: skip
    columns = [pl.col("timestamp").cast(pl.Int64), "um", "dm", pl.col("calls").cast(pl.Float64)]
    found = pl.concat([by_rate.select(columns), kept.select(columns)])
    return found.filter(pl.col("timestamp") >= 0).sort("timestamp", "um", "dm")


def _answered(store: Store, containers: pl.Series) -> pl.DataFrame:
    """container_key, time_ms, value: calls per second that each of the containers answers."""
    files = [scan_parquet(path) for path in store.table_files("service_rate")]
    if not files:
        return pl.DataFrame(
            schema={"container_key": pl.Int32, "time_ms": pl.Int64, "value": pl.Float64}
        )
    place = (
        pl.col("metric")
        .cast(pl.String)
        .replace_strict(
            {name: at for at, name in enumerate(ANSWERED)}, default=None, return_dtype=pl.Int64
        )
    )
    found = (
        pl.concat(files)
        .filter(pl.col("container_key").is_in(containers.implode()))
        .select("container_key", "time_ms", "value", place=place)
        .filter(pl.col("place").is_not_null() & pl.col("value").is_finite())
        .filter(pl.col("place") == pl.col("place").min().over("container_key"))
        .collect()
    )
    return found.select("container_key", "time_ms", "value")
