"""What the answer hangs on: how the order of policies holds as assumptions change."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import polars as pl

from tracekit.replay.studies import vary_ranks
from tracekit.replay.studies.vary_ranks import BASE
from tracekit.report.data import Data
from tracekit.report.figures import Figure
from tracekit.report.palette import color
from tracekit.report.plot import axis, blank, numbers
from tracekit.report.rows import above, rows_axis
from tracekit.report.words import count, listed

_RANKS, _CHANGES = "assumptions/ranks", "assumptions/changes"
SAME, OTHER = "the same policy is best", "another policy is best, beyond chance"
UNTOLD = "nothing is told beyond chance"
_COLORS = {SAME: "policy-1", OTHER: "policy-2", UNTOLD: "other"}
_STANDS = {vary_ranks.SAME: SAME, vary_ranks.OTHER: OTHER, vary_ranks.UNTOLD: UNTOLD}
_ROW_PX, _EDGES_PX = 44, 90
_SCHEMA = {
    "change": pl.String,
    "agreement": pl.Float64,
    "best": pl.String,
    "usual_best": pl.String,
    "stands": pl.String,
}


def _prepare(data: Data) -> pl.DataFrame:
    ranks, changes = data.result(_RANKS), data.result(_CHANGES)
    if ranks.is_empty() or changes.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    usual = _best(ranks, BASE)
    rows = [
        {
            "change": row["change"],
            "agreement": row["agreement"],
            "best": listed(_best(ranks, row["change"])[:2]),
            "usual_best": listed(usual[:2]),
            "stands": _STANDS[row["stands"]],
        }
        for row in changes.filter(pl.col("agreement").is_not_null()).iter_rows(named=True)
    ]
    frame = pl.DataFrame(rows, schema=_SCHEMA)
    # what turns the answer over comes first
    order = pl.col("stands").replace_strict({OTHER: 0, UNTOLD: 1}, default=2)
    return frame.sort(order, "agreement", "change")


def _best(ranks: pl.DataFrame, change: str) -> list[str]:
    return ranks.filter("best", change=change)["policy"].to_list()


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank(max(frame.height, 4) * _ROW_PX + _EDGES_PX)
    rows = list(enumerate(frame.iter_rows(named=True)))
    for stands, name in _COLORS.items():
        part = [(at, row) for at, row in rows if row["stands"] == stands]
        if not part:
            continue
        figure.add_scatter(
            x=numbers(row["agreement"] for _, row in part),
            y=[at for at, _ in part],
            mode="markers",
            name=stands,
            customdata=[f"{row['change']}: best is {row['best']}" for _, row in part],
            marker={"color": color(name), "size": 12},
            hovertemplate="%{customdata}<br>agreement %{x:.2f}<extra></extra>",
        )
    figure.update_layout(
        margin={"l": 8, "r": 16, "t": 8, "b": 56},
        xaxis=axis("Agreement with the usual order of policies [-1..1]", range=[-1.08, 1.08]),
        yaxis=rows_axis(frame.height, 0.8, last=0.5),
        annotations=[_label(at, row) for at, row in rows],
    )
    return figure


def _label(at: int, row: dict[str, Any]) -> dict[str, Any]:
    best = f": best is {row['best']}" if row["stands"] == OTHER else ""
    return above(at, f"{row['change']}{best}", 0.4)


def _takeaway(frame: pl.DataFrame) -> str:
    turned = frame.filter(pl.col("stands") == OTHER)
    told = frame.filter(pl.col("stands") != UNTOLD)
    usual = frame["usual_best"][0]
    if told.is_empty():
        return (
            f"Under none of {count(frame.height, 'change')} of an assumption can it be told, beyond"
            " chance, whether the same policy is best."
        )
    if turned.is_empty():
        changes = count(told.height, "change")
        stays = "stay" if " and " in usual else "stays"
        return f"{usual} {stays} best, within chance, under all of {changes} of an assumption."
    least = turned.row(0, named=True)
    return (
        f"The answer hangs on assumptions: {usual} is not among the best under {turned.height}"
        f" of {count(frame.height, 'change')}; with {least['change']} {least['best']} is."
    )


FIGURE = Figure(
    title="Changed assumptions, those that turn the answer over first",
    question="Does the answer hang on what was assumed?",
    how_to_read="Each row changes one assumption and replays the policies. On the right the order"
    " of policies stays the same, at zero it is unrelated, on the left it is turned round; policies"
    " that do not differ beyond chance share a rank. Where another becomes the best, its name"
    " stands beside the change: measure that quantity in your own cluster before you decide.",
    reads=(_RANKS, _CHANGES),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=lambda frame: frame.drop("usual_best"),
    absent="No assumption was changed: tracekit vary STORE --out DIR.",
)
