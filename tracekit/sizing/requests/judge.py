"""Judges requests by recorded use, window by window.

A container-step is a step at which a container has a sample. All container-steps have the same
weight, so that a container that lives long has much weight. Freed amounts are weighted by the time
that containers lived.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tracekit.analysis.metrics.correlation import bootstrap_interval, resampling_matrix
from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.study import Study
from tracekit.sizing.policies import Advice
from tracekit.sizing.requests.rows import services
from tracekit.sizing.use import RESOURCES, RecordedUse

#: The number of windows of the judged time, over which intervals are computed; at least five.
WINDOWS = 6
_REPLICATES = 2_000


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Requests compared with recorded use, as sums by window, service and resource (CPU, memory).

    A container-step is a step at which a container has a sample.

    Parameters
    ----------
    steps, above : float64, shape (windows, services, 2)
        Numbers of container-steps, and of those with a use above the request.
    excess : float64, shape (windows, services, 2)
        The sum of use above requests.
    most : float64, shape (services, 2)
        The largest use above a request.
    limited, beyond : float64, shape (windows, services, 2)
        Numbers of container-steps with a limit, and of those with a use above the limit if it were
        changed in proportion to the request.
    requested, requested_now : float64, shape (windows, services, 2)
        Amounts reserved with the recommendation, and now, times the ms that containers lived. Init
        containers and overhead count.
    stated_now : float64, shape (windows, services, 2)
        Present requests times the ms that containers lived.
    lived_ms : float64, shape (windows, services)
    window_ms : float64, shape (windows,)
    """

    steps: FloatArray
    above: FloatArray
    excess: FloatArray
    most: FloatArray
    limited: FloatArray
    beyond: FloatArray
    requested: FloatArray
    requested_now: FloatArray
    stated_now: FloatArray
    lived_ms: FloatArray
    window_ms: FloatArray


def windows_of(use: RecordedUse) -> list[slice]:
    """Split the steps into ``WINDOWS`` slices, or fewer, whose lengths differ by at most a step."""
    bounds = np.linspace(0, len(use.times_ms), min(WINDOWS, len(use.times_ms)) + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(bounds)]


def judged(use: RecordedUse, recommended: FloatArray) -> Judged:
    """Compare recommended requests of services with recorded use.

    Parameters
    ----------
    recommended : float64, shape (services, 2)
        The request of a pod's containers together. For NaN each container keeps its present
        request, or counts with 0 if it has none.
    """
    windows = windows_of(use)
    now, reserved_now = np.nan_to_num(use.request), np.nan_to_num(use.reserved)
    own = recommended[use.service]
    request = np.where(np.isnan(own), now, own)
    reserved = np.where(np.isnan(own), reserved_now, use.fixed.reserved(request))
    moved = np.divide(request, now, out=np.ones_like(now), where=now > 0)
    shape = (len(windows), len(use.services), len(RESOURCES))
    sums = {
        name: np.zeros(shape)
        for name in ("steps", "above", "excess", "limited", "beyond", "requested", "requested_now",
                     "stated_now")
    }  # fmt: skip
    most, lived = np.zeros(shape[1:]), np.zeros(shape[:2])
    length = np.zeros(len(windows))
    for at, window in enumerate(windows):
        steps = use.times_ms[window]
        begin, end = int(steps[0]), int(steps[-1]) + use.step_ms
        alive = use.alive_ms(begin, end)
        length[at], lived[at] = end - begin, _by_service(use.service, alive, shape[1])
        for resource in range(len(RESOURCES)):
            column = (at, slice(None), resource)
            for name, amounts in (
                ("requested", reserved), ("requested_now", reserved_now), ("stated_now", now),
            ):  # fmt: skip
                lasting = alive * amounts[:, resource]
                sums[name][column] = _by_service(use.service, lasting, shape[1])
            of_window = _of_window(use, window, resource, request[:, resource], use.limit * moved)
            for name, values in of_window.items():
                if name == "most":
                    np.maximum.at(most[:, resource], use.service[use.measured], values)
                else:
                    sums[name][column] = _by_service(use.service[use.measured], values, shape[1])
    return Judged(**sums, most=most, lived_ms=lived, window_ms=length)


def _of_window(
    use: RecordedUse, window: slice, resource: int, request: FloatArray, limit: FloatArray
) -> dict[str, FloatArray]:
    """Sums of one resource over the steps of a window, for each measured container."""
    values = use.values[resource, window]
    own, most = request[use.measured], limit[use.measured, resource]
    sampled = ~np.isnan(values)
    over = np.maximum(np.where(sampled, values - own, 0.0), 0.0)
    capped = sampled & ~np.isnan(most)
    return {
        "steps": sampled.sum(axis=0),
        "above": (over > 0).sum(axis=0),
        "excess": over.sum(axis=0),
        "most": over.max(axis=0, initial=0.0),
        "limited": capped.sum(axis=0),
        "beyond": (capped & (values > most)).sum(axis=0),
    }


def _by_service(service: IntArray, values: FloatArray | IntArray, count: int) -> FloatArray:
    return np.bincount(service, values, count).astype(np.float64)


def interval(total: FloatArray, weight: FloatArray, seed: int) -> tuple[float | None, float | None]:
    """Return the bootstrap interval of ``sum(total) / sum(weight)``; None for too few windows."""
    rng = np.random.default_rng([seed, len(total)])
    drawn = resampling_matrix(rng, len(total), _REPLICATES)
    low, high, _ = bootstrap_interval(total[:, None], weight[:, None], drawn)[:, 0].tolist()
    return (None, None) if np.isnan(low) else (low, high)


#: The column of a study for requests that stay as they are, as a lower one would be at risk.
KEPT = "kept_at_risk"


class JudgedRequests(NamedTuple):
    """Requests without risky cuts, their judgement, and where (``staying``) a cut was undone."""

    request: FloatArray
    judgement: Judged
    staying: BoolArray


def without_risky_cuts(
    request: FloatArray, rest: RecordedUse, present: FloatArray, risk_share: float
) -> JudgedRequests:
    """Undo recommended cuts that use exceeds too often, and judge the resulting requests.

    A cut is a recommendation below the present request. It becomes NaN, i.e. the present request
    stays, if use exceeds it in more than ``risk_share`` of the container-steps. A service with its
    present request may be at risk, too.

    Parameters
    ----------
    request : float64, shape (services, 2)
        Recommended requests; NaN leaves the present request.
    present : float64, shape (services, 2)
        Present requests.
    """
    first = judged(rest, request)
    staying = (first.above.sum(axis=0) > risk_share * first.steps.sum(axis=0)) & (request < present)
    if not staying.any():
        return JudgedRequests(request, first, staying)
    request = np.where(staying, np.nan, request)
    return JudgedRequests(request, judged(rest, request), staying)


def kept_at_risk(study: Study) -> pl.DataFrame:
    """Return rows whose present request stays, as use often exceeds a lower one; worst first."""
    return services(study).filter(KEPT).sort("above_share", descending=True, maintain_order=True)


def services_of(
    name: str,
    use: RecordedUse,
    advice: Advice,
    judgement: Judged,
    *,
    quantiles: FloatArray,
    risk_share: float,
    staying: BoolArray,
) -> pl.DataFrame:
    """Return the rows of one policy in the frame ``services``, by service and resource.

    Parameters
    ----------
    staying : bool, shape (services, 2)
        Services that would be at risk with less than their present request.
    """
    lived = judgement.lived_ms.sum(axis=0)
    span = float(judgement.window_ms.sum())
    some = np.flatnonzero((lived > 0) | (judgement.steps.sum(axis=(0, 2)) > 0))
    frames = []
    for at, (resource, unit) in enumerate(RESOURCES):
        steps, above, excess, limited, beyond, reserved, now, stated = (
            one[:, some, at].sum(axis=0)
            for one in (
                judgement.steps, judgement.above, judgement.excess, judgement.limited,
                judgement.beyond, judgement.requested, judgement.requested_now,
                judgement.stated_now,
            )
        )  # fmt: skip
        share = _ratio(above, steps)
        frames.append(
            pl.DataFrame(
                {
                    "policy": name,
                    "service": [use.services[one] for one in some],
                    "resource": resource,
                    "unit": unit,
                    "containers": lived[some] / span,
                    "request_now": np.where(stated > 0, _ratio(stated, lived[some]), np.nan),
                    "reserved_now": np.where(now > 0, _ratio(now, lived[some]), np.nan),
                    "reserved_then": np.where(reserved > 0, _ratio(reserved, lived[some]), np.nan),
                    "recommended": advice.request[some, at],
                    "lower": np.nan if advice.lower is None else advice.lower[some, at],
                    "upper": np.nan if advice.upper is None else advice.upper[some, at],
                    "freed": (now - reserved) / span,
                    "use_p50": quantiles[some, at, 0],
                    "use_p95": quantiles[some, at, 1],
                    "use_max": quantiles[some, at, 2],
                    "judged_container_steps": steps.astype(np.int64),
                    "above_share": share,
                    "excess_mean": _ratio(excess, above),
                    "excess_max": np.where(steps > 0, judgement.most[some, at], np.nan),
                    "beyond_limit_share": _ratio(beyond, limited),
                    "at_risk": np.nan_to_num(share) > risk_share,
                    KEPT: staying[some, at],
                }
            ).with_columns(pl.selectors.float().fill_nan(None))
        )
    return pl.concat(frames).sort("service", "resource", maintain_order=True)


def totals_of(name: str, judgement: Judged, services: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Return the rows of one policy in the frame ``policies``: one for each resource."""
    rows = []
    for at, (resource, unit) in enumerate(RESOURCES):
        mine = services.filter(policy=name, resource=resource)
        steps, above, excess, limited, beyond, reserved, now = (
            one[:, :, at].sum(axis=1)
            for one in (
                judgement.steps, judgement.above, judgement.excess, judgement.limited,
                judgement.beyond, judgement.requested, judgement.requested_now,
            )
        )  # fmt: skip
        freed_low, freed_high = interval(now - reserved, judgement.window_ms, seed)
        above_low, above_high = interval(above, steps, seed)
        span = judgement.window_ms.sum()
        rows.append(
            {
                "policy": name,
                "resource": resource,
                "unit": unit,
                "requested_now": now.sum() / span,
                "requested": reserved.sum() / span,
                "freed": (now - reserved).sum() / span,
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
    return np.asarray(np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0))


def _one(above: FloatArray, below: FloatArray) -> float | None:
    return float(above.sum() / below.sum()) if below.sum() > 0 else None
