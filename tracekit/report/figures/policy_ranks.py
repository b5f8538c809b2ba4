"""Every way to place in order of rank, each with its interval."""

from typing import Any

import plotly.graph_objects as go
import polars as pl

from tracekit.replay.answer.amounts import interval_text, mean_text, scale, value_text
from tracekit.replay.answer.fitness import STICK
from tracekit.replay.measures import Measure, all_measures, find_measure
from tracekit.replay.runs.run import OBSERVED
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import above, axis, blank, numbers, rows_axis
from tracekit.report.figures import Figure
from tracekit.report.policies import label
from tracekit.report.ranks import (
    BARRED,
    BEST,
    CHOSEN,
    NEAREST,
    PRODUCTION,
    RISKY,
    UNJUDGED,
    UNTOLD,
    WAITED,
    WITHIN,
    WORSE,
    ranked,
)
from tracekit.report.words import listed

#: Bars begin at zero; where all values lie closer together than this, marks on a part of the axis
#: say more.
_CLOSE = 0.6
_COLORS = {
    CHOSEN: "policy-1",
    NEAREST: "policy-1",
    RISKY: "other",
    STICK: "policy-6",
    BEST: "policy-1",
    WITHIN: "policy-3",
    WORSE: "policy-5",
    WAITED: "policy-4",
    BARRED: "other",
    PRODUCTION: "observed",
    UNTOLD: "policy-6",
    UNJUDGED: "policy-6",
}
#: Drawn as an outline.
_HOLLOW = (UNJUDGED, WAITED, RISKY)
_ROW_PX, _EDGES_PX, _NARROW_ROW_PX = 24, 100, 40
_LONGEST = 30
#: So many of those that stand beside a single way to place are named in the title.
_FEW = 2


def _measure(frame: pl.DataFrame) -> Measure:
    names = frame["measure"]
    known = all_measures()
    found = find_measure(names[0]) if frame.height else None
    return found or next(iter(known.values()))


def _name(policy: str, same: int) -> str:
    text = label(policy)
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}\u2026"
    return f"{text} (+{same} alike)" if same else text


def _named(measure: Measure, row: dict[str, Any]) -> str:
    """A row's name with its value, which a short bar cannot show."""
    value = mean_text(measure, row["value"], row["high"])
    return f"{_name(row['policy'], row['same'])}  <b>{value}</b>"


def _title(measure: Measure) -> str:
    unit = "%" if measure.share else measure.unit
    return f"{measure.title} [{unit}]"


def _bars(frame: pl.DataFrame, *, narrow: bool) -> go.Figure:
    measure = _measure(frame)
    row_px = _NARROW_ROW_PX if narrow else _ROW_PX
    figure = blank(max(frame.height, 1) * row_px + _EDGES_PX)
    factor = scale(measure)
    places = list(range(frame.height))
    close = _is_close(frame)
    for stands in dict.fromkeys(frame["stands"]):
        part = list(zip(places, frame.iter_rows(named=True), strict=True))
        part = [(at, row) for at, row in part if row["stands"] == stands]
        values = [factor * row["value"] for _, row in part]
        add = figure.add_scatter if close else figure.add_bar
        add(
            x=numbers(values),
            y=[at for at, _ in part],
            name=stands,
            **(_mark(stands) if close else _bar(stands, narrow=narrow)),
            error_x={
                "type": "data",
                "symmetric": False,
                "array": numbers(_off(row, factor, 1) for _, row in part),
                "arrayminus": numbers(_off(row, factor, -1) for _, row in part),
                "color": color("ink"),
                "thickness": 1.4,
                "width": 4,
            },
            customdata=[
                f"{label(row['policy'])}: {_value(measure, row)}, {row['stands']}"
                for _, row in part
            ],
            hovertemplate="%{customdata}<extra></extra>",
        )
    names = [_named(measure, row) for row in frame.iter_rows(named=True)]
    figure.update_layout(
        barmode="overlay",
        margin={"l": 8, "r": 24, "t": 8, "b": 56},
        xaxis=axis(_title(measure), rangemode="normal" if close else "tozero", zeroline=False),
        yaxis=rows_axis(frame.height, 0.75 if narrow else 0.6, names=[] if narrow else names),
    )
    if narrow:
        said = [above(at, name, yanchor="middle") for at, name in enumerate(names)]
        figure.update_layout(annotations=said)
    return figure


def _is_close(frame: pl.DataFrame) -> bool:
    """Whether bars from zero would all look the same."""
    values = frame["value"].drop_nulls().to_list()
    return bool(values) and min(values) > _CLOSE * max(values)


def _bar(stands: str, *, narrow: bool) -> dict[str, object]:
    drawn = color(_COLORS[stands])
    marker: dict[str, object] = {"color": drawn}
    if stands in _HOLLOW:
        marker = {"color": color("card"), "line": {"width": 1.6, "color": drawn}}
    return {"orientation": "h", "marker": marker, "width": 0.36 if narrow else 0.66}


def _mark(stands: str) -> dict[str, object]:
    marker = {
        "color": color(_COLORS[stands]),
        "size": 11,
        "symbol": "circle-open" if stands in _HOLLOW else "circle",
        "line": {"width": 2, "color": color(_COLORS[stands])},
    }
    return {"mode": "markers", "marker": marker}


def _value(measure: Measure, row: dict[str, Any]) -> str:
    return interval_text(measure, row["value"], row["low"], row["high"])


def _off(row: dict[str, float | None], factor: float, side: int) -> float | None:
    end, value = row["high" if side > 0 else "low"], row["value"]
    return None if end is None or value is None else factor * side * (end - value)


def _takeaway(frame: pl.DataFrame) -> str:
    measure = _measure(frame)
    rows = frame.filter(~pl.col("stands").is_in([PRODUCTION, WAITED]))
    if rows.height < 2:
        return _of_one(measure, frame, rows)
    best = rows.filter(pl.col("stands").is_in([CHOSEN, NEAREST, BEST]))
    why = frame["why_not"][0]
    if best.is_empty() or (why and not _some(rows, BARRED)):
        return _untold(measure, rows, why)
    first = best.row(0, named=True)
    near = rows.filter(pl.col("stands") == WITHIN)["policy"].to_list()
    also = [
        f"{listed(near) if len(near) <= 3 else f'{len(near)} others'} within chance of it by this"
    ]
    parts = [
        f"{measure.title}: {_value(measure, first)} under {first['policy']}",
        *(also if near else []),
        *_counted(rows),
    ]
    return f"{'; '.join(parts)}."


def _of_one(measure: Measure, frame: pl.DataFrame, rows: pl.DataFrame) -> str:
    """One way to place that holds the load, or none, beside production and those that do not."""
    beside = frame.filter(pl.col("stands").is_in([PRODUCTION, WAITED]))
    said = [
        f"{_value(measure, row)} {_under(row)}"
        for row in [*rows.iter_rows(named=True), *beside.head(_FEW).iter_rows(named=True)]
    ]
    waited = _some(frame, WAITED)
    left = f"; {waited} left containers waiting" if waited else ""
    return f"{measure.title}: {listed(said)}{left}."


def _under(row: dict[str, Any]) -> str:
    return "in production" if row["policy"] == OBSERVED else f"under {row['policy']}"


def _untold(measure: Measure, rows: pl.DataFrame, why: str) -> str:
    """Why the figure names no best: nothing tells, or nobody may be chosen."""
    values = rows["value"]
    low, high = (value_text(measure, end) for end in (values.min(), values.max()))  # type: ignore[arg-type]
    if why:
        span = f" ({low} to {high})" if low != high else ""
        return f"{measure.title}{span} tells no two of {rows.height} ways to place apart: {why}."
    said = "; ".join(_counted(rows)) or "no two differ beyond chance"
    return f"{measure.title} goes from {low} to {high}, and no policy can be recommended: {said}."


def _some(rows: pl.DataFrame, stands: str) -> int:
    return rows.filter(pl.col("stands") == stands).height


def _counted(rows: pl.DataFrame) -> list[str]:
    """How many stand otherwise, a clause each."""
    barred, risky, unjudged = (_some(rows, one) for one in (BARRED, RISKY, UNJUDGED))
    said = [f"{barred} overload{'s' if barred == 1 else ''} nodes"] if barred else []
    said += [f"{risky} may overload them"] if risky else []
    return [*said, f"{unjudged} {UNJUDGED}"] if unjudged else said


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    share = frame.height > 0 and _measure(frame).share
    ending = "_fraction" if share else ""
    return frame.select(
        "policy",
        pl.col("same").alias("policies_alike"),
        pl.col("value").alias(f"mean{ending}"),
        pl.col("low").alias(f"low{ending}"),
        pl.col("high").alias(f"high{ending}"),
        "stands",
        "orders",
    )


FIGURE = Figure(
    title="Ways to place, the best that may be chosen first",
    question="Which policy is best, and by how much?",
    how_to_read="The first choice stands on top, or what comes nearest to it where production is"
    " kept, below it the lowest where low is better; then"
    " those that overload more than allowed on average, which chance may explain, as outlines; then"
    " those that may not be chosen, without a line where one order was enough to bar them; last, as"
    " outlines, others that met one order, which is too few to judge. Behind each name is its mean;"
    " the thin line is the 95 % interval over the orders of arrival. Where values lie close"
    " together there are marks on a part of the axis,"
    " else bars from zero. Policies that placed every container alike are one row.",
    reads=("replay/summary", "replay/repeats"),
    prepare=ranked,
    draw=lambda frame: _bars(frame, narrow=False),
    narrow=lambda frame: _bars(frame, narrow=True),
    takeaway=_takeaway,
    table=_table,
    absent="The run holds fewer than two ways to place, so there is nothing to rank.",
    csv=("policy", "same", "value", "low", "high", "stands", "orders"),
)
