"""Relative change of each measure from one run to another."""

import plotly.graph_objects as go
import polars as pl

from tracekit.replay.measures import find_measure
from tracekit.replay.runs.run_compare import TOO_FEW
from tracekit.report.data import Data
from tracekit.report.figures import Figure
from tracekit.report.palette import color
from tracekit.report.plot import axis, blank, percents
from tracekit.report.words import count

_RESULT = "comparison/changes"
_MOST = 40
_COLORS = {
    "better": "policy-3",
    "worse": "policy-2",
    "changed": "policy-1",
    "within chance": "other",
    TOO_FEW: "other",
}
_JUDGED = ("better", "worse")
_SCHEMA = {
    "policy": pl.String,
    "measure": pl.String,
    "change_fraction": pl.Float64,
    "low_fraction": pl.Float64,
    "high_fraction": pl.Float64,
    "verdict": pl.String,
    "better": pl.Int64,
    "worse": pl.Int64,
    "values": pl.Int64,
}


def _prepare(data: Data) -> pl.DataFrame:
    frame = data.result(_RESULT)
    if frame.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    base = pl.col("base").abs()
    counted = [(pl.col("verdict") == one).sum().cast(pl.Int64).alias(one) for one in _JUDGED]
    shown = frame.with_columns(*counted, pl.len().cast(pl.Int64).alias("values")).filter(base > 0)
    relative = shown.with_columns(
        (pl.col("change") / base).alias("change_fraction"),
        (pl.col("change_low") / base).alias("low_fraction"),
        (pl.col("change_high") / base).alias("high_fraction"),
    )
    return (
        relative.filter(pl.col("verdict") != "same")
        .sort(
            pl.col("verdict").is_in(_JUDGED), pl.col("change_fraction").abs(), "policy", "measure"
        )
        .tail(_MOST)
        .select(list(_SCHEMA))
    )


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank(140 + 34 * max(frame.height, 4))
    for verdict, name in _COLORS.items():
        part = frame.filter(pl.col("verdict") == verdict)
        if part.is_empty():
            continue
        middle = part["change_fraction"]
        high = (part["high_fraction"] - middle).fill_null(0.0)
        low = (middle - part["low_fraction"]).fill_null(0.0)
        figure.add_scatter(
            x=percents(middle),
            y=_names(part),
            mode="markers",
            name=verdict,
            marker={"color": color(name), "size": 9},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": percents(high),
                "arrayminus": percents(low),
                "color": color(name),
            },
            hovertemplate="%{y}: %{x:+.1f} %<extra></extra>",
        )
    figure.update_layout(
        xaxis=axis("Change, of the value in the base run [%]", zeroline=True),
        yaxis=axis("", type="category", categoryarray=_names(frame)),
    )
    return figure


def _names(frame: pl.DataFrame) -> list[str]:
    """A line of the figure per row: policy and measure."""
    return [f"{row['policy']}<br>{_words(row['measure'])}" for row in frame.iter_rows(named=True)]


def _words(measure: str) -> str:
    one = find_measure(measure)
    return one.title if one is not None else measure


def _takeaway(frame: pl.DataFrame) -> str:
    better, worse, values = (int(frame[name][0]) for name in (*_JUDGED, "values"))
    return f"Of {count(values, 'value')} {better:,} became better and {worse:,} worse."


FIGURE = Figure(
    title="Change of each measure from the base run to the new one",
    question="What changed, and is it more than chance?",
    how_to_read="Each mark is a measure of a policy; right of zero it grew. Whiskers are 95 %"
    " intervals over orders of arrival, where both runs have several. The colour says whether the"
    " change is for the better, which for some measures is to the left and for some to the right;"
    " a measure without a better direction is shown as changed.",
    reads=(_RESULT,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=lambda frame: frame.drop(*_JUDGED, "values").reverse(),
    absent="No measure changed that was above zero before, so there is nothing to draw.",
    note=lambda frame: (
        f"{_MOST} changes are drawn: those that are better or worse, then the largest."
        " Where the base run has zero there is no percentage."
        if frame.height == _MOST
        else ""
    ),
)
