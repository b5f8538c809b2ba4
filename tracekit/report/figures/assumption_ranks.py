"""Ranks of policies under changed assumptions."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.figures import Figure
from tracekit.report.plot import axis, blank, numbers
from tracekit.report.policies import style
from tracekit.report.words import count

_RANKS, _CHANGES = "assumptions/ranks", "assumptions/changes"
_BASE = "as assumed"
_SAME = 0.999
_SCHEMA = {
    "change": pl.String,
    "policy": pl.String,
    "rank": pl.Float64,
    "value": pl.Float64,
    "agreement": pl.Float64,
}


def _prepare(data: Data) -> pl.DataFrame:
    ranks, changes = data.result(_RANKS), data.result(_CHANGES)
    if ranks.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    told = changes.select("change", "agreement")
    place = pl.when(pl.col("change") == _BASE).then(-2.0).otherwise(pl.col("agreement"))
    return (
        ranks.join(told, on="change", how="left")
        .sort(place, "change", maintain_order=True)
        .select(list(_SCHEMA))
    )


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank(440)
    policies = frame["policy"].unique(maintain_order=True).to_list()
    for name in policies:
        part = frame.filter(pl.col("policy") == name)
        look = style(name, policies)
        figure.add_scatter(
            x=part["change"].str.replace("=", "<br>").to_list(),
            y=numbers(part["rank"]),
            customdata=numbers(part["value"]),
            mode="lines+markers",
            name=name,
            line={"color": look["color"], "dash": look["dash"], "width": look["width"]},
            marker={"color": look["color"], "symbol": look["symbol"], "size": 8},
            hovertemplate="%{x}: place %{y:g}, value %{customdata:.4g}",
        )
    figure.update_layout(
        xaxis=axis("Assumption that was changed [name and value]", type="category"),
        yaxis=axis("Place [1 = best]", autorange="reversed"),
    )
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    told = frame.select("change", "agreement").unique(maintain_order=True).drop_nulls()
    kept = int((told["agreement"] >= _SAME).sum())
    least = told.sort("agreement", "change").row(0, named=True) if told.height else None
    said = f"The order of policies holds under {kept} of {count(told.height, 'change')}"
    if least is None or least["agreement"] >= _SAME:
        return f"{said}."
    return f"{said}; it hangs most on {least['change']} (agreement {least['agreement']:.2f})."


FIGURE = Figure(
    title="Places of the policies as assumptions change",
    question="Does the order of policies hang on what was assumed?",
    how_to_read="On the far left policies stand in their places under the defaults; each further"
    " column changes one assumption, the one that matters most first. Where lines cross, the order"
    " of policies hangs on a number that the trace does not tell.",
    reads=(_RANKS, _CHANGES),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=lambda frame: frame.select("change", "agreement").unique(maintain_order=True),
    absent="No assumption was changed: tracekit vary STORE --out DIR.",
)
