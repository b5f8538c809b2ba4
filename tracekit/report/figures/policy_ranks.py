"""Every way to place in order of rank, each with its interval."""

from typing import Any

import plotly.graph_objects as go
import polars as pl

from tracekit.answer.advice import NEAREST
from tracekit.answer.amounts import interval_text, mean_text, scale, value_text
from tracekit.answer.fitness import STICK
from tracekit.replay.measures import Measure, all_measures, find_measure
from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import above, axis, blank, numbers, rows_axis, whisker
from tracekit.report.figures import Figure
from tracekit.report.figures._run_sql import RUN, Shown, means_sql
from tracekit.report.measures import headline
from tracekit.report.policies import label
from tracekit.report.ranks import (
    BARRED,
    BEST,
    CHOSEN,
    PRODUCTION,
    RISKY,
    UNJUDGED,
    UNTOLD,
    WAITED,
    WITHIN,
    WORSE,
    ranked,
)
from tracekit.words import agreeing

#: Bars begin at zero; where all values lie closer together than this, marks on a part of the axis
#: say more.
_CLOSE = 0.6
#: What stands above those that stand alike; production and what is alone need nothing.
_HEADINGS = {
    CHOSEN: "First choice",
    NEAREST: "Comes nearest, while production is kept",
    BEST: "Best by this measure",
    WITHIN: "May be chosen: within chance of it",
    UNTOLD: "Not told apart",
    WORSE: "May be chosen: worse beyond chance",
    RISKY: "More overload than allowed, maybe chance",
    BARRED: "Not to be chosen: overload nodes",
    WAITED: "Not to be chosen: left containers waiting",
    STICK: "Yardsticks, which no scheduler runs",
    UNJUDGED: "Not judged: too few orders of arrival",
}
#: The title names these.
_TITLED = (CHOSEN, NEAREST, BEST)
#: Drawn as an outline: not to be chosen.
_HOLLOW = (BARRED, WAITED, STICK, UNJUDGED)
_ROW_PX, _EDGES_PX, _NARROW_ROW_PX = 24, 100, 40
_LONGEST = 30
#: How a heading is set.
_HEADING = {"font": {"size": 12, "color": color("muted")}, "bgcolor": color("card")}


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
    places, headings = _places(frame)
    height = (places[-1] + 1) if places else 1
    figure = blank(round(height * row_px) + _EDGES_PX)
    factor = scale(measure)
    close = _is_close(frame)
    for at, row in zip(places, frame.iter_rows(named=True), strict=True):
        add = figure.add_scatter if close else figure.add_bar
        add(
            x=numbers([factor * row["value"]]),
            y=[at],
            name=row["stands"],
            showlegend=False,
            **(_mark(row) if close else _bar(row, narrow=narrow)),
            error_x=whisker(*(_scaled(row[one], factor) for one in ("value", "low", "high"))),
            customdata=[f"{label(row['policy'])}: {_value(measure, row)}, {row['stands']}"],
            hovertemplate="%{customdata}<extra></extra>",
        )
    names = [_named(measure, row) for row in frame.iter_rows(named=True)]
    beside = None if narrow else names
    figure.update_layout(
        barmode="overlay",
        margin={"l": 8, "r": 24, "t": 8, "b": 56},
        xaxis=axis(_title(measure), rangemode="normal" if close else "tozero", zeroline=False),
        yaxis=rows_axis(height, 0.75 if narrow else 0.6, names=beside, places=places),
    )
    said = [above(at, text, 0, yanchor="middle", **_HEADING) for at, text in headings]
    if narrow:
        said += [above(at, name, yanchor="middle") for at, name in zip(places, names, strict=True)]
    figure.update_layout(annotations=said)
    return figure


def _places(frame: pl.DataFrame) -> tuple[list[float], list[tuple[float, str]]]:
    """Where each row is, and where a heading is above those that stand alike."""
    places: list[float] = []
    headings: list[tuple[float, str]] = []
    at, before = 0.0, ""
    for stands in frame["stands"]:
        heading = _HEADINGS.get(stands, "")
        if heading and heading != before:
            headings.append((at, heading))
            at += 1
        before = heading or before
        places.append(at)
        at += 1
    return places, headings


def _is_close(frame: pl.DataFrame) -> bool:
    """Whether bars from zero would all look the same."""
    values = frame["value"].drop_nulls().to_list()
    return bool(values) and min(values) > _CLOSE * max(values)


def _shade(row: dict[str, Any]) -> str:
    """The policy's own colour where the title names it, as production has; else grey."""
    return color(row["shade"] if row["stands"] in (*_TITLED, PRODUCTION) else "other")


def _bar(row: dict[str, Any], *, narrow: bool) -> dict[str, object]:
    marker: dict[str, object] = {"color": _shade(row)}
    if row["stands"] in _HOLLOW:
        marker = {"color": color("card"), "line": {"width": 1.6, "color": _shade(row)}}
    return {"orientation": "h", "marker": marker, "width": 0.36 if narrow else 0.66}


def _mark(row: dict[str, Any]) -> dict[str, object]:
    marker = {
        "color": _shade(row),
        "size": 11,
        "symbol": "circle-open" if row["stands"] in _HOLLOW else "circle",
        "line": {"width": 2, "color": _shade(row)},
    }
    return {"mode": "markers", "marker": marker}


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else factor * value


def _value(measure: Measure, row: dict[str, Any]) -> str:
    return interval_text(measure, row["value"], row["low"], row["high"])


def _takeaway(frame: pl.DataFrame) -> str:
    measure = _measure(frame)
    ours = frame.filter(pl.col("stands") != PRODUCTION)
    rows = ours.filter(pl.col("stands") != WAITED)
    best = rows.filter(pl.col("stands").is_in(_TITLED))
    why = frame["why_not"][0]
    if best.is_empty() or (rows.height > 1 and why and not _some(rows, BARRED)):
        return _untold(measure, frame, ours, why if rows.height > 1 else "")
    first = best.row(0, named=True)
    near = _some(rows, WITHIN)
    said = f"{measure.title}: {_value(measure, first)} under {first['policy']}{_usual(frame)}."
    alike = agreeing(near, f"more [is|are] within chance of {first['policy']} by this")
    others = "; ".join([*([alike] if near else []), *_counted(ours)])
    return f"{said} {others}." if others else said


def _usual(frame: pl.DataFrame) -> str:
    """What production comes to, a clause; empty where it is not known."""
    rows = frame.filter(pl.col("stands") == PRODUCTION)
    if rows.is_empty():
        return ""
    row = rows.row(0, named=True)
    chance = ", which chance may explain" if row["as_first"] else ""
    return f", {_value(_measure(frame), row)} in production{chance}"


def _untold(measure: Measure, frame: pl.DataFrame, ours: pl.DataFrame, why: str) -> str:
    """Why the figure names no best: nothing tells, or nobody may be chosen."""
    low, high = (value_text(measure, end) for end in (ours["value"].min(), ours["value"].max()))  # type: ignore[arg-type]
    span = f"{low} to {high}" if low != high else low
    if why:
        return f"{measure.title} ({span}) tells no two of {ours.height} ways to place apart: {why}."
    said = "; ".join(_counted(ours)) or "no two differ beyond chance"
    alone = ours.height == 1
    who = f"under {ours['policy'][0]}" if alone else f"in {ours.height} ways to place"
    return f"{measure.title} is {span} {who}{_usual(frame)}; no policy can be recommended: {said}."


def _some(rows: pl.DataFrame, stands: str) -> int:
    return rows.filter(pl.col("stands") == stands).height


def _counted(rows: pl.DataFrame) -> list[str]:
    """How many stand otherwise, a clause each."""
    clauses = {
        BARRED: "overload[s|] nodes",
        WAITED: "left containers waiting",
        RISKY: "may overload nodes",
        UNJUDGED: UNJUDGED,
    }
    return [agreeing(many, text) for one, text in clauses.items() if (many := _some(rows, one))]


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


def _sql(data: Data) -> list[tuple[str, str]]:
    measure = headline(data)
    if measure is None:
        return []
    value = Shown(measure=measure.name, mean="mean", low="low", high="high")
    return [(RUN, means_sql(data, [value]))]


FIGURE = Figure(
    title="Ways to place, the best that may be chosen first",
    question="Which policy is best, and by how much?",
    how_to_read="The first choice stands on top, or what comes nearest where production is"
    " kept; below it, under headings, those that may be chosen, as full bars, and those that may"
    " not, as outlines. Under a heading the lowest stands first where low is better. Behind each"
    " name is its mean; the thin line is the 95 % interval over the orders of arrival, where enough"
    " of them were met. Where values lie close together there are marks on a part of the axis,"
    " else bars from zero. Policies that placed every container alike are one row.",
    reads=("replay/summary", "replay/repeats"),
    prepare=ranked,
    sql=_sql,
    draw=lambda frame: _bars(frame, narrow=False),
    narrow=lambda frame: _bars(frame, narrow=True),
    takeaway=_takeaway,
    table=_table,
    absent="The run holds fewer than two ways to place, so there is nothing to rank.",
    csv=("policy", "same", "value", "low", "high", "stands", "orders"),
)
