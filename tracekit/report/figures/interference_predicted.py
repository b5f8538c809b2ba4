"""CPU of containers as the fit predicts it, against what was measured."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import axis, blank, evenly, percents
from tracekit.report.figures import Figure
from tracekit.words import count, percent, short_id

_SOURCE = "fit/rows"
_MOST = 250
_SCHEMA = {
    "service": pl.String,
    "cpu": pl.Float64,
    "predicted": pl.Float64,
    "service_mean": pl.Float64,
    "rows": pl.Int64,
    "error": pl.Float64,
    "error_mean": pl.Float64,
}


def _prepare(data: Data) -> pl.DataFrame:
    found = data.result(_SOURCE)
    if found.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    known = found.with_columns(service_mean=pl.col("cpu").mean().over("service"))
    known = known.sort("cpu", "instance").with_columns(
        rows=pl.lit(found.height, pl.Int64),
        error=((pl.col("cpu") - pl.col("predicted")) ** 2).mean().sqrt(),
        error_mean=((pl.col("cpu") - pl.col("service_mean")) ** 2).mean().sqrt(),
    )
    return evenly(known.select(list(_SCHEMA)), _MOST)


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank()
    ends = [frame["cpu"].min() or 0.0, frame["cpu"].max() or 1.0] if frame.height else [0.0, 1.0]
    figure.add_scatter(
        x=percents(frame["cpu"]),
        y=percents(frame["predicted"]),
        customdata=[short_id(service) for service in frame["service"]],
        mode="markers",
        name="containers",
        marker={"color": color("policy-1"), "size": 5, "opacity": 0.6},
        hovertemplate="service %{customdata}<br>measured %{x:.1f} %, predicted %{y:.1f} %"
        "<extra></extra>",
    )
    figure.add_scatter(
        x=percents(ends),  # type: ignore[arg-type]
        y=percents(ends),  # type: ignore[arg-type]
        mode="lines",
        name="as measured",
        line={"color": color("bound"), "dash": "dash", "width": 1},
        hoverinfo="skip",
    )
    figure.update_layout(
        xaxis=axis("Measured CPU of a container [%]"), yaxis=axis("Predicted CPU [%]")
    )
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    error, plain = float(frame["error"][0]), float(frame["error_mean"][0])
    rows = count(int(frame["rows"][0]), "row")
    return (
        f"Over {rows} the typical error is {percent(error)} of its CPU with neighbours and"
        f" {percent(plain)} with the service's mean alone, on the data that was fitted."
    )


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    shares = {
        "cpu": "cpu_share",
        "predicted": "predicted_share",
        "service_mean": "service_mean_share",
    }
    return evenly(frame.select("service", *shares).rename(shares), 15)


def _note(frame: pl.DataFrame) -> str:
    rows = int(frame["rows"][0]) if frame.height else 0
    return f"{frame.height:,} of {rows:,} rows are drawn." if rows > frame.height else ""


FIGURE = Figure(
    title="Predicted against measured CPU",
    question="How well does the fit describe single containers?",
    how_to_read="Each dot is a container: to the right what it used, upwards what its service and"
    " its neighbours let one expect. On the dashed line both agree. How the fit does on containers"
    " it has not seen is in the table of verdicts.",
    reads=(_SOURCE,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=_table,
    absent="There is no fit, so there is nothing to compare.",
    csv=("service", "cpu", "predicted", "service_mean"),
    note=_note,
)
