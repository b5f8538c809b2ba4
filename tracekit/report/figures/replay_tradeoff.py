"""Nodes in use against the risk of overload: what one gives up for the other."""

from collections.abc import Mapping
from math import ceil, floor, log10, sqrt
from typing import Any

import plotly.graph_objects as go
import polars as pl

from tracekit.answer.overload import node_steps
from tracekit.replay.chance.material import MATERIAL
from tracekit.replay.measures import OVERLOAD
from tracekit.report.colours import slot, slots
from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import axis, blank, numbers
from tracekit.report.figures import Figure
from tracekit.report.figures._marks import EDGE, Room, lay_out, mark, names
from tracekit.report.figures._run_sql import Shown, beside_nodes
from tracekit.report.figures._sparse import of_nodes
from tracekit.report.figures._trade_off_title import takeaway
from tracekit.report.policies import label
from tracekit.report.trade_off import (
    BEATEN,
    CALMEST,
    CHOSEN,
    FEWEST,
    FRONT,
    PRODUCTION,
    RIVAL,
    TITLED,
    points,
    why_none,
)
from tracekit.words import agreeing

#: Symbol and size of each kind, drawn in this order: a ring leaves what lies in it to be seen.
_LOOKS = {
    FRONT: ("circle", 9),
    FEWEST: ("circle", 11),
    CALMEST: ("circle", 11),
    RIVAL: ("circle", 11),
    BEATEN: ("circle-open", 8),
    PRODUCTION: ("x", 10),
    CHOSEN: ("diamond-open", 18),
}
_BEYOND_LOOK = ("triangle-up-open", 8)
#: Of marks that the figure does not name.
_PLAIN = "other"
#: Shown with their intervals, and named in the figure.
_NAMED = (*TITLED, PRODUCTION)
#: What overloads so many times more than is allowed, or than any that is named, is told by hover.
_BEYOND = 1.6
#: Ticks of the upright axis are at least such a part of it apart; its top [%] if nobody overloads.
_TICKS, _LEAST = 7, 1.0
#: The room between the axes in a narrow window of each form, and how many names it has.
_WIDE, _NARROW = (560, 340, 8), (300, 400, 4)


def _plot(frame: pl.DataFrame, room: Room) -> go.Figure:
    figure = blank(420)
    x, y = _across(frame["nodes"]), _up(frame)
    above = frame.filter(_root("overload_share") > y[1])
    # a mark whose policy the figure names has that policy's colour
    for kind, look in _LOOKS.items():
        part = frame.filter((pl.col("kind") == kind) & (_root("overload_share") <= y[1]))
        for one in part.partition_by("shade", maintain_order=True):
            _marks(figure, one, kind, look)
    if not above.is_empty():
        edge = pl.lit((y[1] * EDGE) ** 2 / 100)
        top = above.with_columns(overload_share=edge, shade=pl.lit(_PLAIN))
        _marks(figure, top, "overloads more than is shown", _BEYOND_LOOK, above["overload_share"])
    if _shows_allowed(frame):
        allowed = sqrt(_allowed(frame))
        figure.add_hline(y=allowed, line={"color": color("warn"), "width": 1, "dash": "dash"})
    up = axis(
        "Node-steps that are overloaded [% of all]",
        range=y,
        zeroline=False,
        tickvals=[sqrt(tick) for tick in _ticks(y[1] ** 2)],
        ticktext=[_numeral(tick) for tick in _ticks(y[1] ** 2)],
    )
    lay_out(figure, x, up, _labels(frame, x, y, room))
    return figure


def _marks(
    figure: go.Figure,
    part: pl.DataFrame,
    kind: str,
    look: tuple[str, int],
    shares: pl.Series | None = None,
) -> None:
    """The marks of one kind; ``shares`` are told where they are not where the mark stands."""
    told = part["overload_share"] if shares is None else shares
    mark(
        figure,
        part,
        look,
        [_root(name) for name in ("overload_share", "overload_low", "overload_high")],
        list(zip(map(label, part["policy"]), numbers(100 * told), strict=True)),
        bars=kind in _NAMED,
        name=kind,
        showlegend=kind not in (FRONT, BEATEN) or part["shade"][0] == _PLAIN,
        hovertemplate="%{customdata[0]}<br>%{x:,.1f} nodes, %{customdata[1]:.3~f} % overloaded"
        "<extra></extra>",
    )


def _root(column: str) -> pl.Expr:
    """Where a share stands on the upright axis: shares near 0 lie apart, and 0 has a place."""
    return (100 * pl.col(column)).clip(0).sqrt()


def _ticks(top: float) -> list[float]:
    """Round percentages from 0 to ``top``, apart from each other by the root."""
    ticks, apart = [0.0], sqrt(top) / _TICKS
    for power in range(floor(log10(top)) - 4, ceil(log10(top)) + 1):
        for digit in (1, 2, 5):
            tick = digit * 10.0**power
            if tick <= top and sqrt(tick) - sqrt(ticks[-1]) >= apart:
                ticks.append(tick)
    return ticks


def _numeral(tick: float) -> str:
    """A percentage as people write it: 0.0002, not 2e-04."""
    return f"{tick:.9f}".rstrip("0").rstrip(".")


def _allowed(frame: pl.DataFrame) -> float:
    """How many of 100 node-steps may be overloaded; 0 where there is no row."""
    return 100 * float(frame["allowed_share"].max() or 0.0)  # type: ignore[arg-type]


def _shows_allowed(frame: pl.DataFrame) -> bool:
    """Whether the line of what is allowed lies on the upright axis, so that it is drawn."""
    return 0 < sqrt(_allowed(frame)) < _up(frame)[1]


def _across(values: pl.Series) -> list[float]:
    low, high = (float(v or 0.0) for v in (values.min(), values.max()))  # type: ignore[arg-type]
    room = max(0.12 * (high - low), 1.0)
    return [low - room, high + room]


def _up(frame: pl.DataFrame) -> list[float]:
    """The upright axis, in roots: to what is allowed and what is named, and somewhat beyond."""
    shares = 100 * frame["overload_share"]
    every = float(shares.max() or 0.0)  # type: ignore[arg-type]
    shown = frame.filter(pl.col("kind").is_in(_NAMED) | pl.col("also"))
    named = 100 * float(shown["overload_share"].max() or 0.0)  # type: ignore[arg-type]
    bars = 100 * float(shown["overload_high"].max() or 0.0)  # type: ignore[arg-type]
    wanted = max(_BEYOND * max(_allowed(frame), named), bars)
    top = every if shown.is_empty() or wanted == 0 else min(every, wanted)
    # where nobody overloads, what is allowed tells how far that is from too much
    high = sqrt(max(1.15 * top, max(1.15 * _allowed(frame), _LEAST) if every == 0 else 1e-3))
    # a value of 0 has room for its mark, but no tick below it
    return [-0.06 * high, high]


def _labels(
    frame: pl.DataFrame, x: list[float], y: list[float], room: Room
) -> list[dict[str, Any]]:
    """Names beside their marks: those of the title and production first, then those not beaten."""
    order = {kind: at for at, kind in enumerate((CHOSEN, *TITLED[1:], PRODUCTION, FRONT))}
    every = frame.to_dicts()
    rows = [row for row in every if _height(row) <= y[1] and (row["kind"] in order or row["also"])]
    rows.sort(key=lambda row: (_rank(row, order), row["nodes"], row["policy"]))
    shown = [(row, row["kind"] in _NAMED or row["also"]) for row in rows]
    return names(every, shown, _height, (x, y), room)


def _height(row: Mapping[str, Any]) -> float:
    return sqrt(100 * row["overload_share"])


def _rank(row: dict[str, Any], order: Mapping[str, int]) -> float:
    """When a name finds its place; those of the first page before those that nobody names."""
    return (
        order[PRODUCTION] + 0.5 if row["also"] and row["kind"] not in _NAMED else order[row["kind"]]
    )


def _narrow(frame: pl.DataFrame) -> go.Figure:
    """Fewer names, and the title of the upright axis above it; high beside five lines of legend."""
    figure = _plot(frame, _NARROW)
    title = {
        "text": "Overloaded node-steps [% of all]",
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "yshift": 6,
        "showarrow": False,
        "font": {"size": 12},
    }
    figure.update_layout(
        height=500,
        margin={"l": 8, "r": 8, "t": 30, "b": 52},
        yaxis={"title": {"text": ""}, "automargin": True},
        annotations=[*figure.layout.annotations, title],
    )
    figure.update_xaxes(nticks=5)
    return figure


def _prepare(data: Data) -> pl.DataFrame:
    frame, colours = points(data), slots(data)
    named = pl.col("kind").is_in(_NAMED) | pl.col("also")
    shade = pl.col("policy").map_elements(lambda one: slot(one, colours), pl.String)
    titled = frame.filter(pl.col("kind").is_in(TITLED))["policy"]
    return frame.with_columns(
        shade=pl.when(named).then(shade).otherwise(pl.lit(_PLAIN)),
        sparse=pl.lit(of_nodes(data, titled.to_list())),
    )


def _note(frame: pl.DataFrame) -> str:
    """What the dashed line is, who is not drawn, and how many marks stand at the edge."""
    line = "Above the dashed line a policy overloads more than is allowed on average."
    line *= _shows_allowed(frame)
    many = frame.filter(_root("overload_share") > _up(frame)[1]).height
    beyond = "overload[s|] more than the axis shows: the triangle[|s] at its upper edge."
    edge = f"{agreeing(many, beyond)} The table has them." if many else ""
    return " ".join(filter(None, [line, frame["missing"][0], edge]))


def _sql(data: Data) -> list[tuple[str, str]]:
    """What a mark shows; nothing where the run does not know it."""
    samples = max(node_steps((data.run or {}).get("workload", {})), 1.0)
    columns = {"mean": "overload_share", "low": "overload_low", "high": "overload_high"}
    return beside_nodes(data, Shown(measure=OVERLOAD, **columns, divided_by=samples))


FIGURE = Figure(
    title="Nodes in use against overload",
    question="How many nodes does a policy save, and at what risk?",
    how_to_read="Each mark is one way to place: the further left, the fewer nodes in use; the"
    " further down, the less overload. Names are of production and of the policies that the"
    " title or the first page names, if they are on the axes; where there is room, of others"
    " that none beats. A small open mark is beaten: another policy is better in one of both and"
    " no worse in the other. Thin lines are 95 % intervals of production and of those in the"
    " title. The upright axis is drawn by the square root. Nodes are those in use on average"
    " over time: a node that is emptied later counts in part, and one that holds only what runs"
    " on every node is not in use. Counts that differ by less than"
    f" {MATERIAL:.0%} are as good as equal.",
    reads=("replay/summary", "replay/repeats"),
    sql=_sql,
    prepare=_prepare,
    note=_note,
    draw=lambda frame: _plot(frame, _WIDE),
    narrow=_narrow,
    takeaway=takeaway,
    table=lambda frame: frame.select("policy", "same", "nodes", "overload_share", "kind"),
    absent="The run does not say how many nodes were in use and overloaded: nothing can be traded.",
    why_absent=why_none,
    csv=("policy", "same", "nodes", "overload_share", "kind"),
)
