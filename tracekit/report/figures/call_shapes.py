"""How deep, how large and how wide call graphs are."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import blank, evenly, log_axis, numbers
from tracekit.report.figures import Figure
from tracekit.words import count, listed

_RESULT = "callgraph/shapes"
_SAID = {"calls": "calls", "depth": "levels", "fan_out": "calls made by one call"}
_NOUN = {"calls": "call", "depth": "level"}
_SCHEMA = pl.Schema(
    {
        "measure": pl.String,
        "value": pl.Int64,
        "count": pl.Int64,
        "share_above": pl.Float64,
        "median": pl.Int64,
        "largest": pl.Int64,
    }
)


def _prepare(data: Data) -> pl.DataFrame:
    shapes = data.result(_RESULT)
    if shapes.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    parts = []
    for measure in _SAID:
        part = shapes.filter((pl.col("measure") == measure) & (pl.col("value") > 0)).sort("value")
        if part.is_empty():
            continue
        below = pl.col("count").cum_sum()
        middle = part.filter(2 * below >= pl.col("count").sum())["value"][0]
        parts.append(
            evenly(
                part.with_columns(
                    (1 - (below - pl.col("count")) / pl.col("count").sum()).alias("share_above"),
                    pl.lit(middle, dtype=pl.Int64).alias("median"),
                    pl.col("value").max().alias("largest"),
                )
                .cast(_SCHEMA)
                .select(list(_SCHEMA)),
                500,
            )
        )
    return pl.concat(parts) if parts else pl.DataFrame(schema=_SCHEMA)


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank()
    for at, (measure, said) in enumerate(_SAID.items(), start=1):
        part = frame.filter(pl.col("measure") == measure)
        if part.is_empty():
            continue
        figure.add_scatter(
            x=part["value"].to_list(),
            y=numbers(100 * part["share_above"]),
            mode="lines+markers",
            name=said,
            line={"color": color(f"policy-{at}"), "width": 2, "shape": "vh"},
            marker={"size": 4},
            hovertemplate="%{y:.2g} % have %{x:,} " + said + " or more<extra></extra>",
        )
    figure.update_layout(
        xaxis=log_axis("Calls, levels, or calls made [count]", frame["value"]),
        yaxis=log_axis("Share with that many or more [%]", 100 * frame["share_above"]),
    )
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    first = frame.group_by("measure", maintain_order=True).first()
    rows = {row["measure"]: row for row in first.iter_rows(named=True)}
    said = [count(rows[m]["median"], noun) for m, noun in _NOUN.items() if m in rows]
    most = [count(rows[m]["largest"], noun) for m, noun in _NOUN.items() if m in rows]
    if not said:
        return f"One call makes at most {rows['fan_out']['largest']:,} others."
    return f"The median trace has {listed(said)}; the largest reach {listed(most)}."


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.group_by("measure", maintain_order=True).agg(
        pl.col("median").first(),
        pl.col("value").filter(pl.col("share_above") <= 0.1).min().alias("largest_tenth_from"),
        pl.col("value").filter(pl.col("share_above") <= 0.01).min().alias("largest_hundredth_from"),
        pl.col("largest").first(),
    )


FIGURE = Figure(
    title="Size, depth and fan-out of call graphs",
    question="How large and how deep are call graphs?",
    how_to_read="Read from a number on the horizontal axis up to a line: that share of traces has"
    " so many calls or levels, or that share of calling calls makes so many others. Both axes are"
    " logarithmic: a long flat tail to the right means that a few traces are far larger than most.",
    reads=(_RESULT,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=_table,
    absent="The store has no call graphs to measure; large ones are rebuilt by tracekit callgraph.",
    csv=("measure", "value", "count", "share_above"),
)
