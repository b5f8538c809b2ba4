"""Use of each resource, node by node, when all containers are placed."""

import plotly.graph_objects as go
import polars as pl

from tracekit.replay.measures import words_of
from tracekit.replay.studies.placement.frames import RANGES
from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import axis, blank, numbers, percents
from tracekit.report.figures import Figure
from tracekit.report.figures.search_imbalance import NOT_RUN
from tracekit.report.heads import capital
from tracekit.report.policies import colours, ended
from tracekit.words import percent

_RESULT, _IMBALANCE = "search_placement/nodes", "search_placement/imbalance"
#: One panel below the other, which a narrow screen has room for.
_PANELS = ("cpu", "memory", "net", "disk")
_GAP = 0.06
_SCHEMA = {
    "policy": pl.String,
    "resource": pl.String,
    "place": pl.Int64,
    "use_fraction": pl.Float64,
}


def _prepare(data: Data) -> pl.DataFrame:
    frame = data.result(_RESULT)
    if frame.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    even = data.result(_IMBALANCE)
    every = frame["policy"].unique(maintain_order=True).to_list()
    names = list(colours(every if even.is_empty() else ended(even)["policy"].to_list()))
    shown = frame.filter(pl.col("policy").is_in(names))
    order = pl.col("policy").replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    return shown.sort(order, maintain_order=True).select(list(_SCHEMA))


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank(860)
    most = 100 * max(1.0, *frame["use_fraction"].to_list(), 0.0)
    height = (1 + _GAP) / len(_PANELS) - _GAP
    for number, resource in enumerate(_PANELS, start=1):
        _panel(figure, number, resource, frame.filter(pl.col("resource") == resource))
        top = 1 - (number - 1) * (height + _GAP)
        last = number == len(_PANELS)
        figure.update_layout(
            {
                f"xaxis{number}": axis(
                    "Node, least used first [place]" if last else "",
                    anchor=f"y{number}",
                    showticklabels=last,
                ),
                f"yaxis{number}": axis(
                    f"{capital(words_of(resource))} [%]",
                    domain=[max(top - height, 0.0), top],
                    anchor=f"x{number}",
                    range=[0, 1.04 * most],
                    nticks=4,
                ),
            }
        )
    return figure


def _panel(figure: go.Figure, number: int, resource: str, part: pl.DataFrame) -> None:
    axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
    for name, shade in colours(part["policy"].unique(maintain_order=True).to_list()).items():
        line = part.filter(pl.col("policy") == name)
        figure.add_scatter(
            x=line["place"].to_list(),
            y=percents(line["use_fraction"]),
            mode="lines+markers",
            marker={"size": 4},
            name=name,
            legendgroup=name,
            showlegend=number == 1,
            line={"color": color(shade), "width": 1.8},
            hovertemplate=f"{name}: {words_of(resource)} %{{y:.0f}} % on node %{{x}}"
            "<extra></extra>",
            **axes,
        )
    nodes = part["place"].max()
    if not isinstance(nodes, int):
        return
    _level(figure, "capacity", [100.0], nodes, axes, show=number == 1)
    for claim in RANGES:
        if claim.resource == resource and claim.low is not None and claim.high is not None:
            ends = [100 * claim.low, 100 * claim.high]
            _level(figure, "tbesk in the paper", ends, nodes, axes, show=resource == "net")


def _level(
    figure: go.Figure,
    name: str,
    levels: list[float],
    nodes: int,
    axes: dict[str, str],
    *,
    show: bool,
) -> None:
    """Horizontal lines at some levels, in percent."""
    figure.add_scatter(
        x=[x for _ in levels for x in (1, nodes, None)],
        y=[y for level in numbers(levels) for y in (level, level, None)],
        mode="lines",
        name=name,
        legendgroup=name,
        showlegend=show,
        line={"color": color("muted"), "width": 1, "dash": "dash" if name == "capacity" else "dot"},
        hoverinfo="skip",
        **axes,
    )


def _ends(frame: pl.DataFrame) -> pl.DataFrame:
    """Least, mean and most used node."""
    return frame.group_by("policy", "resource", maintain_order=True).agg(
        pl.col("use_fraction").min().alias("low_fraction"),
        pl.col("use_fraction").mean().alias("mean_fraction"),
        pl.col("use_fraction").max().alias("high_fraction"),
    )


def _takeaway(frame: pl.DataFrame) -> str:
    width = _ends(frame).with_columns(
        (pl.col("high_fraction") - pl.col("low_fraction")).alias("width_fraction")
    )
    order = width.sort("width_fraction", "policy", "resource")
    least, most = order.row(0, named=True), order.row(-1, named=True)
    return (
        f"Nodes lie furthest apart in {words_of(most['resource'])} under {most['policy']}"
        f" ({percent(most['low_fraction'])} to {percent(most['high_fraction'])} of capacity),"
        f" closest in {words_of(least['resource'])} under {least['policy']}"
        f" ({percent(least['low_fraction'])} to {percent(least['high_fraction'])})."
    )


FIGURE = Figure(
    title="Use of each resource, node by node, when all containers are placed",
    question="How evenly does a policy fill its nodes, and does it overfill any?",
    how_to_read="Nodes stand from the least used to the most used one, each place averaged over"
    " drawn sets. A flat line means even nodes; above the dashed line a node is asked for more than"
    " it has. Dotted lines are the least and the most used node that the paper reports for TBESK.",
    reads=(_RESULT, _IMBALANCE),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=_ends,
    absent=NOT_RUN,
)
