"""What a study of requests holds, service by service and of all together."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from tracekit.analysis.metrics import LEVEL
from tracekit.analysis.metrics.load import LEAST_DAYS, WEEK, growth
from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.base.study import Study
from tracekit.base.units import BYTES_PER_GIB, MS_PER_DAY, MS_PER_HOUR
from tracekit.cluster.requests.given import NOW, SERVICES, SUBJECT
from tracekit.sizing.use import RESOURCES, RecordedUse

#: Resources by their name on screens, their unit there, and how many of ours are one of it.
UNITS: Mapping[str, tuple[str, str, float]] = {
    "cpu": ("CPU", "cores", 1.0),
    "memory": ("memory", "GiB", float(BYTES_PER_GIB)),
}


def totals(study: Study, policy: str = "") -> Mapping[str, Mapping[str, Any]]:
    """The totals of a policy by resource, of the one to follow without a choice."""
    rows = study.frames["policies"].filter(policy=policy or _subject(study)).to_dicts()
    return {one["resource"]: one for one in rows}


def _subject(study: Study) -> str:
    return str(study.about[SUBJECT])


def measured(study: Study) -> list[str]:
    """The resources whose use there is to judge by."""
    return [name for name, one in totals(study, NOW).items() if one["above_share"] is not None]


def amount(value: float | None, resource: str) -> str:
    """An amount in the unit of screens, without it: three digits, whole ones from 100 on."""
    if value is None:
        return "-"
    shown = value / UNITS[resource][2]
    size = abs(shown)
    digits = 0 if size >= 100 or not size else 1 if size >= 10 else 2 if size >= 1 else 3
    text = f"{shown:,.{digits}f}"
    return text.removeprefix("-") if not float(text.replace(",", "")) else text


def services(study: Study, policy: str = "") -> pl.DataFrame:
    """The rows of a policy, the one to follow without a choice."""
    return study.frames[SERVICES].filter(policy=policy or _subject(study))


#: A change below this share of all that is requested is rounding.
_LITTLE = 1e-6


def by_change(study: Study) -> pl.DataFrame:
    """The rows that change, first those that move most of all that is requested of a resource."""
    rows = services(study).filter(pl.col("resource").is_in(measured(study)))
    whole = {name: _whole(one) for name, one in totals(study).items()}
    part = pl.col("freed").abs() / pl.col("resource").replace_strict(whole)
    return rows.filter(part > _LITTLE).sort(
        part, "service", "resource", descending=[True, False, False], maintain_order=True
    )


def is_within_risk(study: Study) -> bool:
    """Whether the policy to follow keeps within the accepted risk by every resource."""
    found = totals(study).values()
    return max(one["above_share"] or 0.0 for one in found) <= float(study.about["risk_share"])


def changed_of(study: Study, name: str) -> tuple[pl.Series, pl.Series]:
    """What each service frees of a resource, and what each needs more (below 0)."""
    total = totals(study)[name]
    least = _LITTLE * _whole(total)
    change = services(study).filter(pl.col("resource") == name)["freed"]
    return change.filter(change > least), change.filter(change < -least)


def _whole(total: Mapping[str, Any]) -> float:
    """All that is requested of a resource, now or as recommended: shares are of that."""
    return max(total["requested_now"], total["requested"]) or 1.0


def over_reserved(study: Study) -> pl.DataFrame:
    """Rows of which more stays reserved than is recommended, what keeps most first."""
    beyond = pl.col("reserved_then") - pl.col("recommended")
    found = services(study).filter(beyond > _LITTLE * pl.col("reserved_then"))
    whole = {name: one["requested_now"] or 1.0 for name, one in totals(study, NOW).items()}
    part = beyond * pl.col("containers") / pl.col("resource").replace_strict(whole)
    return found.sort(part, descending=True, maintain_order=True)


def at_risk(study: Study) -> pl.DataFrame:
    """Services that use more than recommended too often, the worst first."""
    return (
        services(study)
        .filter("at_risk")
        .sort("above_share", "service", descending=[True, False], maintain_order=True)
    )


# Services that use more from day to day: what was enough so far soon is not.

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
