"""Change of each measure from one run to another, each in its own unit, best and worst first."""

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go
import polars as pl

from tracekit.answer.amounts import difference_text, value_text
from tracekit.answer.comparison.compared_run import (
    CHANCE,
    NOT_COMPARABLE,
    TOO_FEW,
    UNCHANGED,
)
from tracekit.answer.comparison.run_compare import CHANGES_SCHEMA
from tracekit.answer.standings import Difference
from tracekit.replay.measures import find_measure
from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import above, axis, blank, percents, rows_axis
from tracekit.report.figures import Figure
from tracekit.words import count

_RESULT = "comparison/changes"
_MOST = 20
#: A change by more than this, or from zero, ends at the edge: one would press all others flat.
_EDGE = 1.0
_ROW_PX, _NARROW_ROW_PX, _EDGES_PX = 44, 64, 110
_COLORS = {
    "better": "policy-3",
    "worse": "policy-2",
    "changed": "policy-1",
    NOT_COMPARABLE: "policy-4",
    CHANCE: "other",
    TOO_FEW: "other",
}
_JUDGED = ("better", "worse")
#: What is not judged, though it is beyond chance, stands between that and the rest.
_FIRST = (*_JUDGED, NOT_COMPARABLE)
_OF_CHANGES = ("policy", "measure", "base", "new", "change", "change_low", "change_high")
_SCHEMA = {
    **{name: CHANGES_SCHEMA[name] for name in _OF_CHANGES},
    "share_of_base": pl.Float64,
    "verdict": pl.String,
    "better": pl.Int64,
    "worse": pl.Int64,
    "values": pl.Int64,
}


def _prepare(data: Data) -> pl.DataFrame:
    frame = data.result(_RESULT)
    if frame.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    counted = [(pl.col("verdict") == one).sum().cast(pl.Int64).alias(one) for one in _JUDGED]
    base, change = pl.col("base").abs(), pl.col("change")
    # from zero on any change is without measure
    share = pl.when(base > 0).then(change / base).otherwise(change.sign() * float("inf"))
    return (
        frame.with_columns(
            *counted,
            pl.len().cast(pl.Int64).alias("values"),
            share.clip(-_EDGE, _EDGE).alias("share_of_base"),
        )
        .filter(~pl.col("verdict").is_in(UNCHANGED) & change.is_not_null())
        .sort(~pl.col("verdict").is_in(_FIRST), -pl.col("share_of_base").abs(), "policy", "measure")
        .head(_MOST)
        .select(pl.col(name).cast(kind) for name, kind in _SCHEMA.items())
    )


def _plot(frame: pl.DataFrame, *, narrow: bool) -> go.Figure:
    figure = blank(_EDGES_PX + (_NARROW_ROW_PX if narrow else _ROW_PX) * max(frame.height, 1))
    rows = frame.with_row_index("at")
    for verdict, name in _COLORS.items():
        part = rows.filter(verdict=verdict)
        if part.is_empty():
            continue
        figure.add_bar(
            x=percents(part["share_of_base"]),
            y=part["at"].to_list(),
            orientation="h",
            width=0.22 if narrow else 0.3,
            name=verdict,
            marker={"color": color(name)},
            customdata=[_change(row) for row in part.iter_rows(named=True)],
            hovertemplate="%{customdata}<extra></extra>",
        )
    lift = 0.5 if narrow else 0.36
    names = [
        above(at, _name(row, narrow=narrow), lift, align="left")
        for at, row in enumerate(frame.iter_rows(named=True))
    ]
    edge = 100 * _EDGE
    title = "Change [% of base]" if narrow else "Change, of the value in the base run [%]"
    figure.update_layout(
        margin={"l": 12, "r": 16, "t": 36, "b": 56},
        xaxis=axis(
            title,
            zeroline=True,
            range=[-edge * 1.03, edge * 1.03],
            tickvals=[-edge, -edge / 2, 0, edge / 2, edge],
            ticktext=[
                f"\u2264 \u2212{edge:g}",
                f"\u2212{edge / 2:g}",
                "0",
                f"+{edge / 2:g}",
                f"\u2265 +{edge:g}",
            ],
        ),
        yaxis=rows_axis(frame.height, 0.9),
        annotations=names,
        barmode="overlay",
    )
    return figure


def _name(row: Mapping[str, Any], *, narrow: bool) -> str:
    """The policy and the measure of a row, from what to what it went; in two lines if narrow."""
    measure = find_measure(row["measure"])
    if measure is None:
        return f"{row['policy']}: {row['measure']}"
    values = " \u2192 ".join(value_text(measure, row[one]) for one in ("base", "new"))
    if narrow:
        return f"<b>{row['policy']}</b> {values}<br>{measure.title}"
    return f"<b>{row['policy']}</b>: {measure.title} {values}"


def _change(row: Mapping[str, Any]) -> str:
    """The change in the measure's own unit, with its interval."""
    measure = find_measure(row["measure"])
    if measure is None:
        return f"{row['change']:+.4g}"
    by = Difference(
        policy=row["policy"],
        other=row["policy"],
        measure=row["measure"],
        mean=row["change"],
        low=row["change_low"],
        high=row["change_high"],
        apart=row["verdict"] in _FIRST,
        orders=0,
        on_average=False,
    )
    return f"{row['policy']}<br>{measure.title}: {difference_text(measure, by)}, {row['verdict']}"


def _takeaway(frame: pl.DataFrame) -> str:
    better, worse, values = (int(frame[name][0]) for name in (*_JUDGED, "values"))
    missing = frame["verdict"].to_list().count(NOT_COMPARABLE)
    said = f"; {missing:,} of those drawn cannot be compared, as containers are missing" * bool(
        missing
    )
    return f"Of {count(values, 'value')} {better:,} became better and {worse:,} worse{said}."


FIGURE = Figure(
    title="Change of each measure from the base run to the new one",
    question="What changed, and is it more than chance?",
    how_to_read="Each bar is a measure of a policy, with its value before and after; right of zero"
    " it grew. The length is the change as a share of the value in the base run; what more than"
    " doubled, or was zero, ends at the edge. The colour says whether the change is for the"
    " better, beyond chance; a measure without a better direction is shown as changed, and what"
    " looks better where fewer containers were placed as not comparable. What is"
    " better or worse stands first. The table has each change in the unit of its measure, with its"
    " interval.",
    reads=(_RESULT,),
    prepare=_prepare,
    draw=lambda frame: _plot(frame, narrow=False),
    narrow=lambda frame: _plot(frame, narrow=True),
    takeaway=_takeaway,
    table=lambda frame: frame.drop("share_of_base", *_JUDGED, "values"),
    absent="No measure changed, so there is nothing to draw.",
    note=lambda frame: (
        f"{_MOST} changes are drawn: those that are better or worse, then the largest."
        if frame.height == _MOST
        else ""
    ),
)
