"""Services that use more from day to day: what was enough so far soon is not."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from tracekit.analysis.metrics import LEVEL
from tracekit.analysis.metrics.trends import LEAST_DAYS, WEEK, growth
from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.base.study import Study
from tracekit.base.units import MS_PER_DAY, MS_PER_HOUR
from tracekit.cluster.requests.given import NOW
from tracekit.sizing.requests.rows import services
from tracekit.sizing.use import RESOURCES, RecordedUse

#: The frame of a study that has it; studies of before have none.
GROWTH = "growth"
#: Who grew by less over the recorded time is not spoken of, however sure it is.
_LEAST_SHARE = 0.05
#: Hours of a day, each with a level of its own where there are too few days for a week.
_HOURS = 24
#: Use below this part of a service's mean counts as this part: its logarithm would be all there is.
_FLOOR_SHARE = 0.01


_SCHEMA: Mapping[str, Any] = {
    **dict.fromkeys(("service", "resource"), pl.String),
    **dict.fromkeys((f"growth_per_day_share{end}" for end in ("", "_low", "_high")), pl.Float64),
    "grows": pl.Boolean,
}


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
        schema=_SCHEMA,
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


def grown(study: Study) -> pl.DataFrame:
    """The rows of ``growth`` that grow, the fastest first, with how long requests of now hold.

    ``holds_ms`` is the time until the highest use of a container comes to what it requests now, if
    growth goes on; 0 where it is above that already, null where nothing is requested.
    """
    found = study.frames.get(GROWTH)
    rows = pl.DataFrame(schema=_SCHEMA) if found is None else found.filter("grows")
    now = services(study, NOW).select("service", "resource", "request_now", "use_max")
    room, grows = pl.col("request_now") / pl.col("use_max"), pl.col("growth_per_day_share")
    days = room.log() / grows.log1p()
    return (
        rows.join(now, on=["service", "resource"], how="left", maintain_order="left")
        .with_columns(holds_ms=pl.max_horizontal(days, 0.0) * MS_PER_DAY)
        .with_columns(holds_ms=pl.when(pl.col("request_now") > 0).then("holds_ms"))
        .drop("request_now", "use_max")
        .sort("growth_per_day_share", descending=True, maintain_order=True)
    )
