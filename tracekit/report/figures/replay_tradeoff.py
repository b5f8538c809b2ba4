"""Imbalance against the highest CPU of each policy: what one gives up for the other."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl

from tracekit.replay.runs.run import BOUND
from tracekit.report.data import Data
from tracekit.report.figures import Figure
from tracekit.report.measures import SAME, complete
from tracekit.report.palette import color
from tracekit.report.plot import axis, blank, numbers, percents
from tracekit.report.policies import in_order, label, style, tested
from tracekit.report.words import listed, number, percent

_SCHEMA = {
    "policy": pl.String,
    "imbalance_mean": pl.Float64,
    "cpu_max_fraction": pl.Float64,
    "pending": pl.Int64,
}


def _prepare(data: Data) -> pl.DataFrame:
    summary = data.replay("summary")
    return pl.DataFrame(schema=_SCHEMA) if summary.is_empty() else summary.select(list(_SCHEMA))


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank()
    for name in in_order(frame):
        part = frame.filter(pl.col("policy") == name).drop_nulls()
        if part.is_empty():
            continue
        if name == BOUND:
            _add_bounds(figure, part.row(0, named=True))
            continue
        look = style(name, tested(frame))
        figure.add_scatter(
            x=numbers(part["imbalance_mean"]),
            y=percents(part["cpu_max_fraction"]),
            mode="markers",
            name=label(name),
            marker={
                "color": look["color"],
                "symbol": look["symbol"],
                "size": 12,
                "line": {"width": 2, "color": look["color"]},
            },
            hovertemplate="Z %{x:.4f}<br>highest CPU %{y:.1f} %",
        )
    figure.update_layout(
        xaxis=axis("Imbalance Z, mean over nodes and time [0..1]"),
        yaxis=axis("CPU, highest of any node [%]"),
    )
    return figure


def _add_bounds(figure: go.Figure, bound: dict[str, float]) -> None:
    """The two lines that nothing can cross."""
    line = {"color": color("bound"), "width": 2, "dash": "dash"}
    said = {"text": "lower bound", "font": {"color": color("muted"), "size": 12}}
    figure.add_hline(
        y=100 * bound["cpu_max_fraction"],
        line=line,
        annotation=said,
        annotation_position="bottom right",
    )
    figure.add_vline(x=bound["imbalance_mean"], line=line)


def _takeaway(frame: pl.DataFrame) -> str:
    policies = complete(frame) or tested(frame)
    rows = frame.filter(pl.col("policy").is_in(policies)).drop_nulls()
    if rows.height < 2:
        return f"{rows.height} policy carries the whole load; a trade-off needs 2."
    even, calm = _lowest(rows, "imbalance_mean"), _lowest(rows, "cpu_max_fraction")
    z, cpu = number(_least(rows, "imbalance_mean")), percent(_least(rows, "cpu_max_fraction"), 1)
    both = [name for name in even if name in calm]
    if both:
        verb = "is" if len(both) == 1 else "are"
        return f"{listed(both)} {verb} lowest on both measures, at Z {z} and {cpu} CPU."
    return (
        "No policy is best on both measures: imbalance is lowest with"
        f" {listed(even)} (Z {z}), the highest CPU with {listed(calm)} ({cpu})."
    )


def _least(rows: pl.DataFrame, column: str) -> float:
    return float(rows[column].min())  # type: ignore[arg-type]


def _lowest(rows: pl.DataFrame, column: str) -> list[str]:
    """The policies with the lowest value, within rounding."""
    least = _least(rows, column)
    return rows.filter(pl.col(column) <= least + SAME * abs(least))["policy"].to_list()


FIGURE = Figure(
    title="Imbalance against the highest CPU",
    question="What does a policy give up to do well?",
    how_to_read="Each mark is one policy; down and to the left is better. A policy with another"
    " one below and to its left is beaten on both measures. The dashed lines are lower bounds:"
    " no placement can lie below the one or to the left of the other.",
    reads=("replay/summary",),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=lambda frame: frame,
    absent="The run holds no policies, so there is nothing to compare.",
)
