"""The busiest edges between services, and their response times."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import above, blank, log_axis, numbers, rows_axis
from tracekit.report.figures import Figure
from tracekit.words import count, percent, short_ids

_RESULT = "callgraph/edges"
_SHOWN = 15
_TIMES = ("response_time_p50_ms", "response_time_p95_ms")
#: The finest that the trace can tell from nothing.
_FINEST_MS = 0.5
_SCHEMA = pl.Schema(
    {
        "edge": pl.String,
        "rpc_type": pl.String,
        "calls": pl.Int64,
        "response_time_p50_ms": pl.Float64,
        "response_time_p95_ms": pl.Float64,
        "edges": pl.Int64,
        "all_calls": pl.Int64,
    }
)


def _prepare(data: Data) -> pl.DataFrame:
    edges = data.result(_RESULT)
    if edges.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    known = edges.with_columns(
        pl.len().cast(pl.Int64).alias("edges"),
        pl.col("calls").sum().cast(pl.Int64).alias("all_calls"),
    ).filter(pl.col("response_time_p50_ms").is_not_null())
    busiest = known.sort(
        "calls",
        "upstream",
        "downstream",
        "rpc_type",
        descending=[True, False, False, False],
        nulls_last=True,
    ).head(_SHOWN)
    every = sorted({*busiest["upstream"].drop_nulls(), *busiest["downstream"].drop_nulls()})
    names = {None: "unknown", **dict(zip(every, short_ids(every), strict=True))}
    named = [
        f"{names[up]} \u2192 {names[down]} ({kind or '?'})"
        for up, down, kind in busiest.select("upstream", "downstream", "rpc_type").iter_rows()
    ]
    return (
        busiest.with_columns(pl.Series("edge", named, dtype=pl.String))
        .cast(_SCHEMA, strict=False)
        .select(list(_SCHEMA))
    )


def _plot(frame: pl.DataFrame, *, narrow: bool) -> go.Figure:
    names, at = frame["edge"].to_list(), list(range(frame.height))
    figure = blank(160 + (40 if narrow else 24) * max(frame.height, 4))
    said = ("half of the calls (median)", "policy-1"), ("slowest twentieth (p95)", "policy-2")
    for column, (label, role) in zip(_TIMES, said, strict=True):
        figure.add_scatter(
            x=numbers(frame[column].clip(lower_bound=_FINEST_MS)) if frame.height else [],
            y=at,
            customdata=list(zip(names, frame["calls"].to_list(), strict=True)),
            mode="markers",
            name=label,
            marker={"color": color(role), "size": 9},
            hovertemplate="%{customdata[0]}: %{x:.3g} ms, %{customdata[1]:,} calls"
            f"<extra>{label}</extra>",
        )
    times = pl.concat([frame[column] for column in _TIMES]).clip(_FINEST_MS)
    figure.update_layout(
        margin={"l": 8, "r": 16, "t": 8, "b": 56},
        xaxis=log_axis("Response time [ms]", times),
        yaxis=rows_axis(frame.height, 0.7, names=[] if narrow else names),
    )
    if narrow:
        figure.update_layout(annotations=[above(row, name) for row, name in enumerate(names)])
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    calls, every = int(frame["calls"].sum()), int(frame["all_calls"][0])
    slow = frame.sort("response_time_p95_ms", descending=True, nulls_last=True).row(0, named=True)
    return (
        f"The {count(frame.height, 'busiest edge')} of {frame['edges'][0]:,} carry"
        f" {percent(calls / max(every, 1))} of all calls; the slowest of them takes"
        f" {slow['response_time_p95_ms'] or 0:,.0f} ms or more in one call of 20."
    )


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select("edge", "calls", "response_time_p50_ms", "response_time_p95_ms")


FIGURE = Figure(
    title="Response times of the busiest edges between services",
    question="Which services talk to each other most, and how long does it take?",
    how_to_read="One row is one pair of services and one kind of call, the busiest on top. The two"
    " dots are the response time of the middle call and of the slowest twentieth; the farther"
    " apart, the less can be relied on. The axis is logarithmic, and starts at half a millisecond,"
    " the finest that the trace can tell from nothing.",
    reads=(_RESULT,),
    prepare=_prepare,
    draw=lambda frame: _plot(frame, narrow=False),
    narrow=lambda frame: _plot(frame, narrow=True),
    takeaway=_takeaway,
    table=_table,
    absent="The store has no calls with response times; large ones need tracekit callgraph first.",
)
