"""What was wrong with the records of calls, and what was done about it."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import axis, blank
from tracekit.report.figures import Figure
from tracekit.words import count

_RESULT = "callgraph/ledger"
_MENDED = {
    "merged",
    "inserted",
    "moved up",
    "settled",
    "named by twin",
    "named by parent",
    "named by calls below",
    "named by siblings",
}
#: What a reader calls defects whose names are those of the file format.
_CALLED = {"missing_twin": "recorded_at_one_end_only"}
_GROUPS = (("mended", "policy-3"), ("left out", "policy-2"), ("kept as it is", "other"))
_SCHEMA = pl.Schema(
    {
        "defect": pl.String,
        "action": pl.String,
        "group": pl.String,
        "count": pl.Int64,
        "traces": pl.Int64,
    }
)


def _prepare(data: Data) -> pl.DataFrame:
    ledger = data.result(_RESULT)
    if ledger.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    action = pl.col("action").cast(pl.String)
    group = (
        pl.when(action.is_in(list(_MENDED)))
        .then(pl.lit("mended"))
        .when(action == "left out")
        .then(pl.lit("left out"))
        .otherwise(pl.lit("kept as it is"))
    )
    return (
        ledger.filter(pl.col("count") > 0)
        .with_columns(
            pl.col("defect").cast(pl.String).replace(_CALLED).str.replace_all("_", " "),
            action.alias("action"),
            group.alias("group"),
        )
        .sort("count", "defect", "action", descending=[True, False, False])
        .select(list(_SCHEMA))
        .cast(_SCHEMA)
    )


def _draw(frame: pl.DataFrame) -> go.Figure:
    order = _defects(frame)
    figure = blank(170 + 26 * max(len(order), 3))
    for group, role in _GROUPS:
        part = frame.filter(pl.col("group") == group).group_by("defect").agg(pl.col("count").sum())
        counts = dict(part.iter_rows())
        rows = [defect for defect in reversed(order) if defect in counts]
        if not rows:
            continue
        figure.add_bar(
            x=[counts[defect] for defect in rows],
            y=rows,
            orientation="h",
            name=group,
            marker={"color": color(role), "line": {"width": 0}},
            hovertemplate="%{y}: %{x:,} " + group + "<extra></extra>",
        )
    figure.update_layout(
        barmode="stack",
        margin_l=180,
        xaxis=axis("How often [count]", rangemode="tozero"),
        yaxis=axis(
            "",
            showgrid=False,
            categoryorder="array",
            categoryarray=order[::-1],
        ),
    )
    return figure


def _defects(frame: pl.DataFrame) -> list[str]:
    total = frame.group_by("defect").agg(pl.col("count").sum())
    return total.sort("count", "defect", descending=[True, False])["defect"].to_list()


def _takeaway(frame: pl.DataFrame) -> str:
    every = int(frame["count"].sum())
    by_group = dict(frame.group_by("group").agg(pl.col("count").sum()).iter_rows())
    most = _defects(frame)[0]
    return (
        f"Of {count(every, 'inconsistency').replace('inconsistencys', 'inconsistencies')} in the"
        f" records of calls {by_group.get('mended', 0):,} could be mended; the commonest is:"
        f" {most}."
    )


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select("defect", "action", "count", "traces").head(40)


FIGURE = Figure(
    title="The ledger of inconsistencies in call graphs",
    question="How far can the recorded calls be trusted?",
    how_to_read="One bar is one kind of inconsistency; its colours say what repair made of it."
    " Mended means that the other record of the same call, or its neighbours in the tree, told what"
    " was missing. What contradicts its parent and fits nowhere is left out of the trees, and"
    " counted here.",
    reads=(_RESULT,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=_table,
    absent="The store has no calls, so there is nothing to check; many need tracekit callgraph.",
)
