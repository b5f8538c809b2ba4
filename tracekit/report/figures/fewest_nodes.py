"""How many nodes are enough under each policy, beside all of them and the lower bound."""

import shlex
from typing import Any

import plotly.graph_objects as go
import polars as pl

from tracekit.answer.fewest.found import COST
from tracekit.answer.fewest.frames import ADDED, COST_KEPT
from tracekit.answer.fewest.study import NAME
from tracekit.answer.fewest.words.cautions import named
from tracekit.answer.fewest.words.nodes import added, gone
from tracekit.answer.fewest.words.told import span, told
from tracekit.report import fewest_known as known
from tracekit.report.colours import slot, slots
from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import above, axis, blank, rows_axis
from tracekit.report.figures import Figure
from tracekit.words import count, percent

_ROW_PX, _EDGES_PX = 40, 90
_SCHEMA = {
    "policy": pl.String,
    "nodes": pl.Int64,
    "nodes_low": pl.Int64,
    "nodes_high": pl.Int64,
    "of": pl.Int64,
    ADDED: pl.Int64,
    "bound": pl.Int64,
    COST_KEPT: pl.Float64,
}
_SHADE = {"shade": pl.String}


def _prepare(data: Data) -> pl.DataFrame:
    frame = known.rows(data)
    if frame.is_empty():
        return pl.DataFrame(schema={**_SCHEMA, **_SHADE})
    colours = slots(data)
    study = known.leading(data) if NAME in data.studies else None
    about = {} if study is None else {**study.about, "yardsticks": known.yardsticks(data)}
    stick = pl.col("policy").is_in(list(known.yardsticks(data)))
    # the policy that the page is about is what the title names
    found = None if study is None else told(study)
    other = pl.col("policy") != ("" if found is None else found.best["policy"])
    there = frame.filter(pl.col("nodes").is_not_null()).sort(other, stick, maintain_order=True)
    # the title names the first alone
    shades = [slot(name, colours if at == 0 else {}) for at, name in enumerate(there["policy"])]
    names = [named(about, name) for name in there["policy"]]
    if COST_KEPT not in there.columns or about.get("least") != COST:
        there = there.with_columns(pl.lit(None, pl.Float64).alias(COST_KEPT))
    if ADDED not in there.columns:
        there = there.with_columns(pl.lit(None, pl.Int64).alias(ADDED))
    return there.select(list(_SCHEMA)).with_columns(
        pl.Series("policy", names, dtype=pl.String), pl.Series("shade", shades, dtype=pl.String)
    )


def _draw(frame: pl.DataFrame) -> go.Figure:
    figure = blank(max(frame.height, 1) * _ROW_PX + _EDGES_PX)
    places = list(range(frame.height))
    best = [color(shade) for shade in frame["shade"]]
    # where no node can go, a bar of all of them would tell nothing
    stay = [row["nodes"] == row["of"] and not added(row) for row in frame.to_dicts()]
    for at, row in enumerate(frame.iter_rows(named=True)):
        if stay[at]:
            _stays(figure, at, row, best[at])
    figure.add_bar(
        x=[None if stays else nodes for stays, nodes in zip(stay, frame["nodes"], strict=True)],
        y=places,
        orientation="h",
        width=0.5,
        showlegend=False,
        marker={"color": best},
        hovertemplate="%{x:,} nodes<extra></extra>",
    )
    names = [
        above(at, _name(row), font={"size": 13})
        for at, row in enumerate(frame.iter_rows(named=True))
    ]
    figure.update_layout(
        margin={"l": 8, "r": 16, "t": 8, "b": 56},
        xaxis=axis("Nodes that are enough [nodes]", **_across(frame, all(stay))),
        yaxis=rows_axis(frame.height, 0.75),
        annotations=names,
    )
    if frame.height:
        for at in places:
            _mark(figure, at, int(frame["of"][0]), "observed")
            if frame["bound"][0] is not None:
                _mark(figure, at, int(frame["bound"][0]), "bound")
        _legend(figure, frame, best[0])
    return figure


def _legend(figure: go.Figure, frame: pl.DataFrame, shade: str) -> None:
    """What the dashed lines are, with their numbers; beside one alone what the marks are.

    It stays one short line: the figure of one policy is low.
    """
    lines = [("observed", f"all {count(int(frame['of'][0]), 'node')}")]
    if frame["bound"][0] is not None:
        lines.append(("bound", f"lower bound: {count(int(frame['bound'][0]), 'node')}"))
    else:
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            name="nodes that are enough",
            marker={"color": shade, "symbol": "square"},
        )
    for paint, words in lines:
        line = {"color": color(paint), "width": 2, "dash": "dash"}
        figure.add_scatter(x=[None], y=[None], mode="lines", name=words, line=line)


def _across(frame: pl.DataFrame, stay: bool) -> dict[str, object]:
    """From 0 where there are bars; where all nodes stay, from the least that is drawn."""
    known = [*frame["nodes_low"].drop_nulls(), *frame["bound"].drop_nulls(), *frame["of"]]
    if not stay or not known:
        return {"rangemode": "tozero"}
    room = max(0.1 * (max(known) - min(known)), 1)
    return {"range": [min(known) - room, max(known) + room]}


def _name(row: dict[str, Any]) -> str:
    """A policy with its count; where single orders get by with fewer, how many they need."""
    low, high = row["nodes_low"], row["nodes_high"]
    alone = "" if low == high == row["nodes"] else f" (one order alone: {span(low, high)})"
    cost = row.get(COST_KEPT)
    paid = "" if cost is None else f", {cost:,.2f} per hour"
    return f"{row['policy']}: {row['nodes']:,}{paid}{alone}"


def _stays(figure: go.Figure, at: int, row: dict[str, Any], shade: str) -> None:
    """A mark at all nodes, and a line over what single orders of arrival need."""
    needed = [row["nodes_low"], row["nodes"]] if row["nodes_low"] is not None else [row["nodes"]]
    figure.add_scatter(
        x=needed,
        y=[at] * len(needed),
        mode="lines+markers",
        showlegend=False,
        line={"color": shade, "width": 4},
        marker={"color": shade, "size": 12},
        hovertemplate="%{x:,} nodes<extra></extra>",
    )


def _mark(figure: go.Figure, at: int, nodes: int, name: str) -> None:
    """A dashed line across a bar; the name above the bar stays clear of it."""
    line = {"color": color(name), "width": 2, "dash": "dash"}
    figure.add_shape(type="line", x0=nodes, x1=nodes, y0=at - 0.12, y1=at + 0.4, line=line)


def _takeaway(frame: pl.DataFrame) -> str:
    best = frame.row(0, named=True)
    more, going = added(best), gone(best)
    if more:
        then = f"; {going:,} that are there can go then" if going else ""
        return (
            f"The {best['of']:,} nodes are too few; {count(more, 'more node')}"
            f" {'is' if more == 1 else 'are'} enough for {best['policy']}{then}."
        )
    if not going:
        return f"No node can go under {best['policy']}: it keeps all {best['of']:,}."
    return (
        f"{best['nodes']:,} of {count(best['of'], 'node')} are enough for {best['policy']};"
        f" {going:,} can go ({percent(going / best['of'])})."
    )


def _sql(data: Data) -> list[tuple[str, str]]:
    """Where rows of several studies are drawn, what reads them all."""
    own = data.folders.get(NAME)
    folders = [folder or own for folder, _ in known.shown(data)]
    if own is None or len(folders) < 2:
        return []
    files = ", ".join(f"'{folder}/policies.parquet'" for folder in folders)
    sql = (
        f"-- in the folder of the studies: cd {shlex.quote(data.paths.studies)} && duckdb\n"
        f"SELECT *\nFROM read_parquet([{files}], union_by_name = true, filename = true);\n"
    )
    return [(f"{NAME}/policies", sql)]


FIGURE = Figure(
    title="Fewest nodes on which every limit holds",
    question="How many nodes can go, and under which policy?",
    how_to_read="A bar is the number of nodes that are enough in every order of arrival; a single"
    " order may need fewer. Where no node can go there is a mark in its place, with a line over"
    " what single orders need. The dashed line on the right is all nodes there are; a bar beyond it"
    " needs more. The one on the left, where there is one, is a proven lower bound: no policy gets"
    " below it. The policy that the page is about stands first; where cost is to be least, what the"
    " nodes cost stands beside their number.",
    reads=(f"{NAME}/policies",),
    prepare=_prepare,
    sql=_sql,
    draw=_draw,
    takeaway=_takeaway,
    table=lambda frame: frame.drop("shade").rename({"of": "all_nodes"}),
    csv=tuple(_SCHEMA),
    absent="No policy keeps the limits, even on all nodes.",
)
