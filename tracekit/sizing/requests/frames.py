"""The frames of a study of requests: every service, and all services together."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.sizing.policy import Advice
from tracekit.sizing.requests.judge import KEPT, Judged, interval
from tracekit.sizing.use import RESOURCES, RecordedUse


def services_of(
    name: str,
    use: RecordedUse,
    advice: Advice,
    found: Judged,
    *,
    quantiles: FloatArray,
    risk_share: float,
    kept: BoolArray | None = None,
) -> pl.DataFrame:
    """The rows of a policy: every service that lived in the judged time, by resource.

    ``kept``, shape (services, 2), are those that would be at risk with less than they request.
    """
    lived = found.lived_ms.sum(axis=0)
    span = float(found.window_ms.sum())
    stay = np.zeros((len(use.services), len(RESOURCES)), dtype=bool) if kept is None else kept
    there = np.flatnonzero((lived > 0) | (found.steps.sum(axis=(0, 2)) > 0))
    frames = []
    for at, (resource, unit) in enumerate(RESOURCES):
        steps, above, excess, limited, beyond, asked, now, stated = (
            one[:, there, at].sum(axis=0)
            for one in (found.steps, found.above, found.excess, found.limited, found.beyond,
                        found.asked, found.asked_now, found.stated_now)
        )  # fmt: skip
        none = np.full(len(there), np.nan)
        lower, upper = (
            none if one is None else one[there, at] for one in (advice.lower, advice.upper)
        )
        share = _ratio(above, steps)
        frames.append(
            pl.DataFrame(
                {
                    "policy": name,
                    "service": [use.services[one] for one in there],
                    "resource": resource,
                    "unit": unit,
                    "containers": lived[there] / span,
                    "request_now": np.where(stated > 0, _ratio(stated, lived[there]), np.nan),
                    "reserved_now": np.where(now > 0, _ratio(now, lived[there]), np.nan),
                    "reserved_then": np.where(asked > 0, _ratio(asked, lived[there]), np.nan),
                    "recommended": advice.request[there, at],
                    "lower": lower,
                    "upper": upper,
                    "freed": (now - asked) / span,
                    "use_p50": quantiles[there, at, 0],
                    "use_p95": quantiles[there, at, 1],
                    "use_max": quantiles[there, at, 2],
                    "judged_container_steps": steps.astype(np.int64),
                    "above_share": share,
                    "excess_mean": _ratio(excess, above),
                    "excess_max": np.where(steps > 0, found.most[there, at], np.nan),
                    "beyond_limit_share": _ratio(beyond, limited),
                    "at_risk": np.nan_to_num(share) > risk_share,
                    KEPT: stay[there, at],
                }
            ).with_columns(pl.selectors.float().fill_nan(None))
        )
    return pl.concat(frames).sort("service", "resource", maintain_order=True)


def totals_of(name: str, found: Judged, services: pl.DataFrame, seed: int) -> pl.DataFrame:
    """A policy's rows over all services."""
    rows = []
    for at, (resource, unit) in enumerate(RESOURCES):
        mine = services.filter(policy=name, resource=resource)
        steps, above, excess, limited, beyond, asked, now = (
            one[:, :, at].sum(axis=1)
            for one in (found.steps, found.above, found.excess, found.limited, found.beyond,
                        found.asked, found.asked_now)
        )  # fmt: skip
        freed_low, freed_high = interval(now - asked, found.window_ms, seed)
        above_low, above_high = interval(above, steps, seed)
        span = found.window_ms.sum()
        rows.append(
            {
                "policy": name,
                "resource": resource,
                "unit": unit,
                "requested_now": now.sum() / span,
                "requested": asked.sum() / span,
                "freed": (now - asked).sum() / span,
                "freed_low": freed_low,
                "freed_high": freed_high,
                "above_share": _one(above, steps),
                "above_share_low": above_low,
                "above_share_high": above_high,
                "excess_mean": _one(excess, above),
                "excess_max": mine["excess_max"].max(),
                "beyond_limit_share": _one(beyond, limited),
                "services": mine.height,
                "services_at_risk": int(mine["at_risk"].sum()),
            }
        )
    return pl.DataFrame(rows, schema=TOTALS)


TOTALS: Mapping[str, Any] = {
    **dict.fromkeys(("policy", "resource", "unit"), pl.String),
    **dict.fromkeys(
        ("requested_now", "requested", "freed", "freed_low", "freed_high", "above_share",
         "above_share_low", "above_share_high", "excess_mean", "excess_max", "beyond_limit_share"),
        pl.Float64,
    ),
    **dict.fromkeys(("services", "services_at_risk"), pl.Int64),
}  # fmt: skip


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    found = np.full(len(above), np.nan)
    np.divide(above, below, out=found, where=below > 0)
    return found


def _one(above: FloatArray, below: FloatArray) -> float | None:
    return float(above.sum() / below.sum()) if below.sum() > 0 else None
