"""Lower bounds of the measures for every placement, and the gap between a policy and its bound.

W is the use of all present containers that can be placed at all (``placeable``), B the background
and T the capacity of the nodes. At each sampling step and for each resource, every placement of
these containers satisfies:

- The largest utilisation is at least max(B/T). It is at least (W + sum B) / sum T, as if containers
  could be cut and spread evenly. It is at least the lowest (B + w)/T over nodes, with w the largest
  container.
- The smallest utilisation is at most (W + sum B) / sum T. The spread is at least the bound of the
  largest utilisation less this.
- A node whose background exceeds its capacity is overloaded by at least the excess. Where the
  largest utilisation is above 1, at least one node is overloaded.
- The 99th percentile over nodes is at least that of B/T; below 100 nodes it is the largest
  utilisation.
- The sum of utilisation lies between sum(B/T) + W/max T and sum(B/T) + W/min T. By the triangle
  inequality the mean distance of CPU and memory utilisation is at least the distance of their two
  intervals, divided by the number of nodes. The imbalance Z is at least that over root 2.
- Where requests are respected, the nodes in use are at least what ``nodes.py`` proves: by volume at
  every step, for the whole cluster and for its pools, and by linear programming at the steps with
  the largest requests. Containers that must not share a node give a third bound.
- The price of these nodes is at least the price of the requested volume, filled from the cheapest
  unit on; at least the price of the cheapest nodes of the number that the volume needs; and at
  least the sum of either over the pools.

For a further resource W is on the nodes that have it; the use of such a resource is defined in
``tracekit.replay.measures.sampled``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.words import RESOURCES
from tracekit.cluster.on_nodes import room_beside_daemons
from tracekit.cluster.series import settled_steps
from tracekit.cluster.workload import Workload
from tracekit.replay.bounds import linear_bound, volume_bounds
from tracekit.replay.bounds.requests import (
    apart_bounds,
    further_bounds,
    least_cost,
    placeable,
    pool_bounds,
    pool_costs,
    requested_at,
)
from tracekit.replay.measures import COST_PER_HOUR, measures_in, part_column
from tracekit.replay.measures.room import measured_columns, measured_names
from tracekit.replay.measures.sampled import USED, further_use
from tracekit.replay.measures.use import rank_of

# Bounds are floats: each is lowered by this much, so that rounding proves nothing.
_ROUNDING = 1e-9


#: Columns of a row that identify its step.
_STEP = ("time_ms", "settled")


class Bounds(NamedTuple):
    """Lower bounds on the measures of a workload, which hold for every placement.

    Parameters
    ----------
    rows : list of dict
        For each sampling step, the bound of each measure by its column. A measure for which none is
        proven is left out.
    movable : dict
        The share of the use of each resource that a policy can move: see ``MovableShare``.
    """

    rows: list[dict[str, Any]]
    movable: dict[str, float]


def nodes_bound(workload: Workload) -> int:
    """Return the highest lower bound on nodes in use over all settled steps; see ``bounds_of``."""
    bounds, others = _NodesUsed(workload).at_steps(), placeable(workload)
    if others is not workload:
        bounds = np.minimum(bounds, _NodesUsed(others).at_steps())
    steps = settled_steps(workload.use.times_ms, workload.use.settled_ms)
    return int(bounds[steps].max(initial=0))


def bounds_of(workload: Workload, *, rebalanced: bool = False) -> Bounds:
    """Return lower bounds of the measures at every step, and the share of use that can move.

    If some containers can never be placed, each bound is the lower of two: with these containers
    and without them. With ``rebalanced``, pinned containers count as movable.
    """
    bounds = _bounds_of(workload, rebalanced=rebalanced)
    others = placeable(workload)
    if others is workload:
        return bounds
    fewer = _bounds_of(others, rebalanced=rebalanced)
    return bounds._replace(rows=[*map(_least, fewer.rows, bounds.rows)])


def _least(fewer: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """The lower of two bounds of each measure; other columns are those of ``fewer``."""
    return {
        name: value if value is None or name in ("placed", *_STEP) else min(value, whole[name])
        for name, value in fewer.items()
    }


def _bounds_of(workload: Workload, *, rebalanced: bool) -> Bounds:
    nodes = _NodesUsed(workload)
    capacity = [_Capacity(workload.nodes.capacity[:, resource]) for resource in range(2)]
    further = further_bounds(workload)
    cost = nodes.cost()
    share = MovableShare(workload, rebalanced=rebalanced)
    rows, used = [], nodes.at_steps()
    for step in range(len(workload.use.times_ms)):
        present = workload.present(step)
        parts = [_Resource(workload, step, at, present, capacity[at]) for at in range(2)]
        share.add(step, present, [part.use for part in parts], [part.own for part in parts])
        rows.append(
            {
                **_row(workload, step, parts, int(used[step])),
                **{name: _down(float(values[step])) for name, values in further.items()},
                **({} if cost is None else {COST_PER_HOUR: _down(float(cost[step]))}),
            }
        )
    return Bounds(rows, share.shares())


def gaps(
    row: dict[str, Any], bound: dict[str, Any], *, filtered: bool = True
) -> dict[str, float | None]:
    """Return each measure less its lower bound, by gap column such as ``cpu_max_gap_fraction``.

    A gap is None where no bound is proven. All gaps are None for a policy that left containers
    waiting, because it carries less load than the bounds assume.

    Parameters
    ----------
    row, bound : dict
        Measures of a policy, and their bounds.
    filtered : bool
        Whether the policy respects requests; bounds by requests hold only then.
    """
    complete = row["pending_container_steps"] == 0
    return {
        part_column(name, "gap"): row[name] - bound[name]
        if complete and (filtered or one.bound != "requests") and bound[name] is not None
        else None
        for name, one in measures_in(row).items()
        if one.bound
    }


def _row(workload: Workload, step: int, parts: list[_Resource], nodes: int) -> dict[str, Any]:
    now = int(workload.use.times_ms[step])
    apart = max(parts[0].low - parts[1].high, parts[1].low - parts[0].high, 0.0)
    row: dict[str, Any] = {
        "time_ms": now,
        "settled": now >= workload.use.settled_ms,
        "placed": parts[0].containers,
        "pending": 0,
        "imbalance": _down(apart / np.sqrt(2)),
        "utilization_difference_fraction": _down(apart),
        # a peak above 1 proves one overloaded node
        "overloaded_nodes": max(
            int((parts[0].above | parts[1].above).sum()),
            *(int(_down(part.peak) > 1) for part in parts),
        ),
        "nodes_used": nodes,
    }
    for name, part in zip(RESOURCES, parts, strict=True):
        row[f"{name}_max_fraction"] = _down(part.peak)
        row[f"{name}_p99_fraction"] = _down(part.percentile)
        row[f"{name}_spread_fraction"] = _down(part.peak - part.mean)
        row[f"{name}_overload_fraction"] = _down(max(part.mean - 1.0, part.excess))
        row[f"{name}_overload_nodes"] = max(int(part.above.sum()), int(_down(part.peak) > 1))
    return row


class _Capacity:
    """Capacities of all nodes in one resource, with their sum, maximum and minimum."""

    def __init__(self, capacity: IntArray) -> None:
        self.of_node = capacity.astype(np.float64)
        self.total = float(self.of_node.sum())
        self.largest = float(self.of_node.max())
        self.smallest = float(self.of_node.min())


class _Resource:
    """Bounds on the utilisation of one resource at one step."""

    def __init__(
        self,
        workload: Workload,
        step: int,
        resource: int,
        present: BoolArray,
        capacity: _Capacity,
    ) -> None:
        background = workload.use.background[resource, step].astype(np.float64)
        use = workload.use.at(step)[resource, present].astype(np.float64)
        whole, largest = float(use.sum()), float(use.max(initial=0.0))
        own = background / capacity.of_node
        self.use, self.own = use, float(background.sum())
        self.containers = len(use)
        self.above = own > 1.0
        self.excess = float(np.maximum(background - capacity.of_node, 0.0).sum()) / capacity.total
        self.mean = (whole + float(background.sum())) / capacity.total
        self.peak = max(
            float(own.max()), self.mean, float((own + largest / capacity.of_node).min())
        )
        rank = rank_of(len(own))
        least = float(np.partition(own, rank)[rank])
        self.percentile = self.peak if rank == len(own) - 1 else least
        self.low = (float(own.sum()) + whole / capacity.largest) / len(own)
        self.high = (float(own.sum()) + whole / capacity.smallest) / len(own)


class _NodesUsed:
    """Bounds on the nodes in use: by volume at every step, by program at the largest requests.

    Attributes
    ----------
    requested : int64, shape (steps, resources)
        The sum of requests of containers that are no daemons.
    by_volume : int64, shape (steps,)
        The largest of three bounds: of the whole cluster, of its pools, and of the rules that keep
        containers apart.
    """

    def __init__(self, workload: Workload) -> None:
        self._load = workload
        self.requested = requested_at(workload, but_daemons=True)
        self._room = room_beside_daemons(workload)
        whole = volume_bounds(self.requested, self._room)
        pools = pool_bounds(workload, self._room)
        self.by_volume = np.maximum.reduce([whole, pools, apart_bounds(workload)])

    def cost(self) -> FloatArray | None:
        """Return a lower bound on the price of the nodes in use, (steps,); None without prices."""
        prices = self._load.nodes.prices
        if prices is None:
            return None
        whole = least_cost(self.requested, self._room, prices)
        return np.maximum(whole, pool_costs(self._load, self._room, prices))

    def at_steps(self) -> IntArray:
        """Return the higher of both bounds at each step, shape (steps,).

        Unsettled steps have no program, because no summary contains them; where no step is settled,
        all count as settled.
        """
        load, bounds = self._load, self.by_volume.copy()
        steps = settled_steps(load.use.times_ms, load.use.settled_ms)
        volumes = np.stack([*self.requested.T, self.by_volume])
        by_program: dict[bytes, int | None] = {}
        for step in sorted({int(steps[row[steps].argmax()]) for row in volumes}):
            present = load.present_but_daemons(step)
            key = present.tobytes()
            if key not in by_program:
                by_program[key] = linear_bound(load.containers.request[present], self._room)
            bounds[step] = max(bounds[step], by_program[key] or 0)
        return np.asarray(bounds)


def _down(value: float) -> float:
    return max(float(value) - _ROUNDING, 0.0)


def bound_frame(rows: list[dict[str, Any]], schema: dict[str, Any]) -> pl.DataFrame:
    """Return ``Bounds.rows`` as a frame with the columns of ``schema``; null where missing."""
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


class MovableShare:
    """Adds up, over the settled steps, which share of each resource's use a policy can move.

    Background use, daemons and pinned containers stay. A pinned container is movable, however, once
    its node is lost or if a container of higher priority may evict it.

    Parameters
    ----------
    rebalanced : bool
        Whether a rebalancer evicts; it moves pinned containers too.
    """

    def __init__(self, load: Workload, *, rebalanced: bool = False) -> None:
        self._load = load
        self._fixed = _fixed(load, rebalanced=rebalanced)
        self._lost_ms = _lost_ms(load)
        self._columns, self._names = measured_columns(load), measured_names(load)
        self._sums = np.zeros((len(self._columns), 2))
        self._counted = frozenset(settled_steps(load.use.times_ms, load.use.settled_ms).tolist())

    def add(
        self, step: int, present: BoolArray, use: Sequence[FloatArray], own: Sequence[float]
    ) -> None:
        """Add the use of one step; a step that is not settled is ignored.

        Parameters
        ----------
        present : bool, shape (containers,)
            The containers that exist at the step.
        use : two of float64, shape (present,)
            CPU and memory of each present container.
        own : two of float
            Background use of CPU and memory, summed over nodes.
        """
        if step not in self._counted:
            return
        moves = None if self._fixed is None else ~self._is_unmoved(step)[present]
        for at, column in enumerate(self._columns):
            if column in USED:
                amounts = use[column]
            else:
                containers = np.flatnonzero(present)
                amounts = further_use(self._load, column, range(step, step + 1), containers)[0]
            movable = amounts if moves is None else amounts[moves]
            rest = own[column] if column in USED else 0.0
            self._sums[at] += float(movable.sum()), float(amounts.sum()) + rest

    def _is_unmoved(self, step: int) -> BoolArray:
        """The containers that no policy moves at a step, shape (containers,)."""
        if self._fixed is None:
            raise LookupError(step)
        return np.asarray(self._fixed & (self._load.use.times_ms[step] < self._lost_ms))

    def shares(self) -> dict[str, float]:
        """Return the movable share (0..1) by resource, without resources that nothing uses."""
        return {
            name: float(movable / whole)
            for name, (movable, whole) in zip(self._names, self._sums, strict=True)
            if whole > 0
        }


def _fixed(load: Workload, *, rebalanced: bool) -> BoolArray | None:
    """The containers that no policy moves while their node exists; None for none."""
    fixed = np.zeros(load.containers.count, dtype=np.bool_)
    if load.rules.daemon is not None:
        fixed |= load.rules.daemon
    if load.rules.pinned is not None and not rebalanced:
        fixed |= (load.rules.pinned >= 0) & ~_may_be_evicted(load)
    return fixed if fixed.any() else None


def _may_be_evicted(load: Workload) -> BoolArray:
    """The containers that a container of higher priority may evict, shape (containers,)."""
    if not load.rules.preemption or load.rules.priority is None or not load.containers.count:
        return np.zeros(load.containers.count, dtype=np.bool_)
    return np.asarray(load.rules.priority < load.rules.priority.max())


def _lost_ms(load: Workload) -> IntArray:
    """The time at which each container loses its pinned node, shape (containers,).

    Containers that lose none, and daemons, have the largest integer.
    """
    never = np.iinfo(np.int64).max
    lost = np.full(load.containers.count, never)
    if load.nodes.losses is None or load.rules.pinned is None:
        return lost
    of_node = np.full(load.nodes.count + 1, never)  # the last is that of -1
    np.minimum.at(of_node, load.nodes.losses.node, load.nodes.losses.time_ms)
    lost = of_node[load.rules.pinned]
    return lost if load.rules.daemon is None else np.where(load.rules.daemon, never, lost)
