"""Imbalance against the number of containers, policy by policy."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data, in_columns
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import axis, blank, numbers
from tracekit.report.figures import Figure
from tracekit.report.policies import colours, ended
from tracekit.words import few, number

_RESULT = "search_placement/imbalance"
#: What stands in its place where the study was not made.
NOT_RUN = "The placement experiment was not run: tracekit placement-bench --out DIR."
_SCHEMA = {
    "policy": pl.String,
    "containers": pl.Int64,
    "imbalance": pl.Float64,
    "imbalance_low": pl.Float64,
    "imbalance_high": pl.Float64,
}


def _prepare(data: Data) -> pl.DataFrame:
    return in_columns(data.result(_RESULT), _SCHEMA)


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank(460)
    names = ended(frame)["policy"].to_list()
    drawn = colours(names)
    for name in sorted(names, key=lambda name: name in drawn):
        part = frame.filter(pl.col("policy") == name)
        known = name in drawn
        if known:
            _band(figure, drawn[name], part)
        figure.add_scatter(
            x=part["containers"].to_list(),
            y=numbers(part["imbalance"]),
            mode="lines",
            name=name,
            showlegend=known,
            line={
                "color": color(drawn.get(name, "other")),
                "width": 2.5 if known else 1,
            },
            hovertemplate=f"{name}: Z %{{y:.4f}} at %{{x:,}}<extra></extra>",
        )
    figure.update_layout(
        xaxis=axis("Containers placed [count]"),
        yaxis=axis("Imbalance Z, mean over nodes [0..1]", rangemode="tozero"),
    )
    return figure


def _band(figure: go.Figure, shade: str, part: pl.DataFrame) -> None:
    """The interval over drawn sets, behind the line."""
    counts = part["containers"].to_list()
    figure.add_scatter(
        x=counts + counts[::-1],
        y=numbers([*part["imbalance_high"], *part["imbalance_low"].reverse()]),
        fill="toself",
        fillcolor=color(shade),
        opacity=0.18,
        line={"width": 0},
        mode="lines",
        showlegend=False,
        hoverinfo="skip",
    )


def _takeaway(frame: pl.DataFrame) -> str:
    last = ended(frame)
    first = last.row(0, named=True)
    own = last.filter(pl.col("policy") == "tbesk")
    near = last.filter(pl.col("imbalance_low") <= first["imbalance_high"])["policy"].to_list()
    value = f"Z {number(first['imbalance'])}"
    said = (
        f"{few(near)} cannot be told apart: they end most even, {near[0]} at {value}"
        if len(near) > 1
        else f"{first['policy']} ends most even, at {value}"
    )
    if own.height and first["policy"] != "tbesk":
        rank = last["policy"].to_list().index("tbesk") + 1
        said += f"; TBESK is number {rank} of {last.height}, at {number(own['imbalance'][0])}"
    return f"{said}."


FIGURE = Figure(
    title="Imbalance against the number of containers",
    question="Which policy keeps four resources even as a cluster fills?",
    how_to_read="Each line is a policy, the mean over drawn sets with its 95 % interval; lower is"
    " more even. Z is how far the use of a node's resources lies from their mean. Thin grey lines"
    " are further policies that the paper does not compare with; point at one to see its name.",
    reads=(_RESULT,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=ended,
    absent=NOT_RUN,
)
