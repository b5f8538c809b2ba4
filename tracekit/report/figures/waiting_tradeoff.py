"""Nodes in use against containers that wait: the trade-off where policies leave some waiting."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
import polars as pl

from tracekit.answer.all_wait import fewest_waiting
from tracekit.answer.left_waiting import PENDING
from tracekit.replay.measures import NODES
from tracekit.replay.runs.run import OBSERVED
from tracekit.report.colours import slot, slots
from tracekit.report.data import Data
from tracekit.report.drawing.plot import axis, blank
from tracekit.report.figures import Figure
from tracekit.report.figures._marks import Room, lay_out, mark, names
from tracekit.report.figures._run_sql import Shown, beside_nodes
from tracekit.report.figures._sparse import of_nodes
from tracekit.report.policies import label
from tracekit.report.trade_off import in_use
from tracekit.words import count, number

FRONT, BEATEN, PRODUCTION = "beaten by none", "beaten by another", "production"
#: Symbol and size of each kind.
_LOOKS = {FRONT: ("circle", 11), BEATEN: ("circle-open", 9), PRODUCTION: ("x", 11)}
#: The room between the axes in a narrow window of each form, and how many names it has.
_WIDE, _NARROW = (560, 340, 12), (250, 340, 4)
_UP = "Containers left without a node [containers]"
_SCHEMA = {
    "policy": pl.String,
    "same": pl.Int64,
    "nodes": pl.Float64,
    "nodes_low": pl.Float64,
    "nodes_high": pl.Float64,
    "waiting": pl.Float64,
    "waiting_low": pl.Float64,
    "waiting_high": pl.Float64,
    "of_nodes": pl.Int64,
    "kind": pl.String,
    "alike": pl.Boolean,
    "named": pl.Boolean,
    "shade": pl.String,
    "sparse": pl.String,
}


def _prepare(data: Data) -> pl.DataFrame:
    known = data.results.measures if data.results else {}
    if data.results is None or not {NODES, PENDING} <= known.keys():
        return pl.DataFrame(schema=_SCHEMA)
    used, waiting = data.standings(NODES), data.standings(PENDING)
    alike, colours = set(fewest_waiting(data.results, PENDING)[0]), slots(data)
    rows: list[dict[str, Any]] = []
    for row in used.rows:
        other = waiting.row(row.names[0])
        if other is not None:
            rows.append(
                {
                    **in_use(row),
                    "waiting": other.mean,
                    "waiting_low": other.low,
                    "waiting_high": other.high,
                    "of_nodes": (data.run or {})["workload"]["nodes"],
                    "alike": row.names[0] in alike,
                    "shade": slot(row.names[0], colours),
                }
            )
    if len(rows) < 2:
        return pl.DataFrame(schema=_SCHEMA)
    # in the order in which the title names them
    titled = list(dict.fromkeys(row["policy"] for row in _named(rows)))
    named, sparse = set(titled), of_nodes(data, titled)
    told = [
        {
            **row,
            "sparse": sparse,
            "kind": _kind(row, rows),
            "named": row["policy"] in named or row["policy"] == OBSERVED,
        }
        for row in rows
    ]
    return pl.DataFrame(told, schema=_SCHEMA).sort("waiting", "nodes", "policy")


def _named(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Who leaves fewest waiting, who of those within chance of it uses fewest nodes, who of all."""
    ours = [row for row in rows if row["policy"] != OBSERVED]
    if not ours:
        return []

    def least(some: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return min(some, key=lambda row: (row["nodes"], row["waiting"], row["policy"]))

    calm = min(ours, key=lambda row: (row["waiting"], row["nodes"], row["policy"]))
    return [calm, least([row for row in ours if row["alike"]] or [calm]), least(ours)]


def _kind(row: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    if row["policy"] == OBSERVED:
        return PRODUCTION
    at = row["nodes"], row["waiting"]
    points = [(one["nodes"], one["waiting"]) for one in rows]
    return BEATEN if any(x <= at[0] and y <= at[1] and (x, y) != at for x, y in points) else FRONT


def _plot(frame: pl.DataFrame, room: Room) -> go.Figure:
    figure = blank(420)
    x, y = _range(frame, "nodes"), _range(frame, "waiting")
    for kind, look in _LOOKS.items():
        for part in frame.filter(kind=kind).partition_by("shade", maintain_order=True):
            mark(
                figure,
                part,
                look,
                list(map(pl.col, ("waiting", "waiting_low", "waiting_high"))),
                [label(name) for name in part["policy"]],
                name=kind,
                showlegend=kind == PRODUCTION,
                hovertemplate="%{customdata}<br>%{x:,.1f} nodes, %{y:,.1f} containers left"
                " without a node<extra></extra>",
            )
    lay_out(figure, x, axis(_UP, range=y, zeroline=False), _labels(frame, x, y, room))
    return figure


def _range(frame: pl.DataFrame, column: str) -> list[float]:
    """From the lowest to the highest value, with their intervals and some room; 0 if near."""
    values = [float(one) for one in _known(frame, column, f"{column}_low", f"{column}_high")]
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = max(0.08 * (high - low), 1.0)
    return [max(low - room, -0.05 * high), high + room]


def _known(frame: pl.DataFrame, *columns: str) -> list[float]:
    return [one for name in columns for one in frame[name].drop_nulls().to_list()]


def _labels(
    frame: pl.DataFrame, x: list[float], y: list[float], room: Room
) -> list[dict[str, Any]]:
    """Names beside their marks, those of the title first, then who leaves fewest waiting."""
    rows = sorted(frame.to_dicts(), key=lambda row: not row["named"])
    shown = [(row, bool(row["named"])) for row in rows]
    return names(rows, shown, lambda row: float(row["waiting"]), (x, y), room)


def _takeaway(frame: pl.DataFrame) -> str:
    named = _named(frame.to_dicts())
    if not named:
        return "No policy was replayed."
    calm, near, least = named
    nodes = count(calm["of_nodes"], "node")
    said = [
        (
            f"{calm['policy']} leaves fewest waiting: {number(calm['waiting'])} containers"
            f" without a node, with {round(calm['nodes']):,} of {nodes} in use."
        )
    ]
    if near["policy"] != calm["policy"]:
        said.append(
            f"Of those within chance of that {near['policy']} uses fewest nodes,"
            f" {round(near['nodes']):,} ({number(near['waiting'])} left without a node)."
        )
    if least["policy"] not in (calm["policy"], near["policy"]):
        said.append(
            f"{least['policy']} uses fewest of all, {round(least['nodes']):,}"
            f" ({number(least['waiting'])} left without a node)."
        )
    return " ".join(filter(None, [*said, frame["sparse"][0]]))


_WAITING = Shown(measure=PENDING, mean="waiting", low="waiting_low", high="waiting_high")

FIGURE = Figure(
    title="Nodes in use against containers left without a node",
    question="What do fewer nodes cost in containers that find none?",
    how_to_read="No more than one way to place carries the whole load here, so overload says"
    " little: who leaves containers waiting has less to carry. Each mark is one way to place: the"
    " further left, the fewer nodes in use on average over time; the further down, the fewer"
    " containers never get a node. A full mark is one that no other beats on both, an open one is"
    " beaten. Thin lines are 95 % intervals over the orders of arrival: where they overlap far, two"
    " policies may be alike. Names stand where there is room.",
    reads=("replay/summary", "replay/repeats"),
    sql=lambda data: beside_nodes(data, _WAITING),
    prepare=_prepare,
    draw=lambda frame: _plot(frame, _WIDE),
    narrow=lambda frame: _plot(frame, _NARROW),
    takeaway=_takeaway,
    table=lambda frame: frame.select("policy", "same", "nodes", "waiting", "kind"),
    absent="One policy alone was replayed, or the run does not say who waits: nothing is traded.",
    csv=("policy", "same", "nodes", "waiting", "kind"),
)
