"""Rows of a study of requests: services, totals, and growth of use."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from tracekit.analysis.metrics import LEVEL
from tracekit.analysis.metrics.load import LEAST_DAYS, WEEK, growth
from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.base.study import Study
from tracekit.base.units import BYTES_PER_GIB, MS_PER_DAY, MS_PER_HOUR
from tracekit.cluster.requests import NOW, SERVICES, SUBJECT
from tracekit.sizing.use import RESOURCES, RecordedUse

#: The title, the shown unit and the amount of that unit, by resource.
UNITS: Mapping[str, tuple[str, str, float]] = {
    "cpu": ("CPU", "cores", 1.0),
    "memory": ("memory", "GiB", float(BYTES_PER_GIB)),
}


def totals(study: Study, policy: str = "") -> Mapping[str, Mapping[str, Any]]:
    """Return a policy's row of the frame ``policies`` by resource; '' is the recommended policy."""
    rows = study.frames["policies"].filter(policy=policy or _subject(study)).to_dicts()
    return {one["resource"]: one for one in rows}


def _subject(study: Study) -> str:
    return str(study.about[SUBJECT])


def measured(study: Study) -> list[str]:
    """Return the resources whose requests could be judged by recorded use."""
    return [name for name, one in totals(study, NOW).items() if one["above_share"] is not None]


def amount(value: float | None, resource: str) -> str:
    """Return cores, or bytes as GiB, as text of about three digits without a unit; '-' for None."""
    if value is None:
        return "-"
    shown = value / UNITS[resource][2]
    size = abs(shown)
    digits = 0 if size >= 100 or not size else 1 if size >= 10 else 2 if size >= 1 else 3
    text = f"{shown:,.{digits}f}"
    return text.removeprefix("-") if not float(text.replace(",", "")) else text


def services(study: Study, policy: str = "") -> pl.DataFrame:
    """Return a policy's rows of the frame ``services``; '' is the recommended policy."""
    return study.frames[SERVICES].filter(policy=policy or _subject(study))


#: A change below this share of all requests is a rounding error.
_LITTLE = 1e-6


def by_change(study: Study) -> pl.DataFrame:
    """Return the recommended policy's rows whose reserved amount changes, the largest change first.

    Changes are compared as shares of all requests of the resource.
    """
    rows = services(study).filter(pl.col("resource").is_in(measured(study)))
    whole = {name: _whole(one) for name, one in totals(study).items()}
    part = pl.col("freed").abs() / pl.col("resource").replace_strict(whole)
    return rows.filter(part > _LITTLE).sort(
        part, "service", "resource", descending=[True, False, False], maintain_order=True
    )


def is_within_risk(study: Study) -> bool:
    """Return whether the recommended policy's highest ``above_share`` is at most ``risk_share``."""
    shares = [one["above_share"] or 0.0 for one in totals(study).values()]
    return max(shares) <= float(study.about["risk_share"])


def changed_of(study: Study, name: str) -> tuple[pl.Series, pl.Series]:
    """Return the amounts of resource ``name`` that services free (> 0), and that they add (< 0)."""
    total = totals(study)[name]
    least = _LITTLE * _whole(total)
    change = services(study).filter(pl.col("resource") == name)["freed"]
    return change.filter(change > least), change.filter(change < -least)


def _whole(total: Mapping[str, Any]) -> float:
    """The larger sum of requests of a resource, now or recommended, for shares."""
    return max(total["requested_now"], total["requested"]) or 1.0


def over_reserved(study: Study) -> pl.DataFrame:
    """Return rows whose reserved amount is above the recommended request, the worst first.

    The reserved amount is ``reserved_then``. The worst row has the largest difference over all its
    containers, as a share of all present requests of the resource.
    """
    beyond = pl.col("reserved_then") - pl.col("recommended")
    rows = services(study).filter(beyond > _LITTLE * pl.col("reserved_then"))
    whole = {name: one["requested_now"] or 1.0 for name, one in totals(study, NOW).items()}
    part = beyond * pl.col("containers") / pl.col("resource").replace_strict(whole)
    return rows.sort(part, descending=True, maintain_order=True)


def at_risk(study: Study) -> pl.DataFrame:
    """Return the rows of services whose use exceeds the request too often, the worst first."""
    return (
        services(study)
        .filter("at_risk")
        .sort("above_share", "service", descending=[True, False], maintain_order=True)
    )


# Services whose use grows from day to day.

#: The name of the frame in a study.
GROWTH = "growth"
#: The least growth over the recorded time that counts.
_LEAST_SHARE = 0.05
#: The season of hours of a day, for a record that is too short for the season of a week.
_HOURS = 24
#: Use below this part of a service's mean counts as this part, to bound its logarithm.
_FLOOR_SHARE = 0.01


_SCHEMA: Mapping[str, Any] = {
    **dict.fromkeys(("service", "resource"), pl.String),
    **dict.fromkeys((f"growth_per_day_share{end}" for end in ("", "_low", "_high")), pl.Float64),
    "grows": pl.Boolean,
}


def growth_of(use: RecordedUse) -> FloatArray:
    """Return how much the mean use of a service's container grows in a day, as a share.

    All of the recorded time counts. The intervals hold for all services together, so that none of a
    hundred services without growth is likely to be named. NaN for a record of less than two days,
    or for a missing hour.

    Returns
    -------
    float64, shape (services, 2, 3)
        By resource the growth, and the lower and upper limits of its interval.
    """
    weeks = _span_ms(use) >= LEAST_DAYS * MS_PER_DAY
    block_ms, season = (MS_PER_DAY, WEEK) if weeks else (MS_PER_HOUR, _HOURS)
    means = _block_means(use, block_ms)
    whole = np.isfinite(means).all(axis=-1) & (means.sum(axis=-1) > 0)
    daily = np.full((*means.shape[:2], 3), np.nan)
    if means.shape[-1] >= 2 * season and whole.any():
        floor = _FLOOR_SHARE * means[whole].mean(axis=-1, keepdims=True)
        logs = np.log(np.maximum(means[whole], floor))
        level = 1 - (1 - LEVEL) / int(whole.sum())
        daily[whole] = np.expm1(growth(logs, season, level) / (WEEK if weeks else 1))
    return daily


def growing(use: RecordedUse, daily: FloatArray) -> BoolArray:
    """Return where the lower limit of growth is 5 % or more over the record, (services, 2).

    Parameters
    ----------
    daily : float64, shape (services, 2, 3)
        The growth of ``growth_of``.
    """
    return np.asarray(daily[..., 1] * _span_ms(use) / MS_PER_DAY >= _LEAST_SHARE)


def frame_of(use: RecordedUse, daily: FloatArray) -> pl.DataFrame:
    """Return the frame ``growth``: a row for each service and resource with a known growth."""
    grows = growing(use, daily)
    return pl.DataFrame(
        [
            {
                "service": use.services[service],
                "resource": name,
                "growth_per_day_share": daily[service, at, 0],
                "growth_per_day_share_low": daily[service, at, 1],
                "growth_per_day_share_high": daily[service, at, 2],
                "grows": bool(grows[service, at]),
            }
            for service in range(len(use.services))
            for at, (name, _) in enumerate(RESOURCES)
            if np.isfinite(daily[service, at, 0])
        ],
        schema=_SCHEMA,
    )


def _span_ms(use: RecordedUse) -> int:
    return len(use.times_ms) * use.step_ms


def _block_means(use: RecordedUse, block_ms: int) -> FloatArray:
    """The mean use of a service's container in each whole block, shape (services, 2, blocks)."""
    each = block_ms // use.step_ms
    blocks = len(use.times_ms) // each if each else 0
    of, count = use.service[use.measured], len(use.services)
    means = np.full((count, len(RESOURCES), blocks), np.nan)
    for resource in range(len(RESOURCES)):
        for at in range(blocks):
            values = use.values[resource, at * each : (at + 1) * each]
            many = np.bincount(of, (~np.isnan(values)).sum(axis=0), count)
            total = np.bincount(of, np.nansum(values, axis=0, dtype=np.float64), count)
            np.divide(total, many, out=means[:, resource, at], where=many > 0)
    return means


def grown(study: Study) -> pl.DataFrame:
    """Return the rows of the frame ``growth`` whose use grows, the fastest first.

    The added column ``holds_ms`` is the time until the highest use of a container reaches its
    present request, if growth goes on. It is 0 for a use above the request, null without a request.
    """
    rows = study.frames[GROWTH].filter("grows")
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
