"""How sure the zone of each node is."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import zone_color
from tracekit.report.drawing.plot import axis, blank, percents
from tracekit.report.figures import Figure
from tracekit.report.zones import CONFIDENCE, all_zones, sure_nodes, zone_label
from tracekit.words import count, percent

_WIDTH = 0.05
_SCHEMA = {
    "zone": pl.String,
    "bin_start": pl.Float64,
    "node_count": pl.Int64,
    "sure_nodes": pl.Int64,
    "all_nodes": pl.Int64,
}


def _prepare(data: Data) -> pl.DataFrame:
    found = data.result(CONFIDENCE)
    if found.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    doubt = pl.col("other_zone_probability")
    known = found.filter(doubt.is_not_null())
    start = (doubt / _WIDTH).floor().clip(0, 1 / _WIDTH - 1) * _WIDTH
    binned = known.group_by("zone", start.round(3).alias("bin_start")).agg(
        pl.len().cast(pl.Int64).alias("node_count")
    )
    sure, nodes = sure_nodes(data)
    return (
        binned.with_columns(
            pl.lit(sure, dtype=pl.Int64).alias("sure_nodes"),
            pl.lit(nodes, dtype=pl.Int64).alias("all_nodes"),
        )
        .sort("zone", "bin_start")
        .select(list(_SCHEMA))
    )


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank()
    for zone in all_zones():
        part = frame.filter(pl.col("zone") == zone)
        if part.is_empty():
            continue
        figure.add_bar(
            x=percents(part["bin_start"] + _WIDTH / 2),
            y=percents(part["node_count"] / part["all_nodes"]),
            width=[100 * _WIDTH * 0.92] * part.height,
            customdata=part["node_count"].to_list(),
            name=zone_label(zone),
            marker={"color": zone_color(zone), "line": {"width": 0}},
            hovertemplate="about %{x:.1f} %: %{customdata:,} nodes<extra></extra>",
        )
    figure.update_layout(
        barmode="stack",
        xaxis=axis("Probability that it belongs to another correlation zone [%]", showgrid=False),
        yaxis=axis("Share of all nodes [%]", rangemode="tozero"),
    )
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    sure, nodes = int(frame["sure_nodes"][0]), int(frame["all_nodes"][0])
    return (
        f"For {percent(sure / nodes)} of {count(nodes, 'node')} the correlation zone is beyond"
        f" reasonable doubt; for the others it may be another one."
    )


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    return (
        frame.group_by(
            (pl.col("bin_start") * 10).floor().truediv(10).round(1).alias("doubt_from_fraction")
        )
        .agg(pl.col("node_count").sum().alias("nodes"))
        .sort("doubt_from_fraction")
    )


FIGURE = Figure(
    title="Probability that a node belongs to another correlation zone than the one it is put in",
    question="How sure are the correlation zones?",
    how_to_read="A correlation over samples that resemble their neighbours rests on fewer"
    " independent ones than it seems. Blocks of time are drawn anew for each node, and what"
    " counts is how often it lands in another one. Bars on the left are nodes whose correlation"
    " zone is"
    " sure.",
    reads=(CONFIDENCE,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=_table,
    absent="No node has enough blocks of samples to tell how sure its correlation zone is.",
    csv=("zone", "bin_start", "node_count"),
)
