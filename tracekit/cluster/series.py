"""Time axes and series: the step, stray timestamps, gaps."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tracekit.base.errors import TracekitError

#: More sampling steps than a year of half-minutes are a mistake in a time, not a trace.
MOST_STEPS = 2_000_000


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A regular time axis.

    Parameters
    ----------
    times_ms : int64, shape (steps,)
    stray_rows : int
        Number of rows left out because their timestamp is far from all others.
    """

    step_ms: int
    times_ms: IntArray
    stray_rows: int

    @property
    def end_ms(self) -> int:
        """End of the last step."""
        return int(self.times_ms[-1]) + self.step_ms

    def steps_of(self, times: IntArray) -> IntArray:
        """Return the step of each time, -1 for a time outside of the axis."""
        steps = (times - self.times_ms[0]) // self.step_ms
        inside = (steps >= 0) & (steps < len(self.times_ms))
        return np.asarray(np.where(inside, steps, -1))


#: How often each gap between samples was met: gap, len.
Gaps = pl.DataFrame


def infer_step_ms(frame: pl.DataFrame, entity: str) -> int | None:
    """Return the commonest positive gap in milliseconds between an entity's times.

    ``entity`` names the column with the entity's key. The result is None if there are too few gaps;
    see ``commonest``.
    """
    return commonest(gaps_of(frame, entity), frame[entity].n_unique())


def gaps_of(frame: pl.DataFrame, entity: str) -> Gaps:
    """Return how often each positive gap between successive times of an entity occurs.

    ``entity`` names the column with the entity's key. The result has the columns ``gap``, in
    milliseconds, and ``len``, the number of such gaps.
    """
    return (
        frame.select(entity, "time_ms")
        .unique()
        .sort(entity, "time_ms")
        .select(gap=pl.col("time_ms").diff().over(entity))
        .filter(pl.col("gap") > 0)
        .group_by("gap")
        .len()
    )


def commonest(gaps: Gaps, entities: int) -> int | None:
    """Return the gap that occurs most often; a tie goes to the smaller gap.

    Return None if there are fewer gaps than entities: so few samples do not show the step.
    """
    ordered = gaps.sort("len", "gap", descending=[True, False])
    enough = int(gaps["len"].sum()) >= entities
    return int(ordered["gap"][0]) if gaps.height and enough else None


def over_span(
    arrival_ms: IntArray,
    leaves_ms: IntArray | FloatArray,
    waiting: IntArray,
    *,
    start_ms: int,
    span_ms: int,
) -> tuple[IntArray, BoolArray]:
    """Return times of arrival that spread the containers in ``waiting`` evenly over a span.

    Each of these containers gets a time, in the order of ``waiting``. One that departs before this
    time keeps its old one. The second array, shape (containers,), says which containers may swap
    times: those that still run after the span.

    Parameters
    ----------
    waiting : int64
        Positions of the containers that were there at the beginning, ``start_ms``.
    """
    made, exchangeable = arrival_ms.copy(), np.zeros(len(arrival_ms), dtype=np.bool_)
    slots = start_ms + np.arange(len(waiting)) * span_ms // max(len(waiting), 1)
    made[waiting] = np.where(slots < leaves_ms[waiting], slots, arrival_ms[waiting])
    exchangeable[waiting] = leaves_ms[waiting] > start_ms + span_ms
    return made, exchangeable


def steps_between(first_ms: int, last_ms: int, step_ms: int) -> IntArray:
    """Return every sampling time from the first to the last, shape (steps,).

    Raises TracekitError as ``check_steps`` does.
    """
    check_steps(first_ms, last_ms, step_ms)
    return np.arange(first_ms, last_ms + 1, step_ms, dtype=np.int64)


def settled_steps(times_ms: IntArray, settled_ms: int) -> IntArray:
    """Return the steps from ``settled_ms`` on, or all steps if there are none."""
    settled = np.flatnonzero(times_ms >= settled_ms)
    return settled if len(settled) else np.arange(len(times_ms))


def check_steps(first_ms: int, last_ms: int, step_ms: int) -> None:
    """Raise TracekitError for more steps than ``MOST_STEPS``.

    The usual cause is a table that mixes times since 1970 with times since the start.
    """
    steps = (last_ms - first_ms) // step_ms + 1
    if steps > MOST_STEPS:
        raise TracekitError(
            f"times go from {first_ms} to {last_ms} ms, which is {steps:,} steps of {step_ms} ms;"
            f" at most {MOST_STEPS:,} are replayed",
            hint="all times count from one moment, in milliseconds; look for one that does not",
        )


def axis_of(
    tables: Sequence[pl.DataFrame], step_ms: int, *, gap_steps: int, stray_share: float
) -> Axis:
    """Return the time axis of several tables, without stray timestamps.

    A table has the columns ``time_ms`` and ``rows``, the number of rows at that time. Times are
    split into stretches wherever a gap exceeds ``gap_steps`` steps. The axis covers the stretch
    with the most rows, and every other one with at least ``stray_share`` of the rows of some table.
    """
    counted = pl.concat([_shares(times, at) for at, times in enumerate(tables)])
    if not counted.height:
        raise TracekitError("no usage rows to replay", hint="see tracekit info STORE")
    per_time = counted.group_by("time_ms").agg(pl.col("rows").sum(), pl.col("share").max())
    per_time = per_time.sort("time_ms").with_columns(
        stretch=(pl.col("time_ms").diff() > gap_steps * step_ms).fill_null(value=False).cum_sum()
    )
    stretches = per_time.group_by("stretch").agg(pl.col("rows").sum())
    main = stretches.sort("rows", "stretch", descending=[True, False])["stretch"][0]
    share = _largest_share(counted, per_time)
    chosen = share.filter((pl.col("stretch") == main) | (pl.col("share") >= stray_share))["stretch"]
    times = per_time.filter(pl.col("stretch").is_in(chosen.implode()))
    first, last = int(times["time_ms"][0]), int(times["time_ms"][-1])
    outside = per_time.filter(~pl.col("time_ms").is_between(first, last))
    return Axis(
        step_ms=step_ms,
        times_ms=steps_between(first, last, step_ms),
        stray_rows=int(outside["rows"].sum()),
    )


def _shares(times: pl.DataFrame, table: int) -> pl.DataFrame:
    return times.select(
        pl.col("time_ms").cast(pl.Int64),
        pl.col("rows").cast(pl.Int64),
        share=pl.col("rows") / max(int(times["rows"].sum()), 1),
        table=pl.lit(table),
    )


def _largest_share(counted: pl.DataFrame, per_time: pl.DataFrame) -> pl.DataFrame:
    return (
        counted.join(per_time.select("time_ms", "stretch"), on="time_ms")
        .group_by("stretch", "table")
        .agg(pl.col("share").sum())
        .group_by("stretch")
        .agg(pl.col("share").max())
    )


def fill_gaps(values: Float32Array) -> None:
    """Fill each gap in place with the last known value, and gaps at the start with the first one.

    Parameters
    ----------
    values : float32, shape (resources, steps, entities)
        NaN is a gap; an entity without any value stays NaN.
    """
    steps = [values[:, step] for step in range(values.shape[1])]
    for earlier, later in itertools.pairwise(steps):
        np.copyto(later, earlier, where=np.isnan(later))
    for later, earlier in itertools.pairwise(reversed(steps)):
        np.copyto(earlier, later, where=np.isnan(earlier))
