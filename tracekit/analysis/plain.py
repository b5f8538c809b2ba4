"""What an engineer reads first of a cluster: how full its nodes are, and which stand out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from tracekit.analysis.summary import SummaryTable, requests_recorded
from tracekit.analysis.work import Analysis
from tracekit.metrics.growth import LEAST_DAYS, WEEK, growth
from tracekit.units import MS_PER_DAY, percent
from tracekit.words import agreeing, counted, few, listed, short_id

#: A node is hot that reaches this share of its CPU or memory once; idle are those below that one.
HOT, IDLE = 0.9, 0.1
#: So many nodes whose memory rises are told with their numbers.
_TOLD = 3
_RESOURCES = {"cpu": "CPU", "memory": "memory"}


def lead(analysis: Analysis) -> SummaryTable | None:
    """The nodes of each availability zone: what is requested and used of them."""
    frame = analysis.frames.get("usage/availability_zones", pl.DataFrame())
    if frame.is_empty():
        return None
    shares = {
        f"{one}_{what}_share": weight
        for one, weight in (("cpu", "cpu_cores"), ("memory", "memory_bytes"))
        for what in ("requested", "used")
    }
    whole = frame.select(
        pl.lit("all").alias("availability_zone"),
        pl.col("nodes").sum(),
        *(
            (pl.col(share) * pl.col(weight)).sum()
            / pl.col(weight).filter(pl.col(share).is_not_null()).sum()
            for share, weight in shares.items()
        ),
    )
    blind = int(frame["nodes_without_use"].sum())
    both = pl.concat([frame.select(whole.columns), whole])
    return SummaryTable(
        title="How full the nodes are, by availability zone",
        columns=["zone", "nodes", "CPU requested", "used", "memory requested", "used"],
        rows=[
            [zone, nodes, *("-" if one is None else percent(one) for one in found)]
            for zone, nodes, *found in both.rows()
        ],
        note="means over the recorded time, as shares of what the nodes have"
        + (f"; {counted(blind, 'node')} without recorded use: in no share used" if blind else ""),
        name="usage/availability_zones",
    )


def sentences(analysis: Analysis) -> Iterator[str]:
    """Use of nodes, requests against use, nodes that are hot or idle, leaks, growth."""
    for name, say in (
        ("usage/node_profile", _nodes),
        ("services/requests", _requests),
        ("usage/memory_rise", _rise),
        ("usage/node_blocks", _growth),
    ):
        frame = analysis.frames.get(name)
        if frame is not None and not frame.is_empty():
            yield from say(frame)


def _nodes(profile: pl.DataFrame) -> Iterator[str]:
    used = [
        f"{percent(_number(profile[f'{one}_mean'].median()))} of its {words} on average (the most"
        f" used {percent(_number(profile[f'{one}_mean'].max()))}, the highest ever"
        f" {percent(_number(profile[f'{one}_max'].max()))})"
        for one, words in _RESOURCES.items()
    ]
    yield f"the median of {counted(profile.height, 'node')} uses {listed(used)}"
    hot = profile.filter((pl.col("cpu_max") >= HOT) | (pl.col("memory_max") >= HOT))
    idle = profile.filter((pl.col("cpu_mean") < IDLE) & (pl.col("memory_mean") < IDLE))
    yield (
        f"hot, {percent(HOT, 0)} of CPU or memory at least once: {_named(hot)}; idle, below"
        f" {percent(IDLE, 0)} of both on average: {_named(idle)}"
    )


def _named(nodes: pl.DataFrame) -> str:
    """How many nodes there are, and which."""
    if nodes.is_empty():
        return "none"
    return f"{nodes.height:,} ({few([short_id(one) for one in nodes['node']])})"


def _requests(services: pl.DataFrame) -> Iterator[str]:
    parts = []
    for one, (unit, words) in {"cpu": ("cores", "CPU"), "memory": ("gib", "memory")}.items():
        asked, used = (
            _number(services[f"{one}_{what}_{unit}"].sum()) for what in ("requested", "used")
        )
        if asked > 0:
            shown, part = unit.replace("gib", "GiB"), percent(used / asked)
            parts.append(f"{used:,.0f} of {asked:,.0f} {shown} of {words} requested ({part})")
    if parts:
        yield f"containers use {listed(parts)}; which to cut: tracekit requests"


def _rise(nodes: pl.DataFrame) -> Iterator[str]:
    said = agreeing(nodes.height, "[node rises|nodes rise]")
    yield f"{said} steadily in memory, as a leak does: {rising(nodes.to_dicts())}"


def rising(nodes: Sequence[Mapping[str, Any]]) -> str:
    """Rows of ``usage/memory_rise`` in words: which, from where to where, and until when."""
    told = [
        f"{short_id(row['node'])} from {percent(row['memory_first_fraction'])} to"
        f" {percent(row['memory_last_fraction'])} in {row['days']:.1f} days"
        f" ({100 * row['memory_per_day_fraction']:.1f} points a day), full in"
        f" {_days(row['days_left'])}"
        for row in nodes[:_TOLD]
    ]
    more = [f"{len(nodes) - _TOLD:,} more"] if len(nodes) > _TOLD else []
    return "; ".join(told + more)


def _days(days: float) -> str:
    """A time to come: hours within two days."""
    return f"{24 * days:.0f} h" if days < 2 else f"{days:,.0f} days"


def _growth(blocks: pl.DataFrame) -> Iterator[str]:
    """By how much the use of all nodes grows a day, where it does beyond chance."""
    starts = blocks["block_start_ms"].unique().sort().to_numpy()
    step_ms = int(np.diff(starts).min()) if len(starts) > 1 else MS_PER_DAY
    means = blocks.group_by("block_start_ms").agg(pl.col("cpu_mean", "memory_mean").mean())
    series = means.sort("block_start_ms").select("cpu_mean", "memory_mean").to_numpy().T
    season = MS_PER_DAY // step_ms
    if len(starts) * step_ms != starts[-1] - starts[0] + step_ms or MS_PER_DAY % step_ms:
        return
    whole = len(starts) // season
    per_day = 1.0
    if whole >= LEAST_DAYS:
        series = series[:, : whole * season].reshape(2, whole, season).mean(axis=-1)
        season, per_day = WEEK, 1.0 / WEEK
    found = per_day * growth(series, season)
    grows = [
        f"{words} by {100 * found[at, 0]:.2f} points of capacity a day"
        f" ({100 * found[at, 1]:.2f} to {100 * found[at, 2]:.2f})"
        for at, words in enumerate(_RESOURCES.values())
        if found[at, 1] > 0
    ]
    if grows:
        doubt = "" if per_day < 1 else f"; fewer than {LEAST_DAYS} days: weekdays may differ"
        yield f"mean use of the nodes grows, {listed(grows)}{doubt}"


def _number(value: Any) -> float:
    return float(value or 0.0)


def head(analysis: Analysis) -> tuple[SummaryTable | None, list[str]]:
    """What comes first; nothing of a store that records no requests, such as the trace of 2021."""
    if not requests_recorded(analysis):
        return None, []
    return lead(analysis), list(sentences(analysis))
