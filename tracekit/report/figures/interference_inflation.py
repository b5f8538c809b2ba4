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


#: What the best way to bind is measured by, where it is there; else the worst way.
_BASELINES = {
    "whole_cores": "under whole_cores, which knows no fit",
    "recorded": "as recorded",
}

#: The way to bind that goes by the fit.
_FITTED = "interference"


def _takeaway(frame: pl.DataFrame) -> str:
    lost = dict(frame.select("policy", "mean").iter_rows())
    best = min(lost, key=lambda name: (lost[name], name))
    said = f"Under {best} neighbours cost {number(lost[best])} vCPUs"
    others = {name: words for name, words in _BASELINES.items() if name in lost and name != best}
    if not others:
        worst = max(lost, key=lambda name: (lost[name], name))
        others = {worst: f"under {worst}"} if worst != best else {}
    less = [
        f"{percent(1 - lost[best] / lost[name])} less than {words}"
        for name, words in others.items()
        if lost[name] > 0
    ]
    told = f"{said}, {', and '.join(less)}." if less else f"{said}."
    if _FITTED in lost and best != _FITTED and lost[best] > 0:
        more = percent(lost[_FITTED] / lost[best] - 1)
        told += f" Choosing by the fit costs {more} more than {best}."
    return told


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
