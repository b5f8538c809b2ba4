"""Number of containers on a node against its utilization: the heat maps of figure 7."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import MOST_POINTS, axis, blank, percents
from tracekit.report.figures import Figure
from tracekit.report.relation import Relation, relation
from tracekit.words import count

_QUERY = "usage/containers_per_node"
_SCHEMA = {
    "containers": pl.Int64,
    "resource": pl.String,
    "bin_start": pl.Float64,
    "nodes": pl.Int64,
    "all_cells": pl.Int64,
}
_LARGEST_PX, _SMALLEST_PX = 26.0, 4.0
_NAMES = {"cpu": "CPU", "memory": "memory"}


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
            name=_NAMES[resource],
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


def _takeaway(frame: pl.DataFrame) -> str:
    """Whether more containers go with more use, of each resource."""
    told = {name: _relation(frame, name) for name in ("cpu", "memory")}
    known = [(_NAMES[name], one) for name, one in told.items() if one is not None]
    if not known:
        of = count(int(frame["nodes"].sum()), "value")
        return f"The {of} of nodes differ too little to tell whether more containers mean more use."
    verbs = {"rises": "use more", "falls": "use less", "": "use about as much"}
    said = []
    for way, verb in verbs.items():
        names = [f"{name} ({one.text()})" for name, one in known if one.way == way]
        said += [f"{verb} {' and '.join(names)}"] if names else []
    return f"Nodes with more containers {', but '.join(said)}."


def _relation(frame: pl.DataFrame, resource: str) -> Relation | None:
    """Of containers and use, each node counted once."""
    part = frame.filter(resource=resource)
    each = part.select(pl.col("containers", "bin_start").repeat_by("nodes").explode())
    return relation(each["containers"], each["bin_start"])


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
