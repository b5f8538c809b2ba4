"""When the replay begins and ends, and when each container comes and goes in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.constants import STEP_MS
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact, remark
from tracekit.cluster.assumptions import Assumptions, SizedAssumptions
from tracekit.cluster.series import Axis, over_span, steps_between

#: Steps of a replay without recorded use, and as many more where jobs are short: of the time that
#: containers run, at most so many percent may fall between two.
_STEPS, _UNSEEN_PERCENT = 288, 10
#: Most steps of a replay whose step nobody set: a day of half-minutes.
_MOST_STEPS = 2_880
#: Steps that are replayed after the last arrival, where nothing else tells the end.
_STEPS_AFTER = 10


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The span of recorded use: its first and last time, and the usual step between samples."""

    first_ms: int
    last_ms: int
    step_ms: int


@dataclass(frozen=True, kw_only=True)
class Lives:
    """The times at which the containers of a replay arrive and depart, all in order of arrival.

    Parameters
    ----------
    times_ms : int64, shape (steps,)
        The sampling times of the replay.
    order : int64, shape (containers,)
        Each container's row in the table of containers.
    arrival_ms, departure_ms : int64, shape (containers,)
    at_start : bool, shape (containers,)
        Whether the container ran when the replay begins.
    exchangeable : bool, shape (containers,)
        Whether the container may swap its assumed time of arrival with others.
    settled_ms : int
        The time by which all containers in ``at_start`` have arrived, at once or over a span.
    over : int
        Number of containers left out because they departed before the beginning.
    assumed : bool
        Whether arrivals are assumed instead of recorded.
    moment : bool
        Whether the replay begins at the moment for which the source lists running containers.
    remarks : tuple of Fact
        Facts of the defaults that were assumed for these times.
    resolved : mapping
        The span of assumed arrivals as ``arrival_span_used_ms``; empty if arrivals are not spread.
    """

    times_ms: IntArray
    step_ms: int
    order: IntArray
    arrival_ms: IntArray
    departure_ms: IntArray
    at_start: BoolArray
    exchangeable: BoolArray
    settled_ms: int
    over: int
    assumed: bool = False
    moment: bool = False
    remarks: tuple[Fact, ...] = ()
    resolved: Mapping[str, object] = field(default_factory=dict)

    @property
    def begins_listed_ms(self) -> int | None:
        """The beginning of the replay if it is the moment of a list of containers; else None."""
        return int(self.times_ms[0]) if self.moment else None

    def due(self) -> tuple[IntArray, IntArray]:
        """Return the first step at which each container's use may be needed, and one past the last.

        An exchangeable container may arrive at any time, so its first step is 0.
        """
        start = np.searchsorted(self.times_ms, self.arrival_ms)
        end = np.searchsorted(self.times_ms, self.departure_ms)
        return np.where(self.exchangeable, 0, start), end

    def taken(self, some: IntArray) -> Lives:
        """Return the times of the containers at these positions alone."""
        each = ("order", "arrival_ms", "departure_ms", "at_start", "exchangeable")
        return dataclasses.replace(self, **{name: getattr(self, name)[some] for name in each})


def lives(
    containers: pl.DataFrame,
    measured: Measured | None,
    assumptions: SizedAssumptions,
    rng: np.random.Generator,
    nodes: Sequence[str],
) -> Lives:
    """Return when each container arrives and departs in the replay, in order of arrival.

    The replay begins with the first sample of use. Without any use it begins with the first
    arrival, or with the last one if the store lists only what ran at one moment. Such a list lacks
    containers that ended earlier, so the time before would show too few. The replay ends with the
    latest arrival, departure or sample.

    Parameters
    ----------
    nodes : the names of the nodes that are replayed
        With ``start=observed`` a container that ran on one of them arrives first.

    Raises
    ------
    TracekitError
        When there is no container, or none is left at the beginning.
    """
    recorded = _recorded(containers, measured, assumptions)
    start = recorded.start_ms
    rows = present_from(start, recorded.leaves_ms)
    left = containers[rows]
    arrival, leaves = recorded.arrival_ms[rows], recorded.leaves_ms[rows]
    assumed = (assumptions.arrival_span_ms, assumptions.step_ms)
    step_ms, times, span = axis_from(start, arrival, leaves, measured, assumed=assumed)
    departure = np.where(np.isnan(leaves), int(times[-1]) + step_ms, leaves).astype(np.int64)
    at_start, arrival = arrival <= start, np.maximum(arrival, start)
    # a daemon is on its node before anything is placed there, as it is in a cluster
    daemons = left["daemon"].fill_null(0).to_numpy() > 0
    daemon = at_start & daemons
    waiting = _waiting(np.flatnonzero(at_start & ~daemon), left["node"], assumptions, rng)
    exchangeable = (assumptions.departures == "none") & ~daemons
    settled = start
    if assumptions.start == "empty" and len(waiting) > 1:
        arrival, others = over_span(arrival, departure, waiting, start_ms=start, span_ms=span)
        settled = int(arrival[waiting].max())
        exchangeable |= others
    if assumptions.start == "observed":
        # a container on a node stays there, whatever else waits and whatever its priority
        on_listed_node = left["node"].is_in(nodes).fill_null(value=False).to_numpy()
        arrival[at_start & ~on_listed_node] = start + 1
    departure = np.maximum(departure, arrival + 1)
    first = np.concatenate([np.flatnonzero(daemon), waiting, np.flatnonzero(~at_start)])
    order = first[np.argsort(arrival[first], kind="stable")]
    return Lives(
        times_ms=times,
        step_ms=step_ms,
        order=rows[order],
        arrival_ms=arrival[order],
        departure_ms=departure[order],
        at_start=at_start[order],
        exchangeable=exchangeable[order],
        settled_ms=settled,
        over=containers.height - len(rows),
        assumed=recorded.assumed,
        moment=recorded.moment,
        remarks=(remark("from_the_beginning"),)
        if recorded.assumed and assumptions.arrivals == "auto"
        else (),
    )


class _Recorded(NamedTuple):
    """When each container came and left, NaN if it stayed, and when the replay begins."""

    arrival_ms: IntArray
    leaves_ms: FloatArray
    start_ms: int
    assumed: bool
    moment: bool


def _recorded(
    containers: pl.DataFrame, measured: Measured | None, assumptions: SizedAssumptions
) -> _Recorded:
    if not containers.height:
        raise TracekitError("the store lists no container", hint="see tracekit info STORE")
    arrival = containers["time_ms"].to_numpy().astype(np.int64)
    leaves = containers["departure_ms"].to_numpy().astype(np.float64)
    if assumptions.departures == "none":
        leaves = np.full(len(arrival), np.nan)
    before = _all_before(containers, leaves, measured, assumptions)
    start = int(arrival.max() if before else arrival.min())
    assumed = bool(before and start > arrival.min())
    if measured is not None:
        start = measured.first_ms
        arrival = np.minimum(arrival, start) if before else arrival
    return _Recorded(arrival, leaves, start, assumed, before and measured is None)


def _all_before(
    containers: pl.DataFrame,
    leaves: FloatArray,
    measured: Measured | None,
    assumptions: SizedAssumptions,
) -> bool:
    """Whether every container that runs at the last arrival counts as there from the beginning."""
    if assumptions.arrivals != "auto":
        return assumptions.arrivals == "before"
    placed = containers["node"].null_count() < containers.height
    stay = 2 * int(np.isnan(leaves).sum()) > len(leaves)
    return measured is None and placed and stay and assumptions.departures == "recorded"


def _waiting(
    at_start: IntArray, node: pl.Series, assumptions: SizedAssumptions, rng: np.random.Generator
) -> IntArray:
    """The containers that were there at the beginning, in their order of arrival."""
    drawn = assumptions.order == "seeded" or (
        assumptions.order == "auto" and bool(node.gather(at_start).is_not_null().any())
    )
    return at_start[rng.permutation(len(at_start))] if drawn else at_start


def present_from(start_ms: int, leaves_ms: FloatArray) -> IntArray:
    """Return the positions of the containers that have not departed when the replay begins.

    Raises
    ------
    TracekitError
        When every container has departed by then.
    """
    rows = np.flatnonzero(~(leaves_ms <= start_ms))
    if not len(rows):
        raise TracekitError(
            f"every container had departed at {start_ms} ms, when the recorded use begins",
            hint="times of containers and of use must count from one moment",
        )
    return rows


def axis_from(
    start: int,
    arrival: IntArray,
    leaves: FloatArray,
    measured: Measured | None,
    *,
    assumed: tuple[int, int],
) -> tuple[int, IntArray, int]:
    """Return the step, the sampling times, and the span in which the first containers arrive.

    The first containers are those that run at ``start``, when the replay begins. The last sampling
    time is that of the latest arrival, departure or sample, or less than a step after it. All times
    are in milliseconds.

    Parameters
    ----------
    leaves : float64, shape (containers,)
        Time of departure, NaN where a container stays.
    assumed : tuple of int
        The longest span of arrivals, and the step. If the step is 0, it is derived from the samples
        or, without samples, from the times of containers.
    """
    span_ms, step_ms = assumed
    gone = leaves[~np.isnan(leaves)]
    ends = [int(arrival.max(initial=start)), *([int(gone.max())] if len(gone) else [])]
    if measured is not None:
        ends.append(measured.last_ms)
    end = max(ends)
    span = min(span_ms, (end - start) // 2)
    step = step_ms
    if not step and measured is not None:
        # whole samples make a step
        step = measured.step_ms * max(1, -(-(end - start) // (_MOST_STEPS * measured.step_ms)))
    if end <= start:
        # nothing but an order is known: the span of arrivals is all the time there is
        span = span_ms
        step = step or STEP_MS
        end = start + span + (_STEPS_AFTER * step if span else 0)
    step = step or _step_without_use(start, end, arrival, leaves)
    # the last sample is of the end, or after it
    last = start - (start - end) // step * step
    return step, steps_between(start, last, step), span


def _step_without_use(start: int, end: int, arrival: IntArray, leaves: FloatArray) -> int:
    """A step so short that few containers come and go between two sampling times."""
    departure = np.where(np.isnan(leaves), end + 1, leaves).astype(np.int64)
    arrival = np.maximum(arrival, start)
    for steps in (*range(_STEPS, _MOST_STEPS, _STEPS), _MOST_STEPS):
        step = int(max(STEP_MS, -(-(end - start) // steps)))
        times = steps_between(start, start - (start - end) // step * step, step)
        if step == STEP_MS or between_samples(times, arrival, departure)[1] <= _UNSEEN_PERCENT:
            break
    return step


def between_samples(
    times_ms: IntArray, arrival_ms: IntArray, departure_ms: IntArray
) -> tuple[int, int]:
    """Return how many containers run only between two sampling times, and their share in percent.

    The share is of the summed running time of all containers.
    """
    after = np.append(times_ms, np.iinfo(np.int64).max)
    unseen = after[np.searchsorted(times_ms, arrival_ms)] >= departure_ms
    run_ms = (departure_ms - arrival_ms).astype(np.float64)
    return int(unseen.sum()), round(100 * run_ms[unseen].sum() / max(run_ms.sum(), 1.0))


class Seen(NamedTuple):
    """The steps at which containers run, as samples show; each field has the shape (containers,).

    ``first`` is the step of a container's first sample. ``start`` and ``end`` are the first and the
    last step at which the container runs. If its first or last sample is near an edge of the record
    (at most the assumption ``edge_steps`` away), it is taken to run up to that edge.
    """

    first: IntArray
    start: IntArray
    end: IntArray


def seen_of(first: IntArray, last: IntArray, axis: Axis, assumptions: Assumptions) -> Seen:
    """Return the steps at which containers run, from the steps of their first and last samples."""
    final = len(axis.times_ms) - 1
    return Seen(
        first=first,
        start=np.where(first <= assumptions.edge_steps, 0, first),
        end=np.where(final - last <= assumptions.edge_steps, final, last),
    )


def lives_of_samples(
    seen: Seen, axis: Axis, assumptions: Assumptions, rng: np.random.Generator
) -> Lives:
    """Return the times of containers that are known only from samples of their use.

    Containers that arrive at the same time come in random order. With ``arrivals='spread'`` the
    containers that run from the start on arrive evenly over a span. If one of them departs before
    its time in the span, it arrives at its first sample.
    """
    shuffle = rng.permutation(len(seen.first))
    arrival = axis.times_ms[seen.first].copy()
    departure = axis.times_ms[seen.end] + axis.step_ms
    start, settled = int(axis.times_ms[0]), int(axis.times_ms[0])
    span = min(assumptions.arrival_span_ms, (axis.end_ms - start) // 2)
    exchangeable = np.zeros(len(arrival), dtype=np.bool_)
    at_start = seen.start == 0
    if assumptions.start == "observed":
        arrival[at_start] = start
    elif assumptions.arrivals == "spread":
        waiting = shuffle[at_start[shuffle]]
        arrival, exchangeable = over_span(arrival, departure, waiting, start_ms=start, span_ms=span)
        settled = int(arrival[waiting].max(initial=start))
    order = shuffle[np.argsort(arrival[shuffle], kind="stable")]
    return Lives(
        times_ms=axis.times_ms,
        step_ms=axis.step_ms,
        order=order,
        arrival_ms=arrival[order],
        departure_ms=departure[order],
        at_start=at_start[order],
        exchangeable=exchangeable[order],
        settled_ms=settled,
        over=0,
        resolved={"arrival_span_used_ms": span} if assumptions.arrivals == "spread" else {},
    )
