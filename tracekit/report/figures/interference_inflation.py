"""CPU lost to neighbours under each way to bind."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.figures import Figure
from tracekit.report.palette import POLICY_SLOTS, color
from tracekit.report.plot import axis, blank, numbers
from tracekit.report.words import number, percent

_SOURCE = "bind/repeats"
_SCHEMA = {
    "policy": pl.String,
    "mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "fraction": pl.Float64,
    "orders": pl.Int64,
}


def _prepare(data: Data) -> pl.DataFrame:
    found = data.result(_SOURCE)
    if found.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    lost = pl.col("inflation_vcpus")
    return (
        found.group_by("policy", maintain_order=True)
        .agg(
            lost.mean().alias("mean"),
            lost.min().alias("low"),
            lost.max().alias("high"),
            pl.col("inflation_mean_fraction").mean().alias("fraction"),
            pl.len().cast(pl.Int64).alias("orders"),
        )
        .select(list(_SCHEMA))
    )


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank(max(240, 110 + 46 * frame.height))
    for at, row in enumerate(frame.iter_rows(named=True)):
        figure.add_bar(
            x=numbers([row["mean"]]),
            y=[row["policy"]],
            orientation="h",
            showlegend=False,
            name=row["policy"],
            marker={"color": color(f"policy-{at % POLICY_SLOTS + 1}")},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": numbers([row["high"] - row["mean"]]),
                "arrayminus": numbers([row["mean"] - row["low"]]),
                "color": color("ink"),
                "thickness": 1,
            },
            hovertemplate="%{y}: %{x:.3g} vCPUs<extra></extra>",
        )
    figure.update_layout(
        xaxis=axis("CPU lost to neighbours, all containers [vCPUs]"),
        yaxis=axis("", autorange="reversed"),
    )
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    low = frame.sort("mean", "policy").row(0, named=True)
    high = frame.sort("mean", "policy", descending=[True, False]).row(0, named=True)
    if low["policy"] == high["policy"] or high["mean"] <= 0:
        return f"Under {low['policy']} neighbours cost {number(low['mean'])} vCPUs."
    saved = percent(1 - low["mean"] / high["mean"])
    return (
        f"Under {low['policy']} neighbours cost {number(low['mean'])} vCPUs, {saved} less than"
        f" under {high['policy']}."
    )


FIGURE = Figure(
    title="CPU lost to neighbours, by who chooses vCPUs",
    question="How much interference can placement avoid?",
    how_to_read="A shorter bar is better: it adds up, over all containers, the CPU that they use"
    " more because of who shares their cores and sockets, averaged over time. Whiskers are the"
    " extremes over orders of arrival, where several were replayed.",
    reads=(_SOURCE,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=lambda frame: frame.select("policy", "mean", "low", "high", "fraction"),
    absent="Nothing was bound down to the vCPU: tracekit bind does it.",
)
