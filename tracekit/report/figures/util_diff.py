"""How far apart CPU and memory use of the nodes lie, by zone."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data, in_columns
from tracekit.report.drawing.palette import zone_color
from tracekit.report.drawing.plot import axis, blank, numbers, percents
from tracekit.report.figures import Figure
from tracekit.report.zones import all_zones, zone_label
from tracekit.sqlfiles import get_query
from tracekit.words import count, percent

_QUERY = "usage/util_diff_by_zone"
_SCHEMA = {
    "zone": pl.String,
    "bin_start": pl.Float64,
    "nodes": pl.Int64,
    "node_share": pl.Float64,
}
#: From here on a node's idle CPU or memory can no longer be called a detail.
WIDE = 0.3


def _bin_width() -> float:
    params = get_query(_QUERY).params
    return float(next(param.default or "0" for param in params if param.name == "bin_width"))


def _prepare(data: Data) -> pl.DataFrame:
    return in_columns(data.query(_QUERY), _SCHEMA)


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank()
    width = 100 * _bin_width()
    for zone in all_zones():
        part = frame.filter(pl.col("zone") == zone)
        if part.is_empty():
            continue
        figure.add_bar(
            x=[start + width / 2 for start in numbers(100 * part["bin_start"])],
            y=percents(part["node_share"]),
            width=[0.92 * width] * part.height,
            customdata=part["nodes"].to_list(),
            name=zone_label(zone),
            marker={"color": zone_color(zone), "line": {"width": 0}},
            hovertemplate="G about %{x:.0f} %<br>%{customdata:,} nodes, %{y:.1f} % of all"
            f"<extra>{zone_label(zone)}</extra>",
        )
    figure.update_layout(
        barmode="stack",
        xaxis=axis("Utilization difference G of the node [pp]", rangemode="tozero", showgrid=False),
        yaxis=axis("Share of all nodes [%]", rangemode="tozero"),
    )
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    nodes = int(frame["nodes"].sum())
    wide = int(frame.filter(pl.col("bin_start") >= WIDE - 1e-9)["nodes"].sum())
    middle = 100 * (_median_bin(frame) + _bin_width() / 2)
    head = f"On the median node, CPU and memory differ by about {middle:.0f} percentage points"
    if not wide:
        return f"{head}; on none of {count(nodes, 'node')} by {100 * WIDE:.0f} or more."
    verb = "lies" if wide == 1 else "lie"
    share = percent(wide / nodes)
    return f"{head}; {count(wide, 'node')} ({share}) {verb} {100 * WIDE:.0f} points or more apart."


def _median_bin(frame: pl.DataFrame) -> float:
    bins = frame.group_by("bin_start").agg(pl.col("nodes").sum()).sort("bin_start")
    reached = bins.filter(2 * pl.col("nodes").cum_sum() >= pl.col("nodes").sum())
    return float(reached["bin_start"][0])


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    """Nodes per tenth of G, all zones and each."""
    tenth = (pl.col("bin_start") * 10 + 1e-9).floor() / 10
    wide = frame.with_columns(tenth.round(1).alias("bin_start"))
    totals = wide.group_by("bin_start").agg(pl.col("nodes").sum(), pl.col("node_share").sum())
    zones = [zone for zone in all_zones() if zone in frame["zone"]]
    parts = wide.group_by("bin_start").agg(
        pl.col("nodes").filter(pl.col("zone") == zone).sum().alias(f"zone_{zone}_nodes")
        for zone in zones
    )
    return totals.join(parts, on="bin_start").sort("bin_start")


FIGURE = Figure(
    title="Utilization difference G of the nodes, stacked by correlation zone",
    question="How unevenly do nodes use their CPU and their memory?",
    how_to_read="G is how far CPU and memory use of a node lie apart, averaged over time. Bars on"
    " the left are nodes that use both alike; far to the right one of the two lies idle while"
    " the other is in use. Colours show the correlation zones; a bar's height is all of them"
    " together.",
    reads=(_QUERY,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=_table,
    absent="The store holds no samples of nodes, so there is no utilization difference to show.",
)
