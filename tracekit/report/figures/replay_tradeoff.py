"""Nodes in use against the risk of overload: what one gives up for the other."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import polars as pl

from tracekit.replay.runs.run import OBSERVED
from tracekit.report.data import Data
from tracekit.report.figures import Figure
from tracekit.report.headline import named
from tracekit.report.palette import color
from tracekit.report.plot import axis, blank, numbers
from tracekit.report.policies import label
from tracekit.report.words import count, percent

_NODES, _OVERLOAD = "nodes_used_mean", "overloaded_node_steps"
FRONT, BEATEN, PRODUCTION, CHOSEN = (
    "beaten by none",
    "beaten on both",
    "production",
    "named on the first page",
)
_LOOKS = {
    BEATEN: ("other", "circle-open", 9),
    FRONT: ("policy-3", "circle", 11),
    CHOSEN: ("policy-1", "diamond", 14),
    PRODUCTION: ("observed", "x", 12),
}
#: Labels closer than this, as a share of the axes, would lie on one another.
_NEAR = 0.07
_MOST_LABELS, _MOST_NARROW = 8, 4
_SCHEMA = {
    "policy": pl.String,
    "same": pl.Int64,
    "nodes": pl.Float64,
    "overload_share": pl.Float64,
    "of_nodes": pl.Int64,
    "kind": pl.String,
}


def _prepare(data: Data) -> pl.DataFrame:
    known = data.results.measures if data.results else {}
    if data.run is None or not {_NODES, _OVERLOAD} <= known.keys():
        return pl.DataFrame(schema=_SCHEMA)
    load = data.run["workload"]
    used, over = data.standings(_NODES), data.standings(_OVERLOAD)
    samples = load["nodes"] * max(_settled(data), 1)
    rows: list[dict[str, Any]] = []
    for row in used.rows:
        other = over.row(row.names[0])
        if other is not None and not row.waited:
            rows.append(
                {
                    "policy": row.names[0],
                    "same": len(row.names) - 1,
                    "nodes": row.mean,
                    "overload_share": other.mean / samples,
                    "of_nodes": load["nodes"],
                }
            )
    kinds = _kinds(rows, named(data))
    frame = pl.DataFrame(rows, schema={k: v for k, v in _SCHEMA.items() if k != "kind"})
    return frame.with_columns(pl.Series("kind", kinds, dtype=pl.String))


def _settled(data: Data) -> int:
    """Steps over which overload was counted."""
    steps = data.replay("steps")
    if "settled" not in steps.columns:
        return int((data.run or {})["workload"]["steps"])
    counted = steps.filter(pl.col("settled"))
    return int(counted["time_ms"].n_unique()) or int((data.run or {})["workload"]["steps"])


def _kinds(rows: list[dict[str, Any]], chosen: tuple[str, ...]) -> list[str]:
    points = [(row["nodes"], row["overload_share"]) for row in rows]
    kinds = []
    for row, (x, y) in zip(rows, points, strict=True):
        beaten = any(a <= x and b <= y and (a, b) != (x, y) for a, b in points)
        if row["policy"] == OBSERVED:
            kinds.append(PRODUCTION)
        elif row["policy"] in chosen:
            kinds.append(CHOSEN)
        else:
            kinds.append(BEATEN if beaten else FRONT)
    return kinds


def _plot(frame: pl.DataFrame, most: int) -> go.Figure:
    figure = blank(420)
    for kind, (name, symbol, size) in _LOOKS.items():
        part = frame.filter(pl.col("kind") == kind)
        if part.is_empty():
            continue
        figure.add_scatter(
            x=numbers(part["nodes"]),
            y=numbers(100 * part["overload_share"]),
            mode="markers",
            name=kind,
            customdata=[label(policy) for policy in part["policy"]],
            marker={
                "color": color(name),
                "symbol": symbol,
                "size": size,
                "line": {"width": 2, "color": color(name)},
            },
            hovertemplate="%{customdata}<br>%{x:,.1f} nodes, %{y:.3~f} % overloaded<extra></extra>",
        )
    x, y = _range(frame["nodes"], 1.0), _range(100 * frame["overload_share"], 0.1)
    figure.update_layout(
        margin={"l": 62, "r": 24, "t": 16, "b": 56},
        xaxis=axis("Nodes in use on average [nodes]", range=x, zeroline=False),
        yaxis=axis("Node-steps that are overloaded [% of all]", range=y, zeroline=False),
        annotations=_labels(frame, x, y, most),
    )
    return figure


def _range(values: pl.Series, least: float) -> list[float]:
    low, high = (float(v or 0.0) for v in (values.min(), values.max()))  # type: ignore[arg-type]
    room = max(0.12 * (high - low), least)
    # a value of 0 has room for its mark, but no tick below it
    return [low - (0.04 * (high + room) if low == 0 else room), high + room]


def _labels(frame: pl.DataFrame, x: list[float], y: list[float], most: int) -> list[dict[str, Any]]:
    """Names beside their marks: chosen and production first, then those not beaten."""
    order = {CHOSEN: 0, PRODUCTION: 1, FRONT: 2, BEATEN: 3}
    rows = sorted(frame.iter_rows(named=True), key=lambda row: (order[row["kind"]], row["policy"]))
    put: list[tuple[float, float]] = []
    found: list[dict[str, Any]] = []
    for row in rows:
        at = (
            (row["nodes"] - x[0]) / (x[1] - x[0]),
            (100 * row["overload_share"] - y[0]) / (y[1] - y[0]),
        )
        crowded = any(abs(at[1] - b) < _NEAR and abs(at[0] - a) < 4 * _NEAR for a, b in put)
        if len(found) >= most or (crowded and row["kind"] not in (CHOSEN, PRODUCTION)):
            continue
        above = not any(abs(at[1] - b) < _NEAR for _, b in put)
        put.append(at)
        left = at[0] > 0.5
        found.append(
            {
                "text": _text(row),
                "x": row["nodes"],
                "y": 100 * row["overload_share"],
                "showarrow": False,
                "xanchor": "right" if left else "left",
                "xshift": -10 if left else 10,
                "yshift": 12 if above else -13,
                "font": {"size": 12},
            }
        )
    return found


def _text(row: dict[str, Any]) -> str:
    name = label(row["policy"])
    name = f"<b>{name}</b>" if row["kind"] == CHOSEN else name
    return f"{name} +{row['same']}" if row["same"] else name


def _takeaway(frame: pl.DataFrame) -> str:
    rows = frame.filter(pl.col("kind") != PRODUCTION)
    if rows.height < 2:
        return f"{rows.height or 'No'} way to place carries the whole load; a trade-off needs 2."
    chosen = rows.filter(pl.col("kind") == CHOSEN)
    of = int(frame["of_nodes"][0])
    if chosen.height:
        return _beside(rows, chosen.row(0, named=True), of)
    few = rows.sort("nodes", "overload_share").row(0, named=True)
    calm = rows.sort("overload_share", "nodes").row(0, named=True)
    if few["policy"] == calm["policy"]:
        return (
            f"No policy can be recommended. The fewest nodes and the least overload are those of"
            f" {few['policy']}: {_at(few, of)}."
        )
    return (
        f"No policy can be recommended. Fewest nodes: {few['policy']}, {_at(few, of)}. Least"
        f" overload: {calm['policy']}, {_at(calm, of)}."
    )


def _beside(rows: pl.DataFrame, chosen: dict[str, Any], of: int) -> str:
    """The policy that the first page names, beside the best that fewer nodes can do."""
    said = f"{chosen['policy']} uses {_at(chosen, of)}"
    fewer = rows.filter(pl.col("nodes") < chosen["nodes"] - 0.5)
    if fewer.is_empty():
        return f"{said}; no other way to place uses fewer nodes."
    best = fewer.sort("overload_share", "nodes").row(0, named=True)
    return f"{said}. With fewer nodes none overloads less than {best['policy']}: {_at(best, of)}."


def _at(row: dict[str, Any], of: int) -> str:
    return (
        f"{round(row['nodes']):,} of {count(of, 'node')},"
        f" {percent(row['overload_share'])} of node-steps overloaded"
    )


def _narrow(frame: pl.DataFrame) -> go.Figure:
    """Fewer names, and the title of the upright axis above it."""
    figure = _plot(frame, _MOST_NARROW)
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
        height=380,
        margin={"l": 8, "r": 8, "t": 30, "b": 52},
        yaxis={"title": {"text": ""}, "automargin": True},
        annotations=[*figure.layout.annotations, title],
    )
    figure.update_xaxes(nticks=5)
    return figure


FIGURE = Figure(
    title="Nodes in use against overload",
    question="How many nodes does a policy save, and at what risk?",
    how_to_read="Each mark is one way to place; down and to the left is better: fewer nodes, less"
    " overload. A policy that another one beats on both is an open mark. A count of nodes is worth"
    " nothing where the policy overloads them. Nodes are those in use on average over time, so that"
    " nodes which are emptied later count as saved; nodes that hold nothing but what runs on every"
    " node are not in use.",
    reads=("replay/summary", "replay/repeats"),
    prepare=_prepare,
    draw=lambda frame: _plot(frame, _MOST_LABELS),
    narrow=_narrow,
    takeaway=_takeaway,
    table=lambda frame: frame.drop("of_nodes"),
    absent="The run does not say how many nodes were in use and overloaded.",
    csv=("policy", "same", "nodes", "overload_share", "kind"),
)
