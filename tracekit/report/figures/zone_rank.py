"""Nodes in the order of the correlation of their CPU and memory."""

from typing import Any

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import color, zone_color
from tracekit.report.drawing.plot import MOST_POINTS, axis, blank, evenly, numbers
from tracekit.report.figures import Figure
from tracekit.report.zones import MOVES, all_zones, largest, limit, zone_label
from tracekit.words import count, short_id, signed

_SCHEMA = {
    "rank": pl.Int64,
    "node": pl.String,
    "zone": pl.String,
    "pearson_r": pl.Float64,
    "zone_nodes": pl.Int64,
    "nodes": pl.Int64,
}


def _prepare(data: Data) -> pl.DataFrame:
    profile = data.query("usage/node_profile")
    if profile.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    known = profile.filter(pl.col("pearson_r").is_not_null()).sort("pearson_r", "node")
    ranked = known.select(
        pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("rank"),
        "node",
        "zone",
        "pearson_r",
        pl.len().over("zone").cast(pl.Int64).alias("zone_nodes"),
        pl.len().cast(pl.Int64).alias("nodes"),
    )
    return evenly(ranked)


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank()
    for zone in all_zones():
        part = frame.filter(pl.col("zone") == zone)
        if not part.is_empty():
            figure.add_scatter(**_points(zone, part))
    for edge in (-limit(), limit()):
        figure.add_hline(
            y=edge,
            line={"color": color("muted"), "width": 1, "dash": "dash"},
            annotation={"text": signed(edge, 1), "font": {"color": color("muted")}},
            annotation_position="top left",
        )
    figure.update_layout(
        xaxis=axis("Rank of the node by r [nodes]", showgrid=False, zeroline=False),
        yaxis=axis("Correlation r of CPU and memory [\u22121..1]", range=[-1.05, 1.05]),
    )
    return figure


def _points(zone: str, part: pl.DataFrame) -> dict[str, Any]:
    return {
        "x": part["rank"].to_list(),
        "y": numbers(part["pearson_r"]),
        "customdata": [short_id(node) for node in part["node"]],
        "mode": "markers",
        "name": zone_label(zone),
        "marker": {"color": zone_color(zone), "size": 5},
        "hovertemplate": "node %{customdata}<br>r = %{y:.2f}, rank %{x:,}<extra></extra>",
    }


def _takeaway(frame: pl.DataFrame) -> str:
    many = dict(frame.select("zone", "zone_nodes").iter_rows())
    nodes, most = int(frame["nodes"][0]), largest(many)
    first = many[most[0]]
    of = f"{first:,} of {count(nodes, 'node')} with a correlation"
    if len(most) > 1:
        said = "; ".join(
            f"on {of if at == 0 else 'as many'} {_said(zone)}" for at, zone in enumerate(most)
        )
        return f"No part is the largest: {said}."
    part = "" if 2 * first > nodes else ", the largest part"
    return f"On {of}{part}, {_said(most[0])}."


def _said(zone: str) -> str:
    return f"CPU and memory {MOVES[zone]}"


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    """The correlation at nine even steps of the rank."""
    return evenly(frame.select("rank", "pearson_r", "zone", "node"), 9)


def _note(frame: pl.DataFrame) -> str:
    nodes = frame["nodes"][0] if frame.height else 0
    if nodes <= frame.height:
        return ""
    return (
        f"{frame.height:,} of {nodes:,} nodes are drawn, evenly by rank (at most {MOST_POINTS:,})."
    )


FIGURE = Figure(
    title="Nodes by the correlation of their CPU and memory",
    question="Do CPU and memory of a node move together?",
    how_to_read="Each dot is one node, from the most negative correlation r on the left to the"
    " most positive on the right. The dashed lines separate the correlation zones. A long flat run"
    " of dots far from zero means that many nodes behave alike.",
    reads=("usage/node_profile",),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=_table,
    absent="No node has a correlation of CPU and memory: none has enough samples, or nothing"
    " ever changed. There is nothing to rank.",
    csv=("rank", "node", "zone", "pearson_r"),
    note=_note,
)
