"""Every way to place in order of rank, each with its interval."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl

from tracekit.replay.measures import Measure, all_measures, find_measure
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.standings import Standing, Standings
from tracekit.replay.runs.student import FEWEST
from tracekit.report.amounts import scale, value_text
from tracekit.report.data import Data
from tracekit.report.figures import Figure
from tracekit.report.headline import headline
from tracekit.report.palette import color
from tracekit.report.plot import axis, blank, numbers
from tracekit.report.policies import label
from tracekit.report.words import listed

BEST, WITHIN, WORSE, WAITED, PRODUCTION = (
    "best",
    "within chance of the best",
    "worse, beyond chance",
    "left containers waiting",
    "production",
)
UNTOLD = "not told apart"
UNJUDGED = "met too few orders of arrival to be judged"
#: Bars begin at zero; where all values lie closer together than this, marks on a part of the axis
#: say more.
_CLOSE = 0.6
_COLORS = {
    BEST: "policy-1",
    WITHIN: "policy-3",
    WORSE: "other",
    WAITED: "bound",
    PRODUCTION: "observed",
    UNTOLD: "policy-1",
    UNJUDGED: "other",
}
_ROW_PX, _EDGES_PX, _NARROW_ROW_PX = 24, 100, 40
_LONGEST = 30
_SCHEMA = {
    "policy": pl.String,
    "same": pl.Int64,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "stands": pl.String,
    "orders": pl.Int64,
    "measure": pl.String,
    "why_not": pl.String,
}


def _prepare(data: Data) -> pl.DataFrame:
    measure = headline(data)
    if measure is None:
        return pl.DataFrame(schema=_SCHEMA)
    found = data.standings(measure.name)
    rows = [
        {
            "policy": row.names[0],
            "same": len(row.names) - 1,
            "value": row.mean,
            "low": row.low,
            "high": row.high,
            "stands": _stands(found, row),
            "orders": row.orders,
            "measure": measure.name,
            "why_not": found.why_not,
        }
        for row in found.rows
    ]
    return pl.DataFrame(rows, schema=_SCHEMA)


def _stands(found: Standings, row: Standing) -> str:
    if row.names[0] == OBSERVED:
        return PRODUCTION
    if row.waited:
        return WAITED
    if not found.tells:
        return UNTOLD
    if row.orders < FEWEST:
        return UNJUDGED
    if row in found.best:
        return BEST if row is found.best[0] else WITHIN
    return WORSE if row.apart_from_best else WITHIN


def _measure(frame: pl.DataFrame) -> Measure:
    names = frame["measure"]
    known = all_measures()
    found = find_measure(names[0]) if frame.height else None
    return found or next(iter(known.values()))


def _name(policy: str, same: int) -> str:
    text = label(policy)
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}\u2026"
    return f"{text} (+{same} alike)" if same else text


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
                f"{label(row['policy'])}: {value_text(measure, row['value'], _reach(row))}"
                for _, row in part
            ],
            hovertemplate="%{customdata}<extra></extra>",
        )
    names = [_name(policy, same) for policy, same in frame.select("policy", "same").iter_rows()]
    figure.update_layout(
        barmode="overlay",
        margin={"l": 8, "r": 24, "t": 8, "b": 56},
        xaxis=axis(_title(measure), rangemode="normal" if close else "tozero", zeroline=False),
        yaxis=axis(
            "",
            tickmode="array",
            tickvals=[] if narrow else places,
            ticktext=[] if narrow else names,
            range=[frame.height - 0.4, -0.75 if narrow else -0.6],
            showgrid=False,
            zeroline=False,
        ),
    )
    if narrow:
        figure.update_layout(annotations=[_above(at, name) for at, name in enumerate(names)])
    return figure


def _is_close(frame: pl.DataFrame) -> bool:
    """Whether bars from zero would all look the same."""
    values = frame["value"].drop_nulls().to_list()
    return bool(values) and min(values) > _CLOSE * max(values)


def _bar(stands: str, *, narrow: bool) -> dict[str, object]:
    marker = {"color": color(_COLORS[stands])}
    return {"orientation": "h", "marker": marker, "width": 0.36 if narrow else 0.66}


def _mark(stands: str) -> dict[str, object]:
    hollow = stands in (UNJUDGED, WAITED)
    marker = {
        "color": color(_COLORS[stands]),
        "size": 11,
        "symbol": "circle-open" if hollow else "circle",
        "line": {"width": 2, "color": color(_COLORS[stands])},
    }
    return {"mode": "markers", "marker": marker}


def _above(at: int, name: str) -> dict[str, object]:
    """A name above its bar, where there is no room beside it."""
    return {
        "text": name,
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "y": at - 0.42,
        "yref": "y",
        "yanchor": "middle",
        "showarrow": False,
        "font": {"size": 12},
    }


def _reach(row: dict[str, float | None]) -> float | None:
    low, high = row["low"], row["high"]
    return None if low is None or high is None else (high - low) / 2


def _off(row: dict[str, float | None], factor: float, side: int) -> float | None:
    end, value = row["high" if side > 0 else "low"], row["value"]
    return None if end is None or value is None else factor * side * (end - value)


def _takeaway(frame: pl.DataFrame) -> str:
    measure = _measure(frame)
    rows = frame.filter(~pl.col("stands").is_in([PRODUCTION, WAITED]))
    if rows.height < 2:
        return f"{rows.height or 'No'} way to place can be ranked; a rank needs 2."
    why = frame["why_not"][0]
    title = measure.title
    if why:
        first, last = rows.row(0, named=True), rows.row(-1, named=True)
        span = f"{value_text(measure, first['value'])} to {value_text(measure, last['value'])}"
        return f"{title} ({span}) tells no two of {rows.height} ways to place apart: {why}."
    judged = rows.filter(pl.col("stands") != UNJUDGED)
    best = (judged if judged.height else rows).row(0, named=True)
    near = [
        name for name in rows.filter(pl.col("stands") == WITHIN)["policy"] if name != best["policy"]
    ]
    once = rows.filter(pl.col("stands") == UNJUDGED).height
    also = f"; {listed(near) if len(near) <= 3 else f'{len(near)} others'} within chance of it"
    value = value_text(measure, best["value"], _reach(best))
    end = "lowest" if measure.first == "low" else "highest"
    apart = f"; {once} met too few orders of arrival to be judged" if once else ""
    return f"{title} is {end} under {best['policy']}: {value}{also if near else ''}{apart}."


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
    title="Ways to place, the best first",
    question="Which policy is best, and by how much?",
    how_to_read="The best stands on top. The thin line is the 95 % interval of the mean over the"
    " orders of arrival; what has none met a single order. Where values lie close together there"
    " are marks on a part of the axis, else bars from zero. Policies that placed every container"
    " alike are one row.",
    reads=("replay/summary", "replay/repeats"),
    prepare=_prepare,
    draw=lambda frame: _bars(frame, narrow=False),
    narrow=lambda frame: _bars(frame, narrow=True),
    takeaway=_takeaway,
    table=_table,
    absent="The run holds no policies, so there is nothing to rank.",
    csv=("policy", "same", "value", "low", "high", "stands", "orders"),
)
