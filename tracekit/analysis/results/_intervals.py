"""Bootstrap intervals for the means of a table, the nodes being drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from tracekit.analysis.results import Inputs
from tracekit.arrays import FloatArray
from tracekit.metrics.bootstrap_interval import bootstrap_interval, resampling_matrix

REPLICATES = 1000


def means_with_intervals(inputs: Inputs, parts: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """One row per mean: what it is, its value, a 95 % interval and a standard error.

    Parameters
    ----------
    parts : DataFrame
        What each node contributes: ``keys``, ``measure``, ``node``, ``total`` and ``weight``; the
        mean is the sum of totals / the sum of weights.
    keys : sequence of str
        Columns that name the group a mean is of.

    Returns
    -------
    DataFrame
        ``keys``, measure, mean, low, high, standard_error, nodes.
    """
    names = [*keys, "measure"]
    means = (
        parts.group_by(names)
        .agg(
            (pl.col("total").sum() / pl.col("weight").sum()).alias("mean"),
            (pl.col("weight") > 0).sum().cast(pl.Int64).alias("nodes"),
        )
        .sort(names)
    )
    low, high, error = bootstrap_interval(
        *_by_node(inputs, parts, means, names), inputs.once(_drawn)
    )
    limits = (pl.Series("low", low), pl.Series("high", high), pl.Series("standard_error", error))
    found = means.with_columns(limits)
    return found.select(*names, "mean", "low", "high", "standard_error", "nodes").with_columns(
        pl.selectors.float().fill_nan(None).round(9)
    )


def _by_node(
    inputs: Inputs, parts: pl.DataFrame, means: pl.DataFrame, names: list[str]
) -> tuple[FloatArray, FloatArray]:
    """Totals and weights, shape (nodes, means)."""
    nodes = inputs.once(_nodes)
    placed = parts.join(nodes.with_row_index("row"), on="node").join(
        means.select(names).with_row_index("column"), on=names
    )
    at = placed["row"].to_numpy(), placed["column"].to_numpy()
    arrays = np.zeros((2, nodes.height, means.height))
    arrays[0][at] = placed["total"].fill_null(0).to_numpy()
    arrays[1][at] = placed["weight"].fill_null(0).to_numpy()
    return arrays[0], arrays[1]


def _nodes(inputs: Inputs) -> pl.DataFrame:
    """Every node that usage or containers are known of."""
    known = [
        inputs.frames[name].select("node")
        for name in ("usage/node_profile", "usage/node_containers")
        if name in inputs.frames
    ]
    return pl.concat(known).unique().sort("node")


def _drawn(inputs: Inputs) -> FloatArray:
    """One resampling matrix for every table."""
    return resampling_matrix(inputs.rng("nodes"), inputs.once(_nodes).height, REPLICATES)
