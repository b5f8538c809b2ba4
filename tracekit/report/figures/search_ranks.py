"""Mean rank of each search on test functions, by where their optimum lies."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.plot import axis, blank, numbers
from tracekit.report.figures import Figure
from tracekit.report.figures._searches import search_color
from tracekit.words import listed, number

_RESULT = "search_functions/summary"
#: What stands in its place where the study was not made.
NOT_RUN = "The test functions were not run: tracekit optimize-bench --out DIR."
_SCHEMA = {"variant": pl.String, "search": pl.String, "place": pl.Float64, "functions": pl.Int64}


def _prepare(data: Data) -> pl.DataFrame:
    frame = data.result(_RESULT)
    if frame.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    place = pl.col("mean_rank").rank().over("function", "variant")
    return (
        frame.with_columns(place.alias("place"))
        .group_by("variant", "search", maintain_order=True)
        .agg(pl.col("place").mean(), pl.len().cast(pl.Int64).alias("functions"))
        .select(list(_SCHEMA))
    )


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank()
    for name in frame["search"].unique(maintain_order=True).to_list():
        part = frame.filter(pl.col("search") == name)
        colour = search_color(name)
        figure.add_scatter(
            x=part["variant"].to_list(),
            y=numbers(part["place"]),
            mode="lines+markers",
            name=name,
            line={"color": colour, "width": 2},
            marker={"size": 9, "color": colour},
            hovertemplate="place %{y:.1f} on average, %{x}",
        )
    figure.update_layout(
        xaxis=axis("Functions [copy]", type="category"),
        yaxis=axis("Place among the searches [1 = best]", autorange="reversed"),
    )
    return figure


def _takeaway(frame: pl.DataFrame) -> str:
    said = []
    for (variant,), part in frame.group_by("variant", maintain_order=True):
        first = part.sort("place", "search").row(0, named=True)
        said.append(f"{first['search']} on the {variant} ({number(first['place'])})")
    return f"The best mean place has {listed(said)}."


FIGURE = Figure(
    title="Places of the searches on test functions",
    question="Is a search good, or is the optimum where it would go anyway?",
    how_to_read="Searches are ranked on each function by the ranks of their runs; shown is the mean"
    " place. On the left the optimum lies at the origin, in the middle elsewhere, on the right"
    " elsewhere and turned. A line that falls to the right owes its place to the origin.",
    reads=(_RESULT,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=lambda frame: frame,
    absent=NOT_RUN,
)
