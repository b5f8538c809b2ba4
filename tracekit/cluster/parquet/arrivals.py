"""When the containers of a folder arrive: as recorded, or over a span if all is placed anew."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.constants import STEP_MS
from tracekit.cluster.series import check_steps, infer_step_ms, over_span
from tracekit.cluster.sized.times import Measured, axis_from, there_from


@dataclass(frozen=True, kw_only=True)
class Arrived:
    """Containers in order of arrival.

    Parameters
    ----------
    containers : DataFrame
        With ``arrival_ms`` as it is in the replay.
    exchangeable : bool, shape (containers,)
        Whose time of arrival only the span gave it.
    settled_ms : int
        When all that was there at the beginning has arrived.
    """

    containers: pl.DataFrame
    exchangeable: BoolArray
    settled_ms: int


def as_recorded(containers: pl.DataFrame, start_ms: int) -> Arrived:
    """The containers when they came."""
    none = np.zeros(containers.height, dtype=np.bool_)
    return Arrived(containers=containers, exchangeable=none, settled_ms=start_ms)


def placed_anew(
    containers: pl.DataFrame, start_ms: int, span_ms: int, rng: np.random.Generator
) -> Arrived:
    """The containers, of which those that were there at the beginning arrive over a span.

    Each at a slot of its own, in an order that is drawn where production placed any of them, and in
    theirs otherwise: so it is in a store. One that would depart before its slot comes at once.
    """
    arrival = containers["arrival_ms"].to_numpy().astype(np.int64)
    leaves = containers["departure_ms"].cast(pl.Float64).fill_null(np.inf).to_numpy()
    waiting = np.flatnonzero(arrival <= start_ms)
    if len(waiting) < 2:
        return as_recorded(containers, start_ms)
    if not span_ms:  # all of them at once, as they are listed
        at_once = (arrival <= start_ms) & (leaves > start_ms)
        return Arrived(containers=containers, exchangeable=at_once, settled_ms=start_ms)
    if containers["node"].gather(waiting).is_not_null().any():
        waiting = waiting[rng.permutation(len(waiting))]
    made, exchangeable = over_span(arrival, leaves, waiting, start_ms=start_ms, span_ms=span_ms)
    first = np.concatenate([waiting, np.flatnonzero(arrival > start_ms)])
    order = first[np.argsort(made[first], kind="stable")]
    frame = containers.with_columns(pl.Series("arrival_ms", made))[order]
    return Arrived(
        containers=frame,
        exchangeable=exchangeable[order],
        settled_ms=int(made[waiting].max()),
    )


def lives(
    containers: pl.DataFrame, usage: pl.DataFrame, step_ms: int, span_ms: int
) -> tuple[pl.DataFrame, int, IntArray, int]:
    """Containers as recorded, the step, the sampling times and the span, by the rule of a store."""
    measured = _measured(usage)
    arrival = containers["arrival_ms"].to_numpy()
    leaves = containers["departure_ms"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    first = int(arrival.min()) if len(arrival) else 0
    start = measured.first_ms if measured else first
    if measured is not None:
        check_steps(min(first, start), measured.last_ms, measured.step_ms)
    rows = there_from(start, leaves) if len(arrival) else np.arange(0)
    step_ms, times, span_ms = axis_from(
        start, arrival[rows], leaves[rows], measured, assumed=(span_ms, step_ms)
    )
    left = containers[rows].with_columns(pl.col("arrival_ms").clip(start))
    return left, step_ms, times, span_ms


def _measured(usage: pl.DataFrame) -> Measured | None:
    times = usage["time_ms"].to_numpy()
    if not len(times):
        return None
    step_ms = infer_step_ms(usage, "container") or STEP_MS
    return Measured(first_ms=int(times.min()), last_ms=int(times.max()), step_ms=step_ms)
