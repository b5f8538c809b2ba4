"""How close methods come to the best placement of a batch, against the time they take."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data, in_columns
from tracekit.report.drawing.plot import axis, blank, numbers
from tracekit.report.figures import Figure
from tracekit.report.figures._searches import search_color
from tracekit.words import number

_RESULT = "search_placement/quality"
_LEAST_GAP = 1e-5
_SCHEMA = {
    "method": pl.String,
    "iterations": pl.Int64,
    "gap_mean": pl.Float64,
    "best_share": pl.Float64,
    "decision_ms": pl.Float64,
}


def _prepare(data: Data) -> pl.DataFrame:
    return in_columns(data.result(_RESULT), _SCHEMA)


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank(460)
    for method in frame["method"].unique(maintain_order=True).to_list():
        part = frame.filter(pl.col("method") == method)
        one = part.height == 1
        colour = search_color(method)
        figure.add_scatter(
            x=numbers(part["decision_ms"]),
            y=numbers(part["gap_mean"].clip(lower_bound=_LEAST_GAP)),
            customdata=part["iterations"].to_list(),
            mode="markers" if one else "lines+markers",
            name=method.replace("_", " "),
            line={"color": colour, "width": 2},
            marker={"size": 11 if one else 6, "color": colour},
            hovertemplate="%{x:.2g} ms, gap %{y:.4f}, %{customdata} iterations",
        )
    figure.update_layout(
        xaxis=axis("Time for one batch [ms]", type="log", dtick=1),
        yaxis=axis("Fitness below the best [score]", type="log", dtick=1, exponentformat="power"),
    )
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    rows = frame.filter(pl.col("method") != "integer_program").sort("gap_mean", "decision_ms")
    if rows.is_empty():
        return f"Only the best placement is known, found in {number(frame['decision_ms'][0])} ms."
    first = rows.row(0, named=True)
    return (
        f"Closest to the best comes {first['method'].replace('_', ' ')}: it misses"
        f" {number(first['gap_mean'])} of fitness on average and takes"
        f" {number(first['decision_ms'])} ms."
    )


FIGURE = Figure(
    title="Quality of a batch's placement against decision time",
    question="What does a population search buy for its time?",
    how_to_read="Each mark is a method, or a search with a number of iterations; to the left is"
    " quicker, down is better. The best placement is known: an integer program finds it and proves"
    f" it, it stands at the bottom where gaps below {_LEAST_GAP:g} are drawn. Times are by the"
    " clock of the machine that ran the study. Both axes are logarithmic.",
    reads=(_RESULT,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=lambda frame: frame.group_by("method", maintain_order=True).last(),
    absent="No batches were solved: tracekit placement-bench --out DIR.",
)
