"""When containers come and go: life spans in the trace, arrivals in the replay, other orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tracekit.arrays import BoolArray, IntArray
from tracekit.replay.workload.assumptions import Assumptions
from tracekit.replay.workload.drawn_sizes import with_drawn_sizes
from tracekit.replay.workload.gangs import redrawn
from tracekit.replay.workload.series import Axis
from tracekit.replay.workload.workload import Workload


@dataclass(frozen=True, kw_only=True)
class Life:
    """When each container is there in the trace, in steps; shape (containers,) each.

    ``start`` and ``end`` (inclusive) reach the edge of the trace for containers first or last
    seen close to it; ``first`` is the step of the first sample itself.
    """

    first: IntArray
    start: IntArray
    end: IntArray


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Containers in the order they arrive.

    Parameters
    ----------
    order : int64, shape (containers,)
        Position in the trace's table of the container that arrives first, second, ...
    arrival_ms, departure_ms : int64, shape (containers,), in that order
    exchangeable : bool, shape (containers,), in that order
        Containers whose time of arrival is a slot of the span, and could be another.
    stays : bool, shape (containers,), in that order
        Containers that were there at the beginning and stay on their nodes.
    settled_ms : int
        When the containers that were there from the start have all arrived.
    resolved : mapping
        What the assumptions came to for this trace.
    """

    order: IntArray
    arrival_ms: IntArray
    departure_ms: IntArray
    exchangeable: BoolArray
    stays: BoolArray
    settled_ms: int
    resolved: Mapping[str, object]

    def due(self, axis: Axis) -> tuple[IntArray, IntArray]:
        """The steps at which usage is due in this order or any other: from one, and below one."""
        start = np.searchsorted(axis.times_ms, self.arrival_ms)
        end = np.searchsorted(axis.times_ms, self.departure_ms)
        return np.where(self.exchangeable, 0, start), end


def lives(first: IntArray, last: IntArray, axis: Axis, assumptions: Assumptions) -> Life:
    """Life spans of containers seen first and last at these steps."""
    final = len(axis.times_ms) - 1
    return Life(
        first=first,
        start=np.where(first <= assumptions.edge_steps, 0, first),
        end=np.where(final - last <= assumptions.edge_steps, final, last),
    )


def order_of_arrival(
    life: Life, axis: Axis, assumptions: Assumptions, rng: np.random.Generator
) -> Timing:
    """Arrival and departure times; arrivals at one time come in an order drawn from ``rng``.

    With ``arrival='spread'`` the containers there from the start share the span evenly; one that
    would arrive after its own departure arrives at its first sample instead.
    """
    shuffle = rng.permutation(len(life.first))
    arrival = axis.times_ms[life.first].copy()
    departure = axis.times_ms[life.end] + axis.step_ms
    start, settled = int(axis.times_ms[0]), int(axis.times_ms[0])
    span = min(assumptions.arrival_span_ms, (axis.end_ms - start) // 2)
    exchangeable = np.zeros(len(arrival), dtype=np.bool_)
    stays = (life.start == 0) & (assumptions.start == "observed")
    arrival[stays] = start
    if assumptions.arrival == "spread" and assumptions.start == "empty":
        waiting = shuffle[life.start[shuffle] == 0]
        slots = start + np.arange(len(waiting)) * span // max(len(waiting), 1)
        arrival[waiting] = np.where(slots < departure[waiting], slots, arrival[waiting])
        settled = int(arrival[waiting].max(initial=start))
        exchangeable[waiting] = departure[waiting] > start + span
    order = shuffle[np.argsort(arrival[shuffle], kind="stable")]
    return Timing(
        order=order,
        arrival_ms=arrival[order],
        departure_ms=departure[order],
        exchangeable=exchangeable[order],
        stays=stays[order],
        settled_ms=settled,
        resolved={"arrival_span_used_ms": span} if assumptions.arrival == "spread" else {},
    )


def rearranged(load: Workload, rng: np.random.Generator) -> Workload:
    """The same workload with its containers in another order of arrival, drawn from ``rng``.

    Exchangeable containers draw their times of arrival anew among themselves; containers that
    arrive at one time come in a new order; gangs stay in one piece. Nothing else changes, so that
    every order asks the same of the cluster once all have arrived; but sizes that were inferred are
    drawn from their intervals, so that other orders also say what their doubt comes to.
    """
    arrival = load.arrival_ms.copy()
    if load.exchangeable is not None:
        slots = np.flatnonzero(load.exchangeable)
        arrival[rng.permutation(slots)] = load.arrival_ms[slots]
    shuffle = rng.permutation(load.containers)
    order = shuffle[np.argsort(arrival[shuffle], kind="stable")]
    return with_drawn_sizes(redrawn(load, order, arrival), rng)
