"""A figure in a page: plotly JSON, a table, its SQL and its data."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import plotly.graph_objects as go
import polars as pl

from tracekit.report.computed import ANALYSIS, BIND, CALLGRAPH, FIT
from tracekit.report.data import Data
from tracekit.report.drawing import drawn
from tracekit.report.figures import FACTS, Figure
from tracekit.report.plot import DIGITS, color, evenly
from tracekit.report.tables import Table, table
from tracekit.store.sqlfiles import all_queries, get_query

#: The most rows of the table below a figure.
MOST_ROWS = 40
_FACT = {
    "kind": pl.String,
    "subject": pl.String,
    "measure": pl.String,
    "value": pl.Float64,
    "case": pl.String,
    "requests": pl.String,
    "of": pl.Int64,
}
#: A mark in the card's own colour is an outline.
_CARD = color("card")
_RUN_PREFIX = "replay/"
#: Dashes in SVG, by plotly's name.
_DASHES = {"dash": "6 4", "dot": "2 3", "dashdot": "6 3 2 3", "longdash": "10 4"}
#: A comparison of sizing policies.
SIZE = "size"
#: The command that writes a result, by the first word of the result's name.
COMMANDS = {
    ANALYSIS: "tracekit analyze --out",
    CALLGRAPH: "tracekit callgraph --out",
    "assumptions": "tracekit sensitivity --out",
    "comparison": "tracekit compare --out",
    "extender": "tracekit extender-bench --out",
    "fewest_nodes": "tracekit nodes --out",
    "fewest-recommended": "tracekit run --out",
    "requests_to_change": "tracekit requests --out",
    "search_functions": "tracekit optimize-bench --out",
    "search_placement": "tracekit placement-bench --out",
    FIT: "tracekit fit --out",
    BIND: "tracekit bind --out",
    SIZE: "tracekit requests --out",
}


@dataclass(frozen=True, kw_only=True)
class Source:
    """The source of a figure's data: a query's SQL, or a statement over a run's file."""

    name: str
    sql: str


@dataclass(frozen=True, kw_only=True)
class LegendItem:
    """An entry of a figure's legend, a text above the figure.

    Parameters
    ----------
    line : bool
        Whether the sign is a line, drawn with ``dash``; else it is a mark.
    shape : str
        The shape of the mark: circle, square, diamond, triangle, x, or an upright line.
    hollow : bool
        Whether the mark is an outline.
    """

    name: str
    color: str
    line: bool = False
    shape: str = "circle"
    dash: str = ""
    hollow: bool = False


@dataclass(frozen=True, kw_only=True)
class Block:
    """A figure ready for a template; ``json`` is empty when there is nothing to draw.

    Parameters
    ----------
    absent : str
        One line on the missing data where there is nothing to draw; else empty.
    json : str
        The figure for plotly: ``data`` and ``layout``, and ``narrow``, the layout for a narrow
        window.
    """

    name: str
    figure: Figure
    absent: str
    json: str = ""
    height_px: int = 0
    legend: Sequence[LegendItem] = ()
    csv_uri: str = ""
    table: Table | None = None
    sources: Sequence[Source] = ()


def block(name: str, figure: Figure, data: Data) -> Block:
    """Return a figure with its legend, table, SQL and data."""
    frame = rows_of(figure, data)
    if frame.height < figure.fewest:
        return Block(name=name, figure=figure, absent=figure.absent)
    wide = drawn(figure, frame)
    plain, narrow = _plain(wide), _plain(drawn(figure, frame, narrow=True))
    caption = f"The same in numbers: {figure.title}"
    return Block(
        name=name,
        figure=figure,
        absent="",
        json=script_json({**plain, "narrow": narrow["layout"]}),
        height_px=int(plain["layout"]["height"]),
        legend=legend(wide),
        csv_uri=csv_uri(frame),
        table=table(evenly(frame, MOST_ROWS), caption, query=_query_of(figure)),
        sources=sources(figure, data),
    )


def rows_of(figure: Figure, data: Data) -> pl.DataFrame:
    """Return the rows that a figure draws; empty where its sources have none."""
    frames = {name: read(name, data) for name in figure.reads}
    lacks = all(frame.is_empty() for name, frame in frames.items() if name != FACTS)
    return pl.DataFrame() if lacks else figure.rows(*frames.values())


def read(name: str, data: Data) -> pl.DataFrame:
    """Return a frame that a figure reads; each fact with a numeric value is a row."""
    if name != FACTS:
        return data.frame(name)
    facts = () if data.answer is None else data.answer.facts
    rows = [
        {"kind": one.kind, "subject": one.subject, "measure": one.measure,
         "value": one.value if isinstance(one.value, int | float) else None,
         **{name: one.about.get(name) for name in ("case", "requests", "of")}}
        for one in facts
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=_FACT, strict=False)


def _plain(figure: go.Figure) -> dict[str, Any]:
    """A figure as values of JSON, without its legend."""
    document = figure.to_plotly_json()
    return {"data": document["data"], "layout": {**document["layout"], "showlegend": False}}


def legend(figure: go.Figure) -> list[LegendItem]:
    """Return the legend of a figure; empty where all marks are of one kind."""
    items: dict[str, LegendItem] = {}
    for trace in figure.data:
        if trace.showlegend is False or not trace.name:
            continue
        line = "lines" in (getattr(trace, "mode", None) or "")
        look = trace.line if line else trace.marker
        drawn = look.color if isinstance(look.color, str) else None
        if drawn is None:
            continue
        outline = getattr(look, "line", None) if not line else None
        symbol = str(getattr(look, "symbol", None) or "")
        hollow, shape = "-open" in symbol, symbol.partition("-")[0] or "circle"
        if drawn == _CARD and outline is not None and isinstance(outline.color, str):
            drawn, hollow = outline.color, True
        dash = _DASHES.get(look.dash or "solid", "") if line else ""
        item = LegendItem(
            name=trace.name, color=drawn, line=line, dash=dash, hollow=hollow, shape=shape
        )
        items.setdefault(trace.name, item)
    return list(items.values()) if len(items) > 1 else []


def _query_of(figure: Figure) -> str:
    """The query whose header explains the figure's columns; empty where it reads none."""
    return next((name for name in figure.reads if name in all_queries()), "")


def sources(figure: Figure, data: Data) -> list[Source]:
    """Return the SQL of each frame that a figure reads."""
    frames = [name for name in figure.reads if name != FACTS and not read(name, data).is_empty()]
    return [Source(name=name, sql=_sql(name, data)) for name in frames]


def _sql(name: str, data: Data) -> str:
    """The SQL of a frame, below a comment on where it runs."""
    if name.startswith(_RUN_PREFIX):
        file = name.removeprefix(_RUN_PREFIX)
        return (
            f"-- in the run folder: cd {data.paths.run} && duckdb\n"
            f"SELECT *\nFROM read_parquet('{file}.parquet');\n"
        )
    kind, _, result = name.partition("/")
    if kind in COMMANDS:
        return f"-- in {_folder(kind, data)}\nSELECT *\nFROM read_parquet('{result}.parquet');\n"
    return get_query(name).text


def _folder(kind: str, data: Data) -> str:
    """The folder of a result; for a result computed for the page, the command that writes it."""
    lies = data.folder(kind) or data.paths.results.get(kind)
    if lies:
        return f"the folder that {COMMANDS[kind]} wrote: cd {lies} && duckdb"
    return f"the folder that {COMMANDS[kind]} writes, which is not there yet"


def csv_uri(frame: pl.DataFrame) -> str:
    """Return a frame as a CSV file inside a link; floats with as many digits as the figure has."""
    text = frame.with_columns(pl.col(pl.Float64).round_sig_figs(DIGITS)).write_csv()
    return f"data:text/csv;charset=utf-8,{quote(text, safe=',.:-_ /')}"


# Data for the scripts of a page.


def script_json(document: Any) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
