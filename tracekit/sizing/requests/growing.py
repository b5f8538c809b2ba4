"""Services that use more from day to day: what was enough so far soon is not."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from tracekit.arrays import BoolArray, FloatArray
from tracekit.metrics import LEVEL
from tracekit.metrics.growth import LEAST_DAYS, WEEK, growth
from tracekit.replay.workload.requests.given import NOW
from tracekit.sizing.requests.rows import UNITS, services
from tracekit.sizing.use import RESOURCES, RecordedUse
from tracekit.study import Study
from tracekit.units import MS_PER_DAY, MS_PER_HOUR, duration
from tracekit.words import few, listed

#: The frame of a study that has it; studies of before have none.
GROWTH = "growth"
#: Who grew by less over the recorded time is not spoken of, however sure it is.
_LEAST_SHARE = 0.05
#: Hours of a day, each with a level of its own where there are too few days for a week.
_HOURS = 24
#: Use below this part of a service's mean counts as this part: its logarithm would be all there is.
_FLOOR_SHARE = 0.01
#: So many services are described, others are counted.
_DESCRIBED = 5


def growth_of(use: RecordedUse) -> FloatArray:
    """By which share the use of a service's container grows a day, and between what.

    All the recorded time counts. The interval holds for all services together, so that of a
    hundred that stand still none is likely to be named. NaN where fewer than two days are known,
    or an hour is missing.

    Returns
    -------
    array, shape (services, 2, 3)
    """
    weeks = _span_ms(use) >= LEAST_DAYS * MS_PER_DAY
    block_ms, season = (MS_PER_DAY, WEEK) if weeks else (MS_PER_HOUR, _HOURS)
    means = _block_means(use, block_ms)
    known = np.isfinite(means).all(axis=-1) & (means.sum(axis=-1) > 0)
    found = np.full((*means.shape[:2], 3), np.nan)
    if means.shape[-1] >= 2 * season and known.any():
        floor = _FLOOR_SHARE * means[known].mean(axis=-1, keepdims=True)
        logs = np.log(np.maximum(means[known], floor))
        level = 1 - (1 - LEVEL) / int(known.sum())
        found[known] = np.expm1(growth(logs, season, level) / (WEEK if weeks else 1))
    return found


def growing(use: RecordedUse, found: FloatArray) -> BoolArray:
    """Which services grow beyond chance and enough to matter, shape (services, 2)."""
    return np.asarray(found[..., 1] * _span_ms(use) / MS_PER_DAY >= _LEAST_SHARE)


def frame_of(use: RecordedUse, found: FloatArray) -> pl.DataFrame:
    """A row for each service and resource of which growth is known."""
    grows = growing(use, found)
    return pl.DataFrame(
        [
            {
                "service": use.services[service],
                "resource": name,
                "growth_per_day_share": found[service, at, 0],
                "growth_per_day_share_low": found[service, at, 1],
                "growth_per_day_share_high": found[service, at, 2],
                "grows": bool(grows[service, at]),
            }
            for service in range(len(use.services))
            for at, (name, _) in enumerate(RESOURCES)
            if np.isfinite(found[service, at, 0])
        ],
        schema={
            **dict.fromkeys(("service", "resource"), pl.String),
            **dict.fromkeys(
                (f"growth_per_day_share{end}" for end in ("", "_low", "_high")), pl.Float64
            ),
            "grows": pl.Boolean,
        },
    )


def _span_ms(use: RecordedUse) -> int:
    return len(use.times_ms) * use.step_ms


def _block_means(use: RecordedUse, block_ms: int) -> FloatArray:
    """Use of a container of each service in each whole block, shape (services, 2, blocks)."""
    each = block_ms // use.step_ms
    blocks = len(use.times_ms) // each if each else 0
    of, count = use.service[use.measured], len(use.services)
    means = np.full((count, len(RESOURCES), blocks), np.nan)
    for resource in range(len(RESOURCES)):
        for at in range(blocks):
            values = use.values[resource, at * each : (at + 1) * each]
            there = ~np.isnan(values)
            many = np.bincount(of, there.sum(axis=0), count)
            total = np.bincount(of, np.nansum(values, axis=0, dtype=np.float64), count)
            np.divide(total, many, out=means[:, resource, at], where=many > 0)
    return means


def grown(study: Study) -> str:
    """Which services grow, by how much a day, and how long the requests of now will hold."""
    found = study.frames.get(GROWTH)
    if found is None or not found["grows"].any():
        return ""
    rows = found.filter("grows").sort("growth_per_day_share", descending=True, maintain_order=True)
    names = rows["service"].unique(maintain_order=True).to_list()
    told = [_one(study, rows.filter(service=name)) for name in names[:_DESCRIBED]]
    more = names[_DESCRIBED:]
    others = [f"{len(more):,} more: {few(more)}"] if more else []
    days = (study.about["facts"]["learned_ms"] + study.about["facts"]["judged_ms"]) / MS_PER_DAY
    doubt = (
        f" {duration(days * MS_PER_DAY)} cannot tell growth from weekdays that differ."
        if days < LEAST_DAYS
        else ""
    )
    return (
        "Not in the sum, as use grows, and no request of theirs is cut:"
        f" {'; '.join(told + others)}.{doubt}"
    )


def _one(study: Study, rows: pl.DataFrame) -> str:
    """``shop/feed grows by 10 % a day of CPU (9 to 11; at its request in 3 days)``."""
    parts = []
    for row in rows.sort("resource").to_dicts():
        share, low, high = (
            f"{100 * row[f'growth_per_day_share{end}']:.1f}" for end in ("", "_low", "_high")
        )
        parts.append(
            f"{share} % a day of {UNITS[row['resource']][0]} ({low} to {high}{_holds(study, row)})"
        )
    return f"{rows['service'][0]} grows by {listed(parts)}"


def _holds(study: Study, grows: Mapping[str, Any]) -> str:
    """How long the request of now is enough, if it goes on like that."""
    now = services(study, NOW).filter(service=grows["service"], resource=grows["resource"])
    asked, most = (
        (now[name][0] for name in ("request_now", "use_max")) if len(now) else (None, None)
    )
    if not asked or not most:
        return ""
    if most >= asked:
        return "; beyond its request already"
    days = math.log(asked / most) / math.log1p(grows["growth_per_day_share"])
    return "; at its request within a day" if days < 1 else f"; at its request in {days:,.0f} days"
