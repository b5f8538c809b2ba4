"""What containers of each service use of what they may use: on average, and at their peaks."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.figures import Figure
from tracekit.report.palette import color
from tracekit.report.plot import axis, blank, percents
from tracekit.report.rows import above, rows_axis
from tracekit.report.words import count, percent, short_id

_QUERY = "services/profile"
_MOST = 15
_ROW_PX, _EDGES_PX, _NARROW_ROW_PX = 30, 90, 50
#: Below this a service could do with half of what it holds.
HALF = 0.5
_SCHEMA = pl.Schema(
    {
        "service": pl.String,
        "containers": pl.Int64,
        "cpu_mean": pl.Float64,
        "cpu_max": pl.Float64,
        "memory_mean": pl.Float64,
        "memory_max": pl.Float64,
        "below_half": pl.Int64,
        "services": pl.Int64,
        "all_cpu_mean": pl.Float64,
        "all_memory_mean": pl.Float64,
    }
)


def _prepare(data: Data) -> pl.DataFrame:
    profile = data.query(_QUERY)
    if profile.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    known = profile.drop_nulls(["service", "cpu_mean", "memory_mean"])
    weight = pl.col("containers") / pl.col("containers").sum()
    low = (pl.col("cpu_max") < HALF) & (pl.col("memory_max") < HALF)
    frame = known.with_columns(
        low.sum().cast(pl.Int64).alias("below_half"),
        pl.len().cast(pl.Int64).alias("services"),
        (pl.col("cpu_mean") * weight).sum().alias("all_cpu_mean"),
        (pl.col("memory_mean") * weight).sum().alias("all_memory_mean"),
    )
    # by what all its containers hold and do not use, in containers
    unused = pl.col("containers") * (1 - pl.max_horizontal("cpu_mean", "memory_mean"))
    worst = frame.sort(unused, "service", descending=[True, False]).head(_MOST)
    return worst.select(_SCHEMA.names()).cast(_SCHEMA)


def _plot(frame: pl.DataFrame, *, narrow: bool) -> go.Figure:
    row_px = _NARROW_ROW_PX if narrow else _ROW_PX
    figure = blank(max(frame.height, 1) * row_px + _EDGES_PX)
    for name, words, shift in (("cpu", "CPU", -0.16), ("memory", "memory", 0.16)):
        places = [at + shift + (0.12 if narrow else 0) for at in range(frame.height)]
        _add_lines(figure, frame, name, places)
        for what, column, symbol in (("mean", "mean", "circle"), ("peak", "max", "line-ns")):
            figure.add_scatter(
                x=percents(frame[f"{name}_{column}"]),
                y=places,
                mode="markers",
                name=words,
                showlegend=what == "mean",
                marker={
                    "color": color(name),
                    "symbol": symbol,
                    "size": 10,
                    "line": {"width": 2, "color": color(name)},
                },
                hovertemplate=f"{words}, {what}: %{{x:.0f}} %<extra></extra>",
            )
    figure.add_vline(x=100, line={"color": color("muted"), "width": 1, "dash": "dash"})
    _name_rows(figure, frame, narrow=narrow)
    return figure


def _add_lines(figure: go.Figure, frame: pl.DataFrame, name: str, places: list[float]) -> None:
    """From each service's mean to its peak."""
    x: list[Any] = []
    y: list[Any] = []
    means, peaks = percents(frame[f"{name}_mean"]), percents(frame[f"{name}_max"])
    for at, mean, most in zip(places, means, peaks, strict=True):
        x += [mean, most, None]
        y += [at, at, None]
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        showlegend=False,
        hoverinfo="skip",
        line={"color": color(name), "width": 2},
    )


def _name_rows(figure: go.Figure, frame: pl.DataFrame, *, narrow: bool) -> None:
    """The services beside their rows, on a narrow screen above them."""
    names = [
        f"{short_id(row['service'])} ({row['containers']:,})" for row in frame.iter_rows(named=True)
    ]
    figure.update_layout(
        margin={"l": 8, "r": 16, "t": 8, "b": 56},
        xaxis=axis("Use [% of what a container may use]", rangemode="tozero"),
        yaxis=rows_axis(frame.height, 0.7, names=[] if narrow else names),
    )
    if narrow:
        figure.update_layout(annotations=[above(at, name, 0.34) for at, name in enumerate(names)])


def _takeaway(frame: pl.DataFrame) -> str:
    row = frame.row(0, named=True)
    return (
        f"Containers use {percent(row['all_cpu_mean'])} of the CPU and"
        f" {percent(row['all_memory_mean'])} of the memory that they may use, on average;"
        f" in {row['below_half']:,} of {count(row['services'], 'service')} the peaks of containers"
        " stay below half of both, on average."
    )


def _note(frame: pl.DataFrame) -> str:
    services = int(frame["services"][0]) if frame.height else 0
    if services <= frame.height:
        return ""
    drawn = f"{frame.height} of {services:,} services are drawn"
    return f"{drawn}, those that hold the most without using it."


FIGURE = Figure(
    title="Use of what containers may use, by service",
    question="Which services hold much more than they use?",
    how_to_read="A round mark is the mean use of a service's containers, the stroke at the other"
    " end the mean of their peaks. What lies between the stroke and 100 % is held and never used."
    " The service whose containers together hold the most without using it is on top. Behind each"
    " name is how many containers it has. What a container may use is its request where"
    " the source records one, else what the source measures use against.",
    reads=(_QUERY,),
    prepare=_prepare,
    draw=lambda frame: _plot(frame, narrow=False),
    narrow=lambda frame: _plot(frame, narrow=True),
    takeaway=_takeaway,
    table=lambda frame: frame.select(
        "service",
        "containers",
        pl.col("cpu_mean").alias("cpu_mean_fraction"),
        pl.col("cpu_max").alias("cpu_peak_fraction"),
        pl.col("memory_mean").alias("memory_mean_fraction"),
        pl.col("memory_max").alias("memory_peak_fraction"),
    ),
    absent="The trace holds no use of containers, so it cannot be set against what they request.",
    csv=("service", "containers", "cpu_mean", "cpu_max", "memory_mean", "memory_max"),
    note=_note,
)
