"""How far the utilization difference reaches: its complementary distribution, by zone."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import color, zone_color
from tracekit.report.drawing.plot import MOST_POINTS, blank, evenly, log_axis, numbers
from tracekit.report.figures import Figure
from tracekit.report.zones import all_zones, zone_label
from tracekit.words import count, number, percent

ALL = "all"
#: Fewer nodes than this in the tail say nothing of how it falls.
_FEWEST = 20
_TAIL = ("hill_index", "hill_index_low", "hill_index_high", "tail_nodes", "tail_start")
_SCHEMA = pl.Schema(
    {
        "zone": pl.String,
        "util_diff": pl.Float64,
        "share_above": pl.Float64,
        "nodes": pl.Int64,
        "hill_index": pl.Float64,
        "hill_index_low": pl.Float64,
        "hill_index_high": pl.Float64,
        "tail_nodes": pl.Int64,
        "tail_start": pl.Float64,
    }
)


def _prepare(data: Data) -> pl.DataFrame:
    profile = data.query("usage/node_profile")
    if profile.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    known = profile.select("zone", "util_diff").filter(pl.col("util_diff") > 0)
    if known.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    tails = data.result("analysis/util_diff_tail")
    parts = [
        _curve(ALL, known),
        *(_curve(zone, known.filter(pl.col("zone") == zone)) for zone in all_zones()),
    ]
    drawn = pl.concat([part for part in parts if part.height > 1 or part["zone"].first() == ALL])
    if tails.is_empty():
        return drawn.with_columns(**dict.fromkeys(_TAIL, None)).cast(_SCHEMA).select(list(_SCHEMA))
    joined = drawn.join(
        tails.select("zone", *_TAIL),
        on="zone",
        how="left",
        maintain_order="left",
    )
    return joined.cast(_SCHEMA).select(list(_SCHEMA))


def _curve(zone: str, part: pl.DataFrame) -> pl.DataFrame:
    """The share of nodes at or above each value, thinned."""
    ordered = part.select("util_diff").sort("util_diff")
    rank = pl.int_range(pl.len(), dtype=pl.Int64)
    curve = ordered.select(
        pl.lit(zone).alias("zone"),
        "util_diff",
        ((pl.len() - rank) / pl.len()).alias("share_above"),
        pl.len().cast(pl.Int64).alias("nodes"),
    )
    return evenly(curve, MOST_POINTS // 6)


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank()
    for zone in [ALL, *all_zones()]:
        part = frame.filter(pl.col("zone") == zone)
        if part.is_empty():
            continue
        whole = zone == ALL
        figure.add_scatter(
            x=numbers(100 * part["util_diff"]),
            y=numbers(100 * part["share_above"]),
            mode="lines" if part.height > 1 else "markers",
            name="all nodes" if whole else zone_label(zone),
            line={
                "color": color("ink") if whole else zone_color(zone),
                "width": 2.4 if whole else 1.6,
            },
            hovertemplate="%{y:.2f} % of nodes have G of %{x:.1f} % or more<extra></extra>",
        )
    figure.update_layout(
        xaxis=log_axis("Utilization difference G of the node [pp]", 100 * frame["util_diff"]),
        yaxis=log_axis("Nodes with that much or more [%]", 100 * frame["share_above"]),
    )
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    row = frame.filter(pl.col("zone") == ALL).row(-1, named=True)
    most = (
        f"The largest difference of {count(row['nodes'], 'node')} is"
        f" {100 * row['util_diff']:.0f} points"
    )
    if row["hill_index"] is None or (row["tail_nodes"] or 0) < _FEWEST:
        return f"{most}; there are too few nodes to say how its tail falls."
    return (
        f"{most}; from {percent(row['tail_start'])} on the tail falls like a power with"
        f" Hill index {number(row['hill_index'])} ({number(row['hill_index_low'])} to"
        f" {number(row['hill_index_high'])})."
    )


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.group_by("zone", maintain_order=True).agg(
        pl.col("nodes").first(),
        pl.col("util_diff").max().alias("largest_util_diff_fraction"),
        pl.col("tail_start").first().alias("tail_start_fraction"),
        pl.col("tail_nodes").first(),
        pl.col("hill_index", "hill_index_low", "hill_index_high").first(),
    )


def _note(frame: pl.DataFrame) -> str:
    whole = frame.filter(pl.col("zone") == ALL)
    nodes = int(whole["nodes"][0]) if whole.height else 0
    if nodes <= whole.height:
        return ""
    return f"{whole.height:,} of {nodes:,} nodes are drawn, evenly by rank."


FIGURE = Figure(
    title="Nodes with a utilization difference of so much or more",
    question="Are there nodes whose CPU and memory are far more out of step than usual?",
    how_to_read="Read from a difference on the horizontal axis up to a line: that share of nodes"
    " has so much or more. Both axes are logarithmic, so a straight fall is a power law, and the"
    " steeper it is the rarer are extremes. The Hill index is the steepness of the upper 5 %; from"
    " few nodes it is uncertain, and the table has its interval.",
    reads=("usage/node_profile", "analysis/util_diff_tail"),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=_table,
    absent="On no node do CPU and memory use differ, or none has samples of both.",
    csv=("zone", "util_diff", "share_above"),
    note=_note,
)
