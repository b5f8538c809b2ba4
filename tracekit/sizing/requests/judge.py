"""How requests would have done: recorded use against them, window by window.

A container-step is a step at which a container has a sample; each counts the same, so that what
lives long weighs much. What is freed is weighed by how long containers lived.
"""

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from tracekit.analysis.metrics.correlation import bootstrap_interval, resampling_matrix
from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.study import Study
from tracekit.sizing.requests.rows import services
from tracekit.sizing.use import RESOURCES, RecordedUse

#: The judged time is cut into so many windows, of which intervals are; a mean needs five at least.
WINDOWS = 6
_REPLICATES = 2_000


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The judgement of requests; sums, by window, service and resource unless stated.

    Parameters
    ----------
    steps, above : float64, shape (windows, services, 2)
        Container-steps, and those with more in use than is requested.
    excess : float64, likewise
        By how much, summed.
    most : float64, shape (services, 2)
        By how much at most.
    limited, beyond : float64, shape (windows, services, 2)
        Container-steps of those that have a limit, and those that would use more than it, were it
        moved as the request is.
    asked, asked_now : float64, likewise
        What is reserved, and what is reserved now, each times the ms that containers live: init
        containers and overhead count, in which no container-step can be.
    stated_now : float64, likewise
        What containers ask for now, likewise times the ms that they live.
    lived_ms : float64, shape (windows, services)
    window_ms : float64, shape (windows,)
    """

    steps: FloatArray
    above: FloatArray
    excess: FloatArray
    most: FloatArray
    limited: FloatArray
    beyond: FloatArray
    asked: FloatArray
    asked_now: FloatArray
    stated_now: FloatArray
    lived_ms: FloatArray
    window_ms: FloatArray


def windows_of(use: RecordedUse) -> list[slice]:
    """Windows of steps, as long as each other but for one step; fewer where there are few."""
    bounds = np.linspace(0, len(use.times_ms), min(WINDOWS, len(use.times_ms)) + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(bounds)]


def judged(use: RecordedUse, recommended: FloatArray) -> Judged:
    """The judgement of services' requests on recorded use.

    Parameters
    ----------
    recommended : float64, shape (services, 2)
        What the containers of a pod ask for together. NaN leaves them what they request now; none
        at all counts as a request of nothing.
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
        for name in ("steps", "above", "excess", "limited", "beyond", "asked", "asked_now",
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
            for name, asked in (
                ("asked", reserved), ("asked_now", reserved_now), ("stated_now", now),
            ):  # fmt: skip
                sums[name][column] = _by_service(use.service, alive * asked[:, resource], shape[1])
            found = _of_window(use, window, resource, request[:, resource], use.limit * moved)
            for name, values in found.items():
                if name == "most":
                    np.maximum.at(most[:, resource], use.service[use.measured], values)
                else:
                    sums[name][column] = _by_service(use.service[use.measured], values, shape[1])
    return Judged(**sums, most=most, lived_ms=lived, window_ms=length)


def _of_window(
    use: RecordedUse, window: slice, resource: int, request: FloatArray, limit: FloatArray
) -> dict[str, FloatArray]:
    """Sums of one resource over the steps of a window, for each column of use."""
    values = use.values[resource, window]
    asked, most = request[use.measured], limit[use.measured, resource]
    there = ~np.isnan(values)
    over = np.maximum(np.where(there, values - asked, 0.0), 0.0)
    capped = there & ~np.isnan(most)
    return {
        "steps": there.sum(axis=0),
        "above": (over > 0).sum(axis=0),
        "excess": over.sum(axis=0),
        "most": over.max(axis=0, initial=0.0),
        "limited": capped.sum(axis=0),
        "beyond": (capped & (values > most)).sum(axis=0),
    }


def _by_service(service: IntArray, values: FloatArray | IntArray, count: int) -> FloatArray:
    return np.bincount(service, values, count).astype(np.float64)


def interval(total: FloatArray, weight: FloatArray, seed: int) -> tuple[float | None, float | None]:
    """Between which a ratio of sums over windows lies, windows being drawn; None with too few."""
    rng = np.random.default_rng([seed, len(total)])
    drawn = resampling_matrix(rng, len(total), _REPLICATES)
    low, high, _ = bootstrap_interval(total[:, None], weight[:, None], drawn)[:, 0].tolist()
    return (None, None) if np.isnan(low) else (low, high)


#: The column of a study that says which requests are kept; studies of before have none.
KEPT = "kept_at_risk"


class Spared(NamedTuple):
    """What is recommended where nobody at risk is cut, its judgement, and who was kept."""

    request: FloatArray
    found: Judged
    kept: BoolArray


def spared(request: FloatArray, rest: RecordedUse, asked: FloatArray, risk_share: float) -> Spared:
    """Leave a request as it is where a lower one is exceeded too often; the others stand.

    A single pass: who is kept is decided and judged on the same time, and what is kept may be at
    risk too.

    Parameters
    ----------
    request : float64, shape (services, 2)
        What is recommended; NaN keeps what is requested now.
    asked : float64, likewise
        What is requested now.
    """
    found = judged(rest, request)
    kept = (found.above.sum(axis=0) > risk_share * found.steps.sum(axis=0)) & (request < asked)
    if not kept.any():
        return Spared(request, found, kept)
    request = np.where(kept, np.nan, request)
    return Spared(request, judged(rest, request), kept)


def kept_at_risk(study: Study) -> pl.DataFrame:
    """Rows of which the request stays, as a lower one is exceeded too often; the worst first."""
    rows = services(study)
    if KEPT not in rows.columns:
        return rows.clear()
    return rows.filter(KEPT).sort("above_share", descending=True, maintain_order=True)
