"""Facts from the analyses of a trace: on nodes, growth, zones, calls and sizes."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from tracekit.analysis.metrics.load import LEAST_DAYS, WEEK, growth
from tracekit.analysis.run import Analysis
from tracekit.analysis.summary import requests_recorded
from tracekit.answer.production import facts_of_use
from tracekit.base.facts import Fact, remark
from tracekit.base.units import MS_PER_DAY
from tracekit.base.words import RESOURCES, short_id

#: A node is hot if its use reaches the first share once, and idle if it stays below the second.
HOT, IDLE = 0.9, 0.1
#: The number of nodes with rising memory that get a fact each.
_RISING = 3
#: A chance to be in the wrong zone up to this is small.
_UNLIKELY = 0.05
#: The share of nodes from which on a trend is a fact.
_SOME = 0.005


def facts_of_analysis(analysis: Analysis) -> Iterator[Fact]:
    """Yield the main facts of an analysis.

    If the store records requests, they include facts on requests. Otherwise they include facts on
    the sizes of services, which are inferred.
    """
    requested = requests_recorded(analysis)
    for name, facts, with_requests in (
        ("usage/node_profile", _nodes, True),
        ("services/requests", _requests, True),
        ("usage/memory_rise", _rising, True),
        ("usage/node_blocks", _growth, True),
        ("zones_confidence", _zones, None),
        ("util_diff_tail", _tail, None),
        ("zone_trends", _trends, None),
        ("services/demand", _demand, None),
        ("service_sizes_fit", _sizes, False),
    ):
        frame = analysis.frames.get(name, pl.DataFrame())
        if not frame.is_empty() and with_requests in (None, requested):
            yield from facts(frame)
    if requested:
        yield remark("sizes_recorded", kind="finding")
    for tables in sorted(set(analysis.missing.values())):
        names = [name for name, lacking in analysis.missing.items() if lacking == tables]
        lacks = {"tables": " and ".join(tables), "results": ", ".join(names)}
        yield remark("results_lacking", len(names), kind="finding", **lacks)


def _nodes(profile: pl.DataFrame) -> Iterator[Fact]:
    """The use of the median node, and the hot and idle nodes."""
    for one, words in RESOURCES.items():
        mean, highest = profile[f"{one}_mean"], profile[f"{one}_max"]
        yield remark(
            "nodes_use",
            _number(mean.median()),
            "fraction",
            kind="finding",
            resource=words,
            nodes=profile.height,
            most_fraction=_number(mean.max()),
            highest_fraction=_number(highest.max()),
        )
    hot = profile.filter((pl.col("cpu_max") >= HOT) | (pl.col("memory_max") >= HOT))
    idle = profile.filter((pl.col("cpu_mean") < IDLE) & (pl.col("memory_mean") < IDLE))
    for because, nodes, limit in (("nodes_hot", hot, HOT), ("nodes_idle", idle, IDLE)):
        names = [short_id(one) for one in nodes["node"]]
        about = {"limit_fraction": limit}
        yield remark(because, len(names), "nodes", kind="finding", names=names, **about)


def _requests(services: pl.DataFrame) -> Iterator[Fact]:
    """Mean use over requests of all services."""
    over = {}
    for one, unit in (("cpu", "cores"), ("memory", "gib")):
        requested, used = (
            _number(services[f"{one}_{what}_{unit}"].sum()) for what in ("requested", "used")
        )
        if requested > 0:
            over[one] = used / requested
    yield from facts_of_use(over)


def _rising(nodes: pl.DataFrame) -> Iterator[Fact]:
    """Nodes whose memory rises steadily, as a leak's does."""
    for row in nodes.head(_RISING).iter_rows(named=True):
        yield remark(
            "memory_rises",
            row["memory_per_day_fraction"],
            "points",
            kind="finding",
            node=short_id(row["node"]),
            first_fraction=row["memory_first_fraction"],
            last_fraction=row["memory_last_fraction"],
            span_ms=round(row["days"] * MS_PER_DAY),
            left_ms=round(row["days_left"] * MS_PER_DAY),
        )
    if nodes.height > _RISING:
        yield remark("memory_rises_more", nodes.height - _RISING, "nodes", kind="finding")


def _growth(blocks: pl.DataFrame) -> Iterator[Fact]:
    """The growth of use over all nodes per week or day, where it is beyond chance."""
    starts = blocks["block_start_ms"].unique().sort().to_numpy()
    step_ms = int(np.diff(starts).min()) if len(starts) > 1 else MS_PER_DAY
    means = blocks.group_by("block_start_ms").agg(pl.col("cpu_mean", "memory_mean").mean())
    series = means.sort("block_start_ms").select("cpu_mean", "memory_mean").to_numpy().T
    season = MS_PER_DAY // step_ms
    if len(starts) * step_ms != starts[-1] - starts[0] + step_ms or MS_PER_DAY % step_ms:
        return
    days = len(starts) // season
    weekly = days >= LEAST_DAYS
    if weekly:
        series = series[:, : days * season].reshape(2, days, season).mean(axis=-1)
        season = WEEK
    slopes = growth(series, season).tolist()
    for (name, words), (value, low, high) in zip(RESOURCES.items(), slopes, strict=True):
        if low > 0:
            yield Fact(
                kind="growth",
                subject="trace",
                measure=name,
                value=value,
                low=low,
                high=high,
                unit="points",
                because="grew" if weekly else "grew_daily",
                about={"resource": words, "days": days, "needed_days": LEAST_DAYS},
            )


def _zones(frame: pl.DataFrame) -> Iterator[Fact]:
    """How many nodes may be in the wrong correlation zone."""
    doubt = frame["other_zone_probability"].drop_nulls()
    likely = int((doubt > _UNLIKELY).sum())
    if doubt.len():
        yield remark(
            "zones_doubtful" if likely else "zones_certain",
            round(float(doubt.sum())),
            "nodes",
            kind="finding",
            of=doubt.len(),
            likely=likely,
            chance_fraction=_UNLIKELY,
        )


def _tail(frame: pl.DataFrame) -> Iterator[Fact]:
    """The utilization difference of the most extreme nodes."""
    row = frame.filter(zone="all").row(0, named=True)
    if row["hill_index"] is not None:
        yield remark(
            "tail",
            row["hill_index"],
            kind="finding",
            nodes=row["tail_nodes"],
            start_fraction=row["tail_start"],
            hill_low=row["hill_index_low"],
            hill_high=row["hill_index_high"],
            slope=row["ccdf_slope"],
        )


def _trends(frame: pl.DataFrame) -> Iterator[Fact]:
    """The share of nodes in zone A whose CPU use falls over time."""
    for zone, share in frame.select("zone", "falling_share").rows():
        if zone == "A" and (share or 0.0) >= _SOME:
            yield remark("zone_falls", share, "fraction", kind="finding", zone=zone)


def _demand(frame: pl.DataFrame) -> Iterator[Fact]:
    """The share of a service's CPU use that its calls explain."""
    fits = frame["r_squared"].drop_nulls()
    falling = int((frame["cpu_per_call"].drop_nulls() < 0).sum())
    if fits.len():
        yield remark(
            "demand",
            _number(fits.median()),
            "fraction",
            kind="finding",
            services=fits.len(),
            falling=falling or None,
        )


def _sizes(frame: pl.DataFrame) -> Iterator[Fact]:
    """The size of a container that is inferred from use, for each resource."""
    for row in frame.iter_rows(named=True):
        yield Fact(
            kind="finding",
            subject="trace",
            value=row["node_share"],
            unit="fraction",
            low=row["node_share_low"],
            high=row["node_share_high"],
            because="size_unknown" if row["node_share"] is None else "size",
            about={
                "resource": RESOURCES[row["resource"]],
                "alone": row["services_told"],
                "services": row["services"],
            },
        )


def _number(value: object) -> float:
    return float(value or 0.0)  # type: ignore[arg-type]
