"""Cost against iteration on test functions, original beside shifted."""

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import axis, blank, numbers
from tracekit.report.figures import Figure
from tracekit.report.figures._searches import search_color
from tracekit.report.figures.search_ranks import NOT_RUN
from tracekit.words import count

_RESULT = "search_functions/curves"
_SIDES = ("original", "shifted")
_LEAST = 1e-12
_GAP = 0.16
_SCHEMA = {
    "function": pl.String,
    "variant": pl.String,
    "search": pl.String,
    "iteration": pl.Int64,
    "cost": pl.Float64,
}


def _prepare(data: Data) -> pl.DataFrame:
    frame = data.result(_RESULT)
    if frame.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    return frame.filter(pl.col("variant").is_in(_SIDES)).select(list(_SCHEMA))


def _draw(frame: pl.DataFrame) -> go.Figure:
    functions = frame["function"].unique(maintain_order=True).to_list()
    figure = blank(140 + 220 * max(len(functions), 1))
    layout: dict[str, object] = {"annotations": []}
    for row, function in enumerate(functions):
        for column, variant in enumerate(_SIDES):
            at = row * len(_SIDES) + column + 1
            _place(layout, at, (row, len(functions)), column, f"{function}<br>{variant}")
            _curves(figure, frame, function, variant, at)
    figure.update_layout(layout)
    return figure


def _place(
    layout: dict[str, object], at: int, row: tuple[int, int], column: int, title: str
) -> None:
    """One panel: where it lies, its axes, and what it shows as a heading."""
    height = 1 / row[1]
    top = 1 - row[0] * height
    width = (1 - _GAP) / len(_SIDES)
    left = column * (width + _GAP)
    suffix = "" if at == 1 else str(at)
    last = row[0] == row[1] - 1
    layout[f"xaxis{suffix}"] = axis(
        "Iteration [count]" if last else "", domain=[left, left + width], anchor=f"y{suffix}"
    )
    layout[f"yaxis{suffix}"] = axis(
        "",
        type="log",
        exponentformat="power",
        nticks=5,
        domain=[top - height * 0.76, top - height * 0.08],
        anchor=f"x{suffix}",
    )
    notes = layout["annotations"]
    assert isinstance(notes, list)  # noqa: S101 - made by the caller
    notes.append(
        {
            "text": title,
            "x": left,
            "y": top - height * 0.07,
            "xref": "paper",
            "yref": "paper",
            "xanchor": "left",
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"color": color("muted"), "size": 12},
        }
    )


def _curves(figure: go.Figure, frame: pl.DataFrame, function: str, variant: str, at: int) -> None:
    suffix = "" if at == 1 else str(at)
    here = frame.filter((pl.col("function") == function) & (pl.col("variant") == variant))
    for name in here["search"].unique(maintain_order=True).to_list():
        part = here.filter(pl.col("search") == name)
        figure.add_scatter(
            x=part["iteration"].to_list(),
            y=numbers(part["cost"].clip(lower_bound=_LEAST)),
            xaxis=f"x{suffix}",
            yaxis=f"y{suffix}",
            mode="lines",
            name=name,
            legendgroup=name,
            showlegend=at == 1,
            line={"color": search_color(name), "width": 2},
            hovertemplate=f"{name}: %{{y:.3g}} after %{{x}}<extra></extra>",
        )


def _final(frame: pl.DataFrame) -> pl.DataFrame:
    last = frame.group_by("function", "variant", "search", maintain_order=True).last()
    best = last.sort("cost", "search").group_by("function", "variant", maintain_order=True).first()
    return best.sort("function", "variant").rename({"search": "best_search"}).drop("iteration")


def _takeaway(frame: pl.DataFrame) -> str:
    best = _final(frame)
    near = {
        str(variant): int((part["cost"] <= 1e-8).sum())
        for (variant,), part in best.group_by("variant")
    }
    functions = frame["function"].n_unique()
    return (
        f"Of {count(functions, 'function')} the best search solves {near.get('original', 0)} as"
        f" they are and {near.get('shifted', 0)} with the optimum moved (median run to 1e-8)."
    )


FIGURE = Figure(
    title="Convergence on the test functions",
    question="How fast do searches converge, and does it last when the optimum moves?",
    how_to_read="Each panel is a test function and shows its cost; each line is the median run of a"
    " search. Lower is better, and costs below"
    f" {_LEAST:g} are drawn there. On the left the optimum is the origin, on the right it is moved:"
    " a line that dives on the left and stays flat on the right finds the origin, not the optimum.",
    reads=(_RESULT,),
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=_final,
    absent=NOT_RUN,
)
