"""``usage/node_profile``, in one walk over the samples of each node."""

import numpy as np
import polars as pl

from tracekit.analysis.metrics import CONSTANT_VARIANCE
from tracekit.analysis.metrics.correlation import strength, zone
from tracekit.analysis.quick.forms import Quick, Sorted
from tracekit.analysis.quick.forms._named import by_node
from tracekit.store.sqlfiles import default_of

_QUERY = "usage/node_profile"
_CPU, _MEMORY = pl.col("cpu_fraction"), pl.col("memory_fraction")


def node_profile(given: Sorted) -> pl.DataFrame:
    """The columns of ``queries/usage/node_profile.sql``."""
    moments = (
        given.parts[0]
        .set_sorted("node_key")
        .group_by("node_key")
        .agg(
            pl.len().cast(pl.Int64).alias("samples"),
            *_moments(_CPU, "cpu"),
            *_moments(_MEMORY, "memory"),
            pl.cov(_CPU, _MEMORY, ddof=0).alias("cov"),
            (_CPU - _MEMORY).abs().mean().alias("util_diff"),
            (1 - (_CPU.clip(upper_bound=1) + _MEMORY.clip(upper_bound=1)) / 2)
            .mean()
            .alias("debris"),
        )
        .collect(engine="streaming")
    )
    correlated = _correlated(by_node(moments, given))
    means = ("mean", "median", "std", "max")
    measures = [f"{resource}_{name}" for resource in ("cpu", "memory") for name in means]
    rounded = [name for name in measures if name.endswith(("mean", "std"))]
    return correlated.select(
        "node", "samples", *measures, "pearson_r", "zone", "strength", "util_diff", "debris"
    ).with_columns(pl.col(*rounded, "pearson_r", "util_diff", "debris").round(12))


def _moments(values: pl.Expr, name: str) -> list[pl.Expr]:
    return [
        values.mean().alias(f"{name}_mean"),
        values.median().alias(f"{name}_median"),
        values.std(ddof=0).alias(f"{name}_std"),
        values.max().alias(f"{name}_max"),
    ]


def _correlated(moments: pl.DataFrame) -> pl.DataFrame:
    cpu, memory = pl.col("cpu_std"), pl.col("memory_std")
    long = pl.col("samples") >= default_of(_QUERY, "min_samples")
    varies = (cpu**2 > CONSTANT_VARIANCE) & (memory**2 > CONSTANT_VARIANCE)
    r = (pl.col("cov") / (cpu * memory)).clip(-1, 1)
    found = moments.with_columns(pl.when(long & varies).then(r).alias("pearson_r"))
    values = found["pearson_r"].fill_null(np.nan).to_numpy()
    return found.with_columns(
        pl.when(long).then(pl.Series(zone(values))).otherwise(pl.lit("too_short")).alias("zone"),
        pl.Series("strength", strength(values)),
    )


QUICK = Quick(query=_QUERY, table="node_usage", function=node_profile)
