"""The containers of the largest service, and how busy the nodes are that they are on."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import zone_color
from tracekit.report.drawing.plot import axis, blank, evenly, percents
from tracekit.report.figures import Figure
from tracekit.report.relation import relation
from tracekit.report.zones import all_zones, zone_label
from tracekit.words import count, percent, short_id

_QUERY = "services/placement"
_MOST = 600
_SCHEMA = {
    "service": pl.String,
    "container": pl.String,
    "node": pl.String,
    "cpu_mean": pl.Float64,
    "memory_mean": pl.Float64,
    "node_zone": pl.String,
    "node_cpu_mean": pl.Float64,
    "stays": pl.Int64,
    "nodes": pl.Int64,
}


def _prepare(data: Data) -> pl.DataFrame:
    frame = data.query(_QUERY)
    if frame.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    counted = frame.with_columns(
        pl.len().cast(pl.Int64).alias("stays"),
        pl.col("node").n_unique().cast(pl.Int64).alias("nodes"),
        pl.col("node_zone").fill_null("U"),
    ).filter(pl.col("node_cpu_mean").is_not_null() & pl.col("cpu_mean").is_not_null())
    return evenly(counted.select(list(_SCHEMA)), _MOST)


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank()
    for zone in all_zones():
        part = frame.filter(pl.col("node_zone") == zone)
        if part.is_empty():
            continue
        figure.add_scatter(
            x=percents(part["node_cpu_mean"]),
            y=percents(part["cpu_mean"]),
            customdata=[
                f"{short_id(a)} on {short_id(b)}"
                for a, b in zip(part["container"], part["node"], strict=True)
            ],
            mode="markers",
            name=f"node of correlation zone {zone_label(zone)}",
            marker={"color": zone_color(zone), "size": 8, "opacity": 0.8},
            hovertemplate="%{customdata}<br>container %{y:.1f} %, node %{x:.1f} %<extra></extra>",
        )
    figure.update_layout(
        xaxis=axis("Mean CPU of the node [%]"),
        yaxis=axis("Mean CPU of the container [%]", rangemode="tozero"),
    )
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    """Whether containers are busier on busier nodes, by how much they differ at all."""
    row = frame.row(0, named=True)
    who = f"{count(row['stays'], 'container')} of {short_id(row['service'])}, the largest service,"
    found = relation(frame["node_cpu_mean"], frame["cpu_mean"])
    low, high = float(frame["cpu_mean"].min()), float(frame["cpu_mean"].max())  # type: ignore[arg-type]
    least, most = percent(low), percent(high)
    alike = f"each has a mean CPU of {most}"
    reach = f"their mean CPU reaches from {least} to {most}" if least != most else alike
    if found is None:
        return f"Too few to tell: {who} are on {count(row['nodes'], 'node')}; {reach}."
    what = {"rises": "busier on busier nodes", "falls": "less busy on busier nodes"}
    are = what.get(found.way, "about as busy on busy nodes as on others")
    return f"The {who} are {are} ({found.text()}); {reach}."


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    return evenly(
        frame.sort("cpu_mean", "container", descending=[True, False]).select(
            "container", "node", "cpu_mean", "node_cpu_mean"
        ),
        15,
    )


def _note(frame: pl.DataFrame) -> str:
    stays = int(frame["stays"][0]) if frame.height else 0
    return "" if stays <= frame.height else f"{frame.height:,} of {stays:,} containers are drawn."


FIGURE = Figure(
    title="Containers of the largest service and the nodes that they are on",
    question="Does a service's load depend on where its containers are?",
    how_to_read="Each dot is one container: to the right the busier its node, upwards the busier"
    " the container itself. One service shares its calls among alike containers, so dots on one"
    " level mean that the place does not matter; a slope, that it does.",
    reads=(_QUERY,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=_table,
    absent="The store has no containers on nodes with samples, so no service can be drawn.",
    csv=("container", "node", "node_zone", "cpu_mean", "node_cpu_mean"),
    note=_note,
)
