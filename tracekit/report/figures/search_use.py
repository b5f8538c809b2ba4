"""Least and most used node by resource when all containers are placed."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.figures import Figure
from tracekit.report.palette import color
from tracekit.report.plot import axis, blank, percents
from tracekit.report.words import percent

_RESULT = "search_placement/use"
_SHOWN = (
    "lra",
    "bra",
    "cwt",
    "bes",
    "tbesk",
    "tbesk_exact",
    "least_allocated",
)
_COLORS = {"cpu": "cpu", "memory": "memory", "net": "policy-1", "disk": "policy-2"}
_SCHEMA = {
    "policy": pl.String,
    "resource": pl.String,
    "low_fraction": pl.Float64,
    "mean_fraction": pl.Float64,
    "high_fraction": pl.Float64,
}


def _prepare(data: Data) -> pl.DataFrame:
    frame = data.result(_RESULT)
    if frame.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    known = frame.filter(pl.col("policy").is_in(_SHOWN))
    return (known if known.height else frame.head(4 * len(_SHOWN))).select(list(_SCHEMA))


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank(440)
    for resource, colour in _COLORS.items():
        part = frame.filter(pl.col("resource") == resource)
        if part.is_empty():
            continue
        middle = percents(part["mean_fraction"])
        figure.add_scatter(
            x=part["policy"].to_list(),
            y=middle,
            mode="markers",
            name=resource,
            offsetgroup=resource,
            marker={"color": color(colour), "size": 7},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": percents(part["high_fraction"] - part["mean_fraction"]),
                "arrayminus": percents(part["mean_fraction"] - part["low_fraction"]),
                "color": color(colour),
                "thickness": 2,
            },
            hovertemplate=f"{resource}: %{{y:.0f}} % on average<extra>%{{x}}</extra>",
        )
    figure.update_layout(
        scattermode="group",
        xaxis=axis("Policy [name]"),
        yaxis=axis("Requested of capacity [%]", rangemode="tozero"),
    )
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    width = frame.with_columns(
        (pl.col("high_fraction") - pl.col("low_fraction")).alias("width_fraction")
    ).sort("width_fraction")
    least, most = width.row(0, named=True), width.row(-1, named=True)
    return (
        f"Nodes lie furthest apart in {most['resource']} under {most['policy']}"
        f" ({percent(most['width_fraction'])} of capacity), closest in {least['resource']} under"
        f" {least['policy']} ({percent(least['width_fraction'])})."
    )


FIGURE = Figure(
    title="Use of each resource over the nodes when all containers are placed",
    question="How far apart are the least and the most used node?",
    how_to_read="For each policy and resource the mark is the mean node, the whiskers reach from"
    " the least to the most used one, averaged over drawn sets. Short whiskers mean even nodes.",
    reads=(_RESULT,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=lambda frame: frame,
    absent="The placement experiment was not run: tracekit placement-bench --out DIR.",
)
