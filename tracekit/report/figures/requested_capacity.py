"""How much of what all nodes have is requested, resource by resource."""

import plotly.graph_objects as go
import polars as pl

from tracekit.replay.measures import words_of
from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import above, axis, blank, percents, rows_axis
from tracekit.report.figures import Figure
from tracekit.words import count, listed, percent

_QUERY = "usage/requested_capacity"
_ROW_PX, _NARROW_ROW_PX, _EDGES_PX = 40, 56, 96
#: Of each panel's bars: the column, its words, how wide, and the colour.
_BARS = (
    ("in_all_share", "all containers together", 0.62, "other"),
    ("at_once_share", "the most at any one time", 0.34, "cpu"),
)
_SCHEMA = pl.Schema(
    {
        "resource": pl.String,
        "unit": pl.String,
        "nodes": pl.Int64,
        "containers": pl.Int64,
        "at_once_share": pl.Float64,
        "in_all_share": pl.Float64,
    }
)


def _prepare(data: Data) -> pl.DataFrame:
    found = data.query(_QUERY)
    if found.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    order = ["at_once_share", "in_all_share", "resource"]
    ranked = found.sort(order, descending=[True, True, False])
    return ranked.select(_SCHEMA.names()).cast(_SCHEMA)


def _name(row: dict[str, str]) -> str:
    return _capital(words_of(row["resource"]))


def _capital(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def _plot(frame: pl.DataFrame, *, narrow: bool) -> go.Figure:
    row_px = _NARROW_ROW_PX if narrow else _ROW_PX
    figure = blank(max(frame.height, 1) * row_px + _EDGES_PX)
    rows = [at + (0.12 if narrow else 0) for at in range(frame.height)]
    names = [_name(row) for row in frame.iter_rows(named=True)]
    for column, words, width, shade in _BARS:
        figure.add_bar(
            x=percents(frame[column]),
            y=rows,
            orientation="h",
            width=width * (0.7 if narrow else 1),
            name=words,
            marker={"color": color(shade)},
            customdata=names,
            hovertemplate=f"%{{customdata}}, {words}: %{{x:.3~f}} %<extra></extra>",
        )
    figure.update_layout(
        barmode="overlay",
        margin={"l": 8, "r": 16, "t": 8, "b": 56},
        xaxis=axis("Requested [% of what all nodes have]", rangemode="tozero"),
        yaxis=rows_axis(frame.height, 0.7, names=[] if narrow else names),
    )
    if narrow:
        figure.update_layout(annotations=[above(at, name, 0.34) for at, name in enumerate(names)])
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    first = frame.row(0, named=True)
    words, nodes = words_of(first["resource"]), count(first["nodes"], "node")
    whole = (
        f"{_capital(words)} is the scarcest: at most {percent(first['at_once_share'], 1)} of"
        f" what {nodes} {'has' if first['nodes'] == 1 else 'have'} is requested at any one time,"
        f" {percent(first['in_all_share'], 1)} by all containers together"
    )
    rest = [
        f"{percent(row['in_all_share'], 1)} of {words_of(row['resource'])}"
        for row in frame.iter_rows(named=True)
    ][1:]
    return f"{whole} ({listed(rest)})." if rest else f"{whole}."


FIGURE = Figure(
    title="Requests against what all nodes have, by resource",
    question="Which resource is scarcest?",
    how_to_read="The narrow bar is the most that is requested at any one time by the arrivals and"
    " departures that are recorded; the wide one behind it is what all containers of the trace"
    " request together, as if none departed. Beyond 100 % not all of them have room at once. The"
    " scarcest resource at any one time is on top. Nodes that have none of a resource do not"
    " count.",
    reads=(_QUERY,),
    prepare=_prepare,
    draw=lambda frame: _plot(frame, narrow=False),
    narrow=lambda frame: _plot(frame, narrow=True),
    takeaway=_takeaway,
    table=lambda frame: frame,
    absent="The trace does not say both what nodes have and what containers request.",
    csv=tuple(_SCHEMA.names()),
)
