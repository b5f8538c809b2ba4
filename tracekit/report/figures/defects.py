"""The kinds of defect that were met, by the rows they touch."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import above, axis, blank, percents, rows_axis
from tracekit.report.figures import Figure
from tracekit.words import count, percent

_QUERY = "quality/ledger"
_MOST = 12
_ROW_PX, _EDGES_PX = 38, 90
_SCHEMA = pl.Schema(
    {
        "table": pl.String,
        "defect": pl.String,
        "rows": pl.Int64,
        "share": pl.Float64,
        "kinds": pl.Int64,
        "bars": pl.Int64,
        "all_rows": pl.Int64,
    }
)


def _prepare(data: Data) -> pl.DataFrame:
    ledger = data.query(_QUERY)
    if ledger.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    kinds = ledger.group_by("table", "defect").agg(pl.col("rows").sum(), pl.col("share").sum())
    counted = kinds.with_columns(
        pl.col("defect").str.replace_all("_", " "),
        pl.col("defect").n_unique().cast(pl.Int64).alias("kinds"),
        pl.len().cast(pl.Int64).alias("bars"),
        pl.col("rows").sum().alias("all_rows"),
    )
    ordered = counted.sort(["share", "table", "defect"], descending=[True, False, False])
    return ordered.head(_MOST).select(_SCHEMA.names()).cast(_SCHEMA)


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank(max(frame.height, 1) * _ROW_PX + _EDGES_PX)
    figure.add_bar(
        x=percents(frame["share"]),
        y=list(range(frame.height)),
        orientation="h",
        width=0.4,
        showlegend=False,
        marker={"color": color("accent")},
        hovertemplate="%{x:.3~f} % of the rows of the table<extra></extra>",
    )
    names = [
        above(at, f"{row['defect']}, in {row['table']}: {row['rows']:,}")
        for at, row in enumerate(frame.iter_rows(named=True))
    ]
    figure.update_layout(
        margin={"l": 8, "r": 16, "t": 8, "b": 56},
        xaxis=axis("Rows touched [% of the rows of the table]", rangemode="tozero"),
        yaxis=rows_axis(frame.height, 0.75),
        annotations=names,
    )
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    row = frame.row(0, named=True)
    return (
        f"Defects of {count(row['kinds'], 'kind')} were met in the tables,"
        f" {count(row['all_rows'], 'row')} in all; the widest is {row['defect']},"
        f" {percent(row['share'])} of the rows of {row['table']}."
    )


def _note(frame: pl.DataFrame) -> str:
    bars = int(frame["bars"][0]) if frame.height else 0
    return f"The {_MOST} widest of {bars:,} are drawn." if bars > frame.height else ""


FIGURE = Figure(
    title="Kinds of defect, by the share of rows they touch",
    question="Is a defect wide enough to matter?",
    how_to_read="A bar is the share of a table's rows that a kind of defect touches; the number"
    " behind its name counts them. What was done about each is in the table below.",
    reads=(_QUERY,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=lambda frame: frame.select("table", "defect", "rows", "share"),
    absent="No defect of any kind was met.",
    csv=("table", "defect", "rows", "share"),
    note=_note,
)
