"""What neighbours cost each service, with intervals."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import axis, blank, evenly, numbers
from tracekit.report.figures import Figure
from tracekit.words import count, number, short_id

_SOURCE = "fit/coefficients"
_MOST = 80
_NAMES = {"k1": ("policy-2", "same core (k1)"), "k2": ("policy-1", "same socket (k2)")}
_PROXY = {"k2": ("policy-1", "same node (proxy)")}
_SCHEMA = {
    "service": pl.String,
    "coefficient": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "rank": pl.Int64,
    "mode": pl.String,
    "fitted": pl.Int64,
    "beyond": pl.Int64,
    "beyond_median": pl.Float64,
}


def _prepare(data: Data) -> pl.DataFrame:
    found = data.result(_SOURCE)
    if found.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    own = found.filter(pl.col("basis") == "own")
    parts = []
    for name in _NAMES:
        one = own.select(
            "service",
            pl.lit(name).alias("coefficient"),
            pl.col(name).alias("value"),
            pl.col(f"{name}_low").alias("low"),
            pl.col(f"{name}_high").alias("high"),
            "mode",
        ).drop_nulls()
        one = one.sort("value", "service").with_row_index("rank", 1)
        beyond = one.filter(pl.col("low") > 0)
        one = one.with_columns(
            pl.col("rank").cast(pl.Int64),
            fitted=pl.lit(one.height, pl.Int64),
            beyond=pl.lit(beyond.height, pl.Int64),
            beyond_median=pl.lit(beyond["value"].median(), pl.Float64),
        )
        parts.append(evenly(one, _MOST).select(list(_SCHEMA)))
    return pl.concat(parts)


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank()
    for name, (shade, label) in _labels(frame).items():
        part = frame.filter(pl.col("coefficient") == name)
        if part.is_empty():
            continue
        figure.add_scatter(
            x=part["rank"].to_list(),
            y=numbers(part["value"]),
            error_y={
                "type": "data",
                "symmetric": False,
                "array": numbers(part["high"] - part["value"]),
                "arrayminus": numbers(part["value"] - part["low"]),
                "color": color(shade),
                "thickness": 1,
                "width": 0,
            },
            customdata=[short_id(service) for service in part["service"]],
            mode="markers",
            name=label,
            marker={"color": color(shade), "size": 5},
            hovertemplate="service %{customdata}<br>%{y:.3f}<extra></extra>",
        )
    figure.update_layout(
        xaxis=axis("Services in order of the coefficient [rank]"),
        yaxis=axis("Cost per CPU beside it [CPU / CPU]"),
    )
    return figure


def _labels(frame: pl.DataFrame) -> dict[str, tuple[str, str]]:
    return _PROXY if "proxy" in set(frame["mode"]) else _NAMES


def _takeaway(frame: pl.DataFrame) -> str:
    said = []
    for name, (_, label) in _labels(frame).items():
        part = frame.filter(pl.col("coefficient") == name)
        if not part.is_empty():
            said.append(_told(part, label))
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}."


def _told(part: pl.DataFrame, label: str) -> str:
    """For how many services an effect is beyond chance, drawn or not, and how large for them."""
    row = part.row(0, named=True)
    of = count(row["fitted"], "service")
    if not row["beyond"]:
        return f"{label}: no effect beyond chance for any of {of}"
    middle = number(row["beyond_median"], 2)
    return (
        f"{label}: {row['beyond']:,} of {of} lose CPU to neighbours beyond"
        f" chance, {middle} for each CPU that these use (median)"
    )


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    return evenly(frame.select("service", "coefficient", "value", "low", "high"), 20)


def _note(frame: pl.DataFrame) -> str:
    fitted = int(frame["fitted"].max() or 0) if frame.height else 0  # type: ignore[arg-type]
    drawn = frame["service"].n_unique()
    return f"{drawn:,} of {fitted:,} services are drawn." if drawn < fitted > _MOST else ""


FIGURE = Figure(
    title="What neighbours cost each service",
    question="How much CPU does a container lose to those beside it?",
    how_to_read="Each dot is a service with a fit of its own, the line its 95 % interval. A"
    " coefficient of 0.2 says: when those on the same cores use half a vCPU each, a container uses"
    " 0.1 of a vCPU more for the same work. An interval that reaches 0 shows no effect.",
    reads=(_SOURCE,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=_table,
    absent="No service has a fit of its own: too few rows, fewer than 3 containers where each has"
    " several rows, or neighbours that do not vary.",
    csv=("service", "coefficient", "value", "low", "high", "mode"),
    note=_note,
)
