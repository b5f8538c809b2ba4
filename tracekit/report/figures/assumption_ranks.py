"""What the answer hangs on: how the order of policies holds as assumptions change."""

from typing import Any

import plotly.graph_objects as go
import polars as pl

from tracekit.answer.sensitivity import answers as vary_answers
from tracekit.answer.sensitivity import told as vary_told
from tracekit.answer.sensitivity.study import NAME
from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import above, axis, blank, numbers, rows_axis
from tracekit.report.figures import Figure

_CHANGES = "assumptions/changes"
SAME, BARRED, OTHER, UNTOLD = (
    "the same answer",
    "the policy is barred",
    "another answer",
    "nothing is told",
)
_COLORS = {SAME: "policy-1", BARRED: "policy-2", OTHER: "policy-5", UNTOLD: "other"}
_STANDS = {
    vary_answers.SAME: SAME,
    vary_answers.BARRED: BARRED,
    vary_answers.KEPT: OTHER,
    vary_answers.OTHER: OTHER,
    vary_answers.TRADE: OTHER,
    vary_answers.UNTOLD: UNTOLD,
}
_ROW_PX, _EDGES_PX = 44, 90
_SCHEMA = {
    "change": pl.String,
    "agreement": pl.Float64,
    "answer": pl.String,
    "usual_answer": pl.String,
    "headline": pl.String,
    "why": pl.String,
    "stands": pl.String,
}


def _prepare(data: Data) -> pl.DataFrame:
    changes = data.result(_CHANGES)
    # without an answer under the defaults nothing can stay, nor turn over
    if changes.is_empty() or not data.studies[NAME].about["answer"]:
        return pl.DataFrame(schema=_SCHEMA)
    study = data.studies[NAME]
    same = {"usual_answer": vary_told.subject(study), "headline": vary_told.headline(study)}
    rows = [
        {**row, **same, "stands": _STANDS[row["stands"]]}
        for row in changes.filter(pl.col("stands").is_in(list(_STANDS))).iter_rows(named=True)
    ]
    # what turns the answer over comes first, as in the study
    return pl.DataFrame([{name: row[name] for name in _SCHEMA} for row in rows], schema=_SCHEMA)


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
            customdata=[_told(row) for _, row in part],
            marker={"color": color(name), "size": 12},
            hovertemplate="%{customdata}<br>agreement %{x:.2f}<extra></extra>",
        )
    figure.update_layout(
        margin={"l": 8, "r": 16, "t": 8, "b": 56},
        xaxis=axis("Agreement of ranks with the usual order [-1..1]", range=[-1.08, 1.08]),
        yaxis=rows_axis(frame.height, 0.8, last=0.5),
        annotations=[_label(at, row) for at, row in rows],
    )
    return figure


def _why_absent(data: Data) -> str:
    return vary_told.answer(data.studies[NAME]) if NAME in data.studies else ""


def _told(row: dict[str, Any]) -> str:
    why = f"<br>{row['why']}" if row["why"] else ""
    return f"{row['change']}: {row['stands']}, {row['answer']}{why}"


def _label(at: int, row: dict[str, Any]) -> dict[str, Any]:
    how = {BARRED: f": {_who(row)} is barred", OTHER: f": {row['answer']}"}.get(row["stands"], "")
    return above(at, f"{row['change']}{how}", 0.4)


def _who(row: dict[str, Any]) -> str:
    usual = str(row["usual_answer"])
    return "production" if usual.startswith(vary_told.KEEP) else usual


def _takeaway(frame: pl.DataFrame) -> str:
    return str(frame["headline"][0])


FIGURE = Figure(
    title="Changed assumptions, those that turn the answer over first",
    question="Does the answer hang on what was assumed?",
    how_to_read="Each row changes one assumption, replays the policies and judges them as a run"
    " does. Its colour is what becomes of the answer; where that turns over, what it is instead"
    " stands beside the change: measure that quantity in your own cluster before you decide. Where"
    " a point lies is of the ranks by one measure alone: on the right their order stays the same,"
    " at zero it is unrelated, on the left it is turned round; a row without a point has no ranks.",
    reads=(_CHANGES,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=lambda frame: frame.drop("usual_answer", "headline"),
    why_absent=_why_absent,
    absent="No assumption was changed: tracekit sensitivity STORE --out DIR.",
)
