"""CPU requests of the services that change most: now, as recommended, and what one uses."""

import plotly.graph_objects as go
import polars as pl

from tracekit.replay.workload.requests.given import SUBJECT
from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import above, axis, blank, rows_axis
from tracekit.report.figures import Figure
from tracekit.sizing.requests.at_risk import KEPT
from tracekit.sizing.requests.rows import amount
from tracekit.sizing.requests.study import NAME
from tracekit.words import counted, short_id

_ROWS, _ROW_PX, _EDGES_PX = 12, 44, 100
_SCHEMA = {
    "service": pl.String,
    "request_now": pl.Float64,
    "recommended": pl.Float64,
    "use_p95": pl.Float64,
    "use_max": pl.Float64,
    "freed": pl.Float64,
}
#: A mark of each: its words, colour and form.
_MARKS = {
    "request_now": ("requested now", "observed", "circle-open"),
    "recommended": ("recommended", "policy-1", "circle"),
    "use_p95": ("used, 95 % at most", "cpu", "line-ns-open"),
    "use_max": ("used, highest", "bound", "x-thin-open"),
}
#: What columns are called in the table beneath.
_HEADS = {
    "request_now": "requested_now_cores",
    "recommended": "recommended_cores",
    "use_p95": "used_95_percent_at_most_cores",
    "use_max": "used_at_most_cores",
    "freed": "freed_by_all_cores",
}


def _prepare(data: Data) -> pl.DataFrame:
    if NAME not in data.studies:
        return pl.DataFrame(schema=_SCHEMA)
    frame = data.result(f"{NAME}/services")
    mine = frame.filter(policy=data.studies[NAME].about[SUBJECT], resource="cpu")
    if KEPT in mine.columns:
        kept = pl.when(KEPT).then("request_now").otherwise("recommended")
        mine = mine.with_columns(recommended=kept)
    known = mine.filter(pl.col("recommended").is_not_null()).select(list(_SCHEMA))
    change = pl.col("freed").abs()
    return known.sort(change, "service", descending=[True, False])


def _draw(frame: pl.DataFrame) -> go.Figure:
    frame = frame.head(_ROWS)
    figure = blank(max(frame.height, 1) * _ROW_PX + _EDGES_PX)
    places = list(range(frame.height))
    for column, (words, paint, form) in _MARKS.items():
        figure.add_scatter(
            x=frame[column].to_list(),
            y=places,
            mode="markers",
            name=words,
            marker={
                "color": color(paint),
                "symbol": form,
                "size": 11,
                "line": {"width": 2, "color": color(paint)},
            },
            hovertemplate=f"{words}: %{{x:.3f}} cores<extra></extra>",
        )
    names = [
        above(at, f"{short_id(row['service'])}: {_change(row['freed'])}")
        for at, row in enumerate(frame.iter_rows(named=True))
    ]
    figure.update_layout(
        margin={"l": 8, "r": 16, "t": 40, "b": 56},
        xaxis=axis("CPU of one container [cores]", rangemode="tozero"),
        yaxis=rows_axis(frame.height, 0.75),
        annotations=names,
    )
    return figure


def _change(freed: float) -> str:
    """What all containers of a service free or need more, in words."""
    shown = amount(abs(freed), "cpu")
    return f"{shown} cores {'added' if freed < 0 else 'freed'}" if shown != "0" else "kept"


def _takeaway(frame: pl.DataFrame) -> str:
    freed = frame["freed"]
    less, more = freed.filter(freed > 0), freed.filter(freed < 0)
    parts = [
        f"{_change(float(part.sum()))} {how} {counted(len(part), 'service')}"
        for part, how in ((more, "to"), (less, "by"))
        if len(part)
    ]
    if not parts:
        return f"CPU requests stay as they are for {counted(frame.height, 'service')}."
    net = f", net {_change(float(freed.sum()))}" if len(parts) > 1 else ""
    first = frame.row(0, named=True)
    return (
        f"CPU requests: {' and '.join(parts)}{net}; the largest change is"
        f" {short_id(first['service'])}, {_change(first['freed'])}."
    )


def _note(frame: pl.DataFrame) -> str:
    if frame.height <= _ROWS:
        return ""
    return f"Drawn are the {_ROWS} of {frame.height:,} services that change most."


FIGURE = Figure(
    title="CPU requests now and as recommended",
    question="Which services change most in CPU, and how near to their use?",
    how_to_read="A row is a service, with what one of its containers requests now, what is"
    " recommended, and what it uses. A recommendation left of the 95 % mark is exceeded often. A"
    " service at risk keeps what it has where less is recommended.",
    reads=(f"{NAME}/services",),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    note=_note,
    table=lambda frame: frame.rename(_HEADS),
    absent="No service has use that a policy could learn from.",
)
