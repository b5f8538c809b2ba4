"""Where each node lies between idle and full, in CPU and in memory."""

from typing import Any

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import color, zone_color
from tracekit.report.drawing.plot import MOST_POINTS, axis, blank, evenly, percents
from tracekit.report.figures import Figure
from tracekit.report.zones import all_zones, zone_label
from tracekit.words import count, percent, short_id

_SCHEMA = {
    "node": pl.String,
    "zone": pl.String,
    "cpu_mean": pl.Float64,
    "memory_mean": pl.Float64,
    "more_memory_nodes": pl.Int64,
    "nodes": pl.Int64,
    "cpu_top": pl.Float64,
    "memory_top": pl.Float64,
}


def _prepare(data: Data) -> pl.DataFrame:
    profile = data.query("usage/node_profile")
    if profile.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    more_memory = pl.col("memory_mean") > pl.col("cpu_mean")
    shown = profile.sort("cpu_mean", "node").select(
        "node",
        "zone",
        "cpu_mean",
        "memory_mean",
        more_memory.sum().cast(pl.Int64).alias("more_memory_nodes"),
        pl.len().cast(pl.Int64).alias("nodes"),
        pl.col("cpu_max").max().alias("cpu_top"),
        pl.col("memory_max").max().alias("memory_top"),
    )
    return evenly(shown)


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank(440)
    figure.add_scatter(
        x=[0, 100],
        y=[0, 100],
        mode="lines",
        name="CPU = memory",
        line={"color": color("muted"), "width": 1, "dash": "dash"},
        hoverinfo="skip",
    )
    for zone in all_zones():
        part = frame.filter(pl.col("zone") == zone)
        if part.is_empty():
            continue
        figure.add_scatter(
            x=percents(part["cpu_mean"]),
            y=percents(part["memory_mean"]),
            customdata=[short_id(node) for node in part["node"]],
            mode="markers",
            name=zone_label(zone),
            marker={"color": zone_color(zone), "size": 6, "opacity": 0.7},
            hovertemplate="node %{customdata}<br>CPU %{x:.0f} %, memory %{y:.0f} %<extra></extra>",
        )
    figure.update_layout(
        xaxis=axis("Mean CPU use [% of node]", range=[0, 101], zeroline=False),
        yaxis=axis("Mean memory use [% of node]", range=[0, 101], zeroline=False),
    )
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    row = frame.row(0, named=True)
    nodes, memory = row["nodes"], row["more_memory_nodes"]
    if 2 * memory >= nodes:
        return (
            f"Memory is the fuller resource on {percent(memory / nodes)} of"
            f" {count(nodes, 'node')} on average over time; {_peaks(row)}"
        )
    return (
        f"CPU is at least as full as memory on {percent(1 - memory / nodes)} of"
        f" {count(nodes, 'node')} on average over time; {_peaks(row)}"
    )


def _peaks(row: dict[str, Any]) -> str:
    return (
        f"the highest samples recorded of any node are {percent(row['cpu_top'])} CPU and"
        f" {percent(row['memory_top'])} memory."
    )


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    """Nodes and their mean use per fifth of CPU."""
    fifth = (pl.col("cpu_mean").clip(0, 0.999) * 5).floor() / 5
    return (
        frame.group_by(fifth.round(1).alias("cpu_from"))
        .agg(
            pl.len().cast(pl.Int64).alias("nodes_drawn"),
            pl.col("cpu_mean").mean(),
            pl.col("memory_mean").mean(),
        )
        .sort("cpu_from")
    )


def _note(frame: pl.DataFrame) -> str:
    nodes = frame["nodes"][0] if frame.height else 0
    if nodes <= frame.height:
        return ""
    return (
        f"{frame.height:,} of {nodes:,} nodes are drawn, evenly by CPU (at most {MOST_POINTS:,})."
    )


FIGURE = Figure(
    title="Mean CPU and memory use of every node",
    question="How full are the nodes, and of what?",
    how_to_read="Each dot is one node. Up and to the right is full, down and to the left is idle."
    " On the dashed line a node uses CPU and memory alike; above it memory is the fuller one,"
    " so its CPU would be left over once the memory were full. Means say nothing of peaks.",
    reads=("usage/node_profile",),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=_table,
    absent="The store holds no samples of nodes, so their use cannot be shown.",
    csv=("node", "zone", "cpu_mean", "memory_mean"),
    note=_note,
)
