"""Number of containers on a node against its utilization: the heat maps of figure 7."""

import numpy as np
import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.figures import Figure
from tracekit.report.palette import color
from tracekit.report.plot import MOST_POINTS, axis, blank, percents
from tracekit.report.words import count, percent

_QUERY = "usage/containers_per_node"
_SCHEMA = {
    "containers": pl.Int64,
    "resource": pl.String,
    "bin_start": pl.Float64,
    "nodes": pl.Int64,
    "all_cells": pl.Int64,
}
_LARGEST_PX, _SMALLEST_PX = 26.0, 4.0


def _prepare(data: Data) -> pl.DataFrame:
    frame = data.query(_QUERY)
    if frame.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    largest = frame.with_columns(pl.len().cast(pl.Int64).alias("all_cells")).sort(
        "nodes", "resource", "containers", "bin_start", descending=[True, False, False, False]
    )
    order = ["resource", "containers", "bin_start"]
    return largest.head(MOST_POINTS).sort(order).select(list(_SCHEMA))


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank(420)
    most = max([1, *frame["nodes"]])
    for resource, symbol, shift in (("cpu", "circle", 0.035), ("memory", "square", 0.065)):
        part = frame.filter(pl.col("resource") == resource)
        if part.is_empty():
            continue
        figure.add_scatter(
            x=part["containers"].to_list(),
            y=percents(part["bin_start"] + shift),
            customdata=part["nodes"].to_list(),
            mode="markers",
            name="CPU" if resource == "cpu" else "memory",
            marker={
                "symbol": symbol,
                "color": color(resource),
                "opacity": 0.6,
                "line": {"width": 0},
                "size": [
                    round(_SMALLEST_PX + (_LARGEST_PX - _SMALLEST_PX) * (n / most) ** 0.5, 1)
                    for n in part["nodes"]
                ],
            },
            hovertemplate="%{x} containers, about %{y:.0f} %: %{customdata:,} nodes<extra></extra>",
        )
    figure.update_layout(
        xaxis=axis("Containers on the node, median over time [containers]", rangemode="tozero"),
        yaxis=axis("Mean utilization of the node [%]", range=[0, 104]),
    )
    return figure


def _weighted(part: pl.DataFrame) -> float:
    return float(np.average(part["bin_start"], weights=part["nodes"])) + 0.05


def _takeaway(frame: pl.DataFrame) -> str:
    said = []
    for resource, name in (("cpu", "CPU"), ("memory", "memory")):
        part = frame.filter(pl.col("resource") == resource)
        if not part.is_empty():
            said.append(f"{name} about {percent(_weighted(part), 0)}")
    one = frame.filter(pl.col("resource") == frame["resource"][0])
    usual = one.group_by("containers").agg(pl.col("nodes").sum()).sort("nodes", "containers")
    most = int(usual["containers"][-1])
    return (
        f"Most often a node holds {count(most, 'container')}; on average"
        f" {' and '.join(said)} is in use."
    )


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    means = frame.group_by("containers", "resource").agg(
        pl.col("nodes").sum(),
        ((pl.col("bin_start") * pl.col("nodes")).sum() / pl.col("nodes").sum() + 0.05).alias(
            "mean_fraction"
        ),
    )
    return means.sort("nodes", "containers", "resource", descending=[True, False, False]).head(20)


def _note(frame: pl.DataFrame) -> str:
    cells = int(frame["all_cells"][0]) if frame.height else 0
    if cells <= frame.height:
        return ""
    return f"{frame.height:,} of {cells:,} cells are drawn, those with the most nodes."


FIGURE = Figure(
    title="Containers per node against the node's utilization",
    question="Are nodes with more containers busier?",
    how_to_read="Each mark stands for the nodes with so many containers and about so much in use:"
    " circles for CPU, squares for memory; the larger the mark, the more nodes. A cloud that rises"
    " to the right means that the number of containers drives utilization; a level one, that the"
    " containers differ more than their number does.",
    reads=(_QUERY,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=_table,
    absent="No node has both samples of its own and containers, so there is nothing to compare.",
    csv=("containers", "resource", "bin_start", "nodes"),
    note=_note,
)
