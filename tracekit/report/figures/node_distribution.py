"""How full nodes are on average: their distribution in production and under the chosen policy.

Of CPU, memory, and the further resource of which most is requested; what binds stands first.
"""

import plotly.graph_objects as go
import polars as pl

from tracekit.answer.amounts import difference_text
from tracekit.replay.measures import RESOURCES, find_measure, words_of
from tracekit.replay.runs.run import OBSERVED
from tracekit.report.colours import slot, slots
from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import axis, blank, numbers
from tracekit.report.figures import Figure
from tracekit.report.figures._node_distribution_title import HOT, IDLE, lead, takeaway, what_of
from tracekit.report.figures._sparse import of_requests
from tracekit.report.measures import binding, named, scarcest_further, side
from tracekit.report.policies import label
from tracekit.store.quantities import INFERRED

_WIDTH = 0.05
_PANEL_PX, _GAP_PX, _EDGES_PX = 170, 64, 76
_SCHEMA = pl.Schema(
    {
        "resource": pl.String,
        "policy": pl.String,
        "use_from": pl.Float64,
        "nodes": pl.Int64,
        "of_nodes": pl.Int64,
        "hot": pl.Int64,
        "idle": pl.Int64,
        "median": pl.Float64,
        "std": pl.Float64,
        "unknown": pl.Int64,
        "shade": pl.String,
        "side": pl.String,
        "apart": pl.Boolean,
        "change": pl.String,
        "sparse": pl.String,
    }
)


def _prepare(data: Data) -> pl.DataFrame:
    frame = data.replay("nodes")
    if frame.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    there = frame["policy"].unique(maintain_order=True).to_list()
    shown = [name for name in (OBSERVED, *named(data)) if name in there]
    if len(shown) < 2:
        shown = list(dict.fromkeys([*shown, *there]))[:2]
    frame, unknown = _recorded(data, frame)
    colours = slots(data)
    parts = [
        _counted(frame.filter(policy=policy), policy, resource, unknown).with_columns(
            shade=pl.lit(slot(policy, colours)),
            **_beside(data, shown, resource),
        )
        for resource in _resources(data)
        for policy in shown
        if f"{resource}_mean_fraction" in frame.columns
    ]
    if not parts:
        return pl.DataFrame(schema=_SCHEMA)
    drawn = pl.concat(parts)
    sparse = of_requests(data, shown, lead(drawn))
    return drawn.with_columns(sparse=pl.lit(sparse)).cast(_SCHEMA)


def _beside(data: Data, shown: list[str], resource: str) -> dict[str, pl.Expr]:
    """How evenly the second of two spreads load beside the first, beyond chance, and by how much.

    Null where too few orders of arrival were met to tell.
    """
    found = None
    measure = find_measure(f"{resource}_std_mean_fraction")
    if measure is not None and len(shown) > 1:
        found = side(data, shown[1], shown[0], measure)
    if found is None or found.difference is None or found.difference.low is None:
        return {name: pl.lit(None, _SCHEMA[name]) for name in ("side", "apart", "change")}
    change = difference_text(found.measure, found.difference)
    return {
        "side": pl.lit(found.side),
        "apart": pl.lit(found.difference.apart),
        "change": pl.lit(change),
    }


def _resources(data: Data) -> list[str]:
    """CPU, memory and the further resource that is scarcest, if any; what binds goes first."""
    every = [*RESOURCES, *filter(None, [scarcest_further(data)])]
    return sorted(every, key=lambda one: one != binding(data))


def _recorded(data: Data, frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The nodes whose use is recorded, and how many others there are.

    Of a node that recorded nothing a replay knows its containers at most: it would be drawn idle.
    Where no node recorded any, or its use was set aside, the use of containers is all there is, and
    a node without them is empty.
    """
    load = (data.run or {}).get("workload", {})
    assumed, known_by = load.get("assumptions", {}), load.get("quantities", {})
    profile = data.query("usage/node_profile")
    if known_by.get("use of nodes") == INFERRED:
        return frame, 0
    if profile.is_empty() or assumed.get("background", "keep") != "keep":
        return frame, 0
    known = frame.filter(pl.col("node").is_in(profile["node"].implode()))
    unknown = frame["node"].n_unique() - known["node"].n_unique()
    return (frame, 0) if known.is_empty() else (known, unknown)


def _counted(part: pl.DataFrame, policy: str, resource: str, unknown: int) -> pl.DataFrame:
    """Nodes by ranges of use, every range up to the fullest node.

    A node of exactly 100 % is full, not beyond: it counts in the range that ends there.
    """
    use = part[f"{resource}_mean_fraction"].cast(pl.Float64).fill_nan(None).drop_nulls()
    last, slack = round(1 / _WIDTH) - 1, 1e-6
    at = (use / _WIDTH + slack).floor().cast(pl.Int64).set((use - 1).abs() <= slack, last)
    most = max([*at.to_list(), last])
    counts = [int((at == one).sum()) for one in range(most + 1)]
    return pl.DataFrame(
        {
            "resource": [resource] * len(counts),
            "policy": [policy] * len(counts),
            "use_from": [round(one * _WIDTH, 4) for one in range(len(counts))],
            "nodes": counts,
            "of_nodes": [len(use)] * len(counts),
            "hot": [int((use > HOT).sum())] * len(counts),
            "idle": [int((use < IDLE).sum())] * len(counts),
            "median": [use.median()] * len(counts),
            "std": [use.std(ddof=0)] * len(counts),
            "unknown": [unknown] * len(counts),
        }
    )


def _draw(frame: pl.DataFrame) -> go.Figure:
    resources = frame["resource"].unique(maintain_order=True).to_list()
    panels = max(len(resources), 1)
    inner = panels * _PANEL_PX + (panels - 1) * _GAP_PX
    figure = blank(inner + _EDGES_PX)
    figure.update_layout(margin={"l": 62, "r": 16, "t": 16, "b": 56})
    figure.update_layout(xaxis=axis("Use [%]"), yaxis=axis("Nodes [count]"))
    policies = frame["policy"].unique(maintain_order=True).to_list()
    dashes = ["dash", "solid"] if OBSERVED in policies else ["solid", "dash"]
    for at, resource in enumerate(resources):
        number = "" if at == 0 else str(at + 1)
        top = 1 - at * (_PANEL_PX + _GAP_PX) / inner
        words = what_of(resource)
        for policy, dash in zip(policies, dashes, strict=False):
            part = frame.filter(resource=resource, policy=policy)
            figure.add_scatter(
                x=numbers([*(100 * part["use_from"]), 100 * (part["use_from"].max() + _WIDTH)]),  # type: ignore[operator]
                y=[*part["nodes"].to_list(), 0],
                mode="lines",
                line={"shape": "hv", "color": color(part["shade"][0]), "dash": dash, "width": 2},
                name=label(policy),
                showlegend=at == 0,
                xaxis=f"x{number}",
                yaxis=f"y{number}",
                hovertemplate="from %{x:.0f} % on: %{y:,} nodes<extra></extra>",
            )
        figure.update_layout(
            {
                f"xaxis{number}": axis(
                    f"Mean {words} [% of node]",
                    anchor=f"y{number}",
                    rangemode="tozero",
                    showgrid=False,
                ),
                f"yaxis{number}": axis(
                    "Nodes [count]",
                    anchor=f"x{number}",
                    domain=[max(top - _PANEL_PX / inner, 0.0), top],
                    rangemode="tozero",
                    nticks=4,
                ),
            }
        )
    return figure


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    told = pl.col("resource").map_elements(words_of, pl.String)
    return frame.group_by(told, "policy", maintain_order=True).agg(
        pl.col("of_nodes").first().alias("nodes"),
        pl.col("median").first().alias("median_use_fraction"),
        pl.col("std").first().alias("standard_deviation_of_use_fraction"),
        pl.col("hot").first().alias("nodes_above_90_%"),
        pl.col("idle").first().alias("nodes_below_20_%"),
    )


FIGURE = Figure(
    title="Nodes by their mean use, before and after",
    question="Does the policy even out the load, or move it?",
    how_to_read="Each line counts the nodes in every range of use, five points wide; its area is"
    " all nodes. A node of exactly 100 % counts in the range that ends there. A narrow hill is an"
    " even load. Nodes far to the right have no room for a burst; nodes far to the left could be"
    " emptied. Every container counts on the node where it was last. Of a further resource, as GPU,"
    " only nodes that have it count, and demand is the use where it is recorded, else what is"
    " requested.",
    reads=("replay/nodes",),
    prepare=_prepare,
    draw=_draw,
    takeaway=takeaway,
    table=_table,
    absent="This run does not say how full each node was; a run of this version of tracekit does.",
    csv=("resource", "policy", "use_from", "nodes"),
)
