"""What a call costs each service, and how well calls explain its CPU."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import axis, blank, evenly, log_axis, numbers, percents
from tracekit.report.figures import Figure
from tracekit.words import count, percent, short_id

_QUERY = "services/demand"
_WELL = 0.5
_MOST = 800
_SCHEMA = {
    "service": pl.String,
    "rate_mean": pl.Float64,
    "r_squared": pl.Float64,
    "cpu_per_call": pl.Float64,
    "minutes": pl.Int64,
    "services": pl.Int64,
    "well": pl.Int64,
}


def _prepare(data: Data) -> pl.DataFrame:
    frame = data.query(_QUERY)
    if frame.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    known = frame.filter(pl.col("r_squared").is_not_null() & (pl.col("rate_mean") > 0)).sort(
        "rate_mean", "service"
    )
    counted = known.with_columns(
        pl.len().cast(pl.Int64).alias("services"),
        (pl.col("r_squared") >= _WELL).sum().cast(pl.Int64).alias("well"),
    )
    return evenly(counted.select(list(_SCHEMA)), _MOST)


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank()
    figure.add_scatter(
        x=numbers(frame["rate_mean"]),
        y=percents(frame["r_squared"]),
        customdata=[short_id(service) for service in frame["service"]],
        mode="markers",
        name="services",
        showlegend=False,
        marker={"color": color("policy-1"), "size": 7, "opacity": 0.75},
        hovertemplate="service %{customdata}<br>%{x:.3g} calls/s, %{y:.0f} % explained"
        "<extra></extra>",
    )
    figure.update_layout(
        xaxis=log_axis("Calls of the service [calls/s]", frame["rate_mean"]),
        yaxis=axis("CPU explained [%]", range=[-2, 102]),
    )
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    services, well = int(frame["services"][0]), int(frame["well"][0])
    return (
        f"For {percent(well / services)} of {count(services, 'service')} the rate of calls explains"
        f" at least {percent(_WELL)} of the ups and downs of their containers' CPU."
    )


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    busiest = frame.sort("rate_mean", "service", descending=[True, False]).head(15)
    return busiest.select(
        "service",
        pl.col("rate_mean").alias("calls_per_s"),
        pl.col("r_squared").alias("explained_share"),
        (1000 * pl.col("cpu_per_call")).alias("container_share_per_1000_calls_per_s"),
        "minutes",
    )


def _note(frame: pl.DataFrame) -> str:
    services = int(frame["services"][0]) if frame.height else 0
    if services <= frame.height:
        return ""
    return f"{frame.height:,} of {services:,} services are drawn, evenly by their calls."


FIGURE = Figure(
    title="How well calls explain CPU, against the rate of calls",
    question="Is a service's CPU driven by its calls?",
    how_to_read="Each dot is one service: to the right the more calls per second, upwards the"
    " better a straight line through calls and CPU of its containers fits, minute by minute."
    " Services high up can be sized by their expected calls; low ones do something else with"
    " their CPU.",
    reads=(_QUERY,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=_table,
    absent="Of no service are both recorded over the same minutes: how often it is called, and what"
    " its containers use.",
    csv=("service", "rate_mean", "r_squared", "cpu_per_call", "minutes"),
    note=_note,
)
