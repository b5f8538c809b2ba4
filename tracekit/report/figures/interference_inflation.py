"""CPU lost to neighbours under each way to bind."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
import polars as pl

from tracekit.arrays import BoolArray, FloatArray
from tracekit.binding.drawn import RECORDED, unlike_recorded
from tracekit.replay.chance.student import compare, means
from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import above, axis, blank, numbers, rows_axis, whisker
from tracekit.report.figures import Figure
from tracekit.words import counted, number, percent

_SOURCE = "bind/repeats"
_SCHEMA = {
    "policy": pl.String,
    "mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "fraction": pl.Float64,
    "fraction_apart_from_best": pl.Boolean,
    "vcpus": pl.Float64,
    "orders": pl.Int64,
    "apart_from_best": pl.Boolean,
}
_LOST = "inflation_vcpus"
#: Of each container the share of its CPU, all containers alike whatever they use.
_SHARE = "inflation_mean_fraction"


def _prepare(data: Data) -> pl.DataFrame:
    found = data.result(_SOURCE)
    if found.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    names = found["policy"].unique(maintain_order=True).to_list()
    of = {name: found.filter(policy=name).sort("repeat") for name in names}
    lost, share = (
        np.stack([of[name][column].cast(pl.Float64).to_numpy() for name in names], axis=1)
        for column in (_LOST, _SHARE)
    )
    middle = means(lost, comparisons=len(names))
    best = int(np.argmin(middle.mean))
    frame = pl.DataFrame(
        {
            "policy": names,
            "mean": middle.mean,
            "low": middle.low,
            "high": middle.high,
            "fraction": share.mean(axis=0),
            "fraction_apart_from_best": _apart(share)[best],
            "vcpus": [_bound(of[name]) for name in names],
            "orders": [len(lost)] * len(names),
            "apart_from_best": _apart(lost)[best],
        },
        schema=_SCHEMA,
    )
    frame = frame.sort("mean", maintain_order=True)
    return frame.with_columns(pl.col("low", "high").fill_nan(None))


def _bound(orders: pl.DataFrame) -> float | None:
    """How many vCPUs a way binds; None for a run that does not say."""
    if "bound_vcpus" not in orders.columns:
        return None
    return float(orders["bound_vcpus"].to_numpy().mean())


def _apart(lost: FloatArray) -> BoolArray:
    """Which ways to bind differ beyond chance, all pairs together, shape (ways, ways)."""
    ways = lost.shape[1]
    one, other = np.triu_indices(ways, 1)
    found = np.zeros((ways, ways), dtype=np.bool_)
    found[one, other] = compare(lost[:, one] - lost[:, other]).separated
    return found | found.T


def _plot(frame: pl.DataFrame, *, narrow: bool) -> go.Figure:
    """A bar for each way to bind, its name beside it, on a narrow screen above it."""
    figure = blank(max(240, 110 + (56 if narrow else 46) * frame.height))
    names = frame["policy"].to_list()
    for at, row in enumerate(frame.iter_rows(named=True)):
        figure.add_bar(
            x=numbers([row["mean"]]),
            y=[at],
            orientation="h",
            width=0.45 if narrow else 0.8,
            showlegend=False,
            name=row["policy"],
            marker={"color": color(_color(row, best=at == 0))},
            error_x=whisker(row["mean"], row["low"], row["high"]),
            hovertemplate=f"{row['policy']}: %{{x:.3g}} vCPUs<extra></extra>",
        )
    who = "" if narrow else ", all containers"
    figure.update_layout(
        margin={"l": 8, "r": 24, "t": 8, "b": 56},
        xaxis=axis(f"CPU lost to neighbours{who} [vCPUs]", rangemode="tozero"),
        yaxis=rows_axis(frame.height, 0.7, names=[] if narrow else names),
    )
    if narrow:
        figure.update_layout(annotations=[above(at, name) for at, name in enumerate(names)])
    return figure


def _color(row: Mapping[str, Any], *, best: bool) -> str:
    """Blue for the best, green within chance of it, black as recorded, grey for the rest."""
    if best:
        return "policy-1"
    if row["policy"] == RECORDED:
        return "observed"
    return "other" if row["orders"] < 2 or row["apart_from_best"] else "policy-3"


#: What the best way to bind is measured by, where it is there; else the worst way.
_BASELINES = {
    "whole_cores": "under whole_cores, which knows no fit",
    RECORDED: "as recorded",
}

#: The way to bind that goes by the fit.
FITTED = "interference"
#: What stands in its place where nothing was bound.
NOT_BOUND = "Nothing was bound down to the vCPU: tracekit bind does it."


def _takeaway(frame: pl.DataFrame) -> str:
    rows = {row["policy"]: row for row in frame.to_dicts()}
    lost = {name: row["mean"] for name, row in rows.items()}
    best = min(lost, key=lambda name: (lost[name], name))
    unlike = _unlike(frame)
    bases = {name: words for name, words in _BASELINES.items() if name != RECORDED or not unlike}
    others = {name: words for name, words in bases.items() if name in lost and name != best}
    if not others:
        worst = max(lost, key=lambda name: (lost[name], name))
        others = {worst: f"under {worst}"} if worst != best else {}
    orders = rows[best]["orders"]
    sure = {name: orders < 2 or rows[name]["apart_from_best"] for name in lost}
    less = [
        f"{percent(1 - lost[best] / lost[name])} less than {words}"
        for name, words in others.items()
        if lost[name] > 0 and sure[name]
    ]
    told = "".join(f", {one}" for one in [_sure(rows[best]), ", and ".join(less)] if one)
    told = f"Under {best} neighbours cost {number(lost[best])} vCPUs{told}."
    alike = [name for name in lost if name != best and not sure[name]]
    if alike:
        told += f" Within chance of it: {', '.join(alike)}."
    if FITTED in lost and best != FITTED and lost[best] > 0 and sure[FITTED]:
        more = percent(lost[FITTED] / lost[best] - 1)
        told += f" Choosing by the fit costs {more} more than {best}."
    return told


def _unlike(frame: pl.DataFrame) -> str:
    """A sentence if the recorded binding has another number of vCPUs than the others."""
    bound = dict(frame.select("policy", pl.col("vcpus").fill_null(0.0)).iter_rows())
    return unlike_recorded(bound)


def _note(frame: pl.DataFrame) -> str:
    """What else one must know before one chooses by the bars."""
    return " ".join(filter(None, [_by_share(frame), _unlike(frame)]))


def _by_share(frame: pl.DataFrame) -> str:
    """Where another way is best for the mean container, that this is so; a sentence, or empty."""
    best, first = frame.row(0, named=True), frame.sort("fraction").row(0, named=True)
    apart = first["orders"] < 2 or first["fraction_apart_from_best"]
    if first["policy"] == best["policy"] or not apart:
        return ""
    return (
        f"By the share that a container loses, each counting alike, {first['policy']} is best:"
        f" {percent(first['fraction'])} at the mean, {percent(best['fraction'])} under"
        f" {best['policy']}; large containers lose less under {best['policy']}."
    )


def _sure(row: Mapping[str, Any]) -> str:
    """How sure a mean is, a clause; empty where nothing is known of other orders."""
    if row["orders"] < 2 or row["low"] is None:
        return "in one order of arrival alone"
    return (
        f"{number(row['low'])} to {number(row['high'])} in {counted(row['orders'], 'order')}"
        " of arrival"
    )


FIGURE = Figure(
    title="CPU lost to neighbours, by who chooses vCPUs",
    question="How much interference can placement avoid?",
    how_to_read="The best is on top, in blue; green is within chance of it, 'recorded' is what was"
    " recorded. A shorter bar is better: it adds up, over all containers, the CPU that they use"
    " more because of who shares their cores and sockets, averaged over time. Whiskers are"
    " 95 % intervals that hold for all bars together, where several orders of arrival were"
    " replayed; less is said only of what differs beyond chance.",
    reads=(_SOURCE,),
    prepare=_prepare,
    draw=lambda frame: _plot(frame, narrow=False),
    narrow=lambda frame: _plot(frame, narrow=True),
    takeaway=_takeaway,
    note=_note,
    table=lambda frame: frame.select(
        "policy",
        pl.col("mean").alias("lost_vcpus"),
        pl.col("low").alias("lost_low_vcpus"),
        pl.col("high").alias("lost_high_vcpus"),
        pl.col("fraction").alias("lost_share"),
        "apart_from_best",
    ),
    absent=NOT_BOUND,
)
