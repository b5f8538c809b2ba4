"""Lower bounds that hold for every placement, and how far a policy stays from them.

With W the use of all containers present, B the background and T the capacity of the nodes, every
placement of all containers satisfies, per sampling step and resource:

- largest utilisation >= max(B/T), >= (W + sum B) / sum T (containers cut at will and poured where
  it is lowest), and >= the lowest (B + w)/T over nodes for the largest single container w;
- smallest utilisation <= (W + sum B) / sum T, so spread >= the first bound less this;
- sum of utilisation lies between sum(B/T) + W/max T and sum(B/T) + W/min T. Mean debris is at
  least 1 less the upper end; the mean distance of CPU and memory utilisation is at least the
  distance of the two intervals over the nodes (triangle inequality), and Z is that over root 2;
- nodes used, where requests are respected, is at least what ``node_bound.py`` proves: by volume at
  every step, and by linear programming at the steps where most is requested.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from tracekit.arrays import BoolArray, IntArray
from tracekit.replay.measures import RESOURCES, all_measures, part_column
from tracekit.replay.runs.node_bound import linear_bound, volume_bounds
from tracekit.replay.workload.workload import Workload

# Bounds are floats: what proves nothing through rounding is given away.
_ROUNDING = 1e-9


def bound_steps(workload: Workload) -> list[dict[str, Any]]:
    """One row of measures per sampling step, each a lower bound; None where none is proven."""
    nodes = _NodesUsed(workload)
    capacity = [_Capacity(workload.capacity[:, resource]) for resource in range(2)]
    rows = []
    for step in range(len(workload.times_ms)):
        present = workload.present(step)
        parts = [_Resource(workload, step, at, present, capacity[at]) for at in range(2)]
        rows.append(_row(workload, step, parts, int(nodes.by_volume[step])))
    for step, needed in nodes.by_program():
        rows[step]["nodes_used"] = max(rows[step]["nodes_used"], needed)
    return rows


def gaps(
    row: dict[str, Any], bound: dict[str, Any], *, filtered: bool = True
) -> dict[str, float | None]:
    """Measure less bound, where a bound is proven; None for a policy that left containers waiting.

    Such a policy carries less load than the bound assumes, so that no gap is defined.

    Parameters
    ----------
    filtered : bool
        Whether the policy respects requests; the bound on nodes used is about those that do.
    """
    complete = row["pending_container_steps"] == 0
    return {
        part_column(name, "gap"): row[name] - bound[name]
        if complete and (filtered or one.bound != "requests")
        else None
        for name, one in all_measures().items()
        if one.bound
    }


def _row(workload: Workload, step: int, parts: list[_Resource], nodes: int) -> dict[str, Any]:
    now = int(workload.times_ms[step])
    apart = max(parts[0].low - parts[1].high, parts[1].low - parts[0].high, 0.0)
    debris = 1.0 - (parts[0].high + parts[1].high) / 2
    row: dict[str, Any] = {
        "time_ms": now,
        "settled": now >= workload.settled_ms,
        "placed": parts[0].containers,
        "pending": 0,
        "imbalance": _down(apart / np.sqrt(2)),
        "debris_fraction": _down(debris),
        "utilization_difference_fraction": _down(apart),
        "overloaded_nodes": None,
        "nodes_used": nodes,
    }
    for name, part in zip(RESOURCES, parts, strict=True):
        row[f"{name}_max_fraction"] = _down(part.peak)
        row[f"{name}_spread_fraction"] = _down(part.peak - part.mean)
        row[f"{name}_overload_fraction"] = _down(part.mean - 1.0)
    return row


class _Capacity:
    """Capacities of all nodes by one resource, and what every step asks of them."""

    def __init__(self, capacity: IntArray) -> None:
        self.of_node = capacity.astype(np.float64)
        self.total = float(self.of_node.sum())
        self.largest = float(self.of_node.max())
        self.smallest = float(self.of_node.min())


class _Resource:
    """Bounds on the utilisation by one resource at one step."""

    def __init__(
        self,
        workload: Workload,
        step: int,
        resource: int,
        present: BoolArray,
        capacity: _Capacity,
    ) -> None:
        background = workload.background[resource, step].astype(np.float64)
        use = workload.use_at(step)[resource, present].astype(np.float64)
        whole, largest = float(use.sum()), float(use.max(initial=0.0))
        own = background / capacity.of_node
        self.containers = len(use)
        self.mean = (whole + float(background.sum())) / capacity.total
        self.peak = max(
            float(own.max()), self.mean, float((own + largest / capacity.of_node).min())
        )
        self.low = (float(own.sum()) + whole / capacity.largest) / len(own)
        self.high = (float(own.sum()) + whole / capacity.smallest) / len(own)


class _NodesUsed:
    """Bounds on the nodes used: by volume at every step, by program where most is requested.

    Attributes
    ----------
    by_volume : int64, shape (steps,)
    """

    def __init__(self, workload: Workload) -> None:
        self._load = workload
        self._requested = _requested(workload)
        self.by_volume = volume_bounds(self._requested, workload.capacity)

    def by_program(self) -> list[tuple[int, int]]:
        """Steps where most is requested, of some resource, with the bound of the program there.

        Steps before the cluster has settled are left out where later ones exist: they are in no
        summary.
        """
        load = self._load
        settled = np.flatnonzero(load.times_ms >= load.settled_ms)
        steps = settled if len(settled) else np.arange(len(load.times_ms))
        asked = np.stack([*self._requested.T, self.by_volume])
        peaks = {int(steps[row[steps].argmax()]) for row in asked}
        found: dict[bytes, int | None] = {}
        for step in sorted(peaks):
            present = load.present_but_daemons(step)
            key = present.tobytes()
            if key not in found:
                found[key] = linear_bound(load.request[present], load.capacity)
        bounds = {step: found[load.present_but_daemons(step).tobytes()] for step in sorted(peaks)}
        return [(step, bound) for step, bound in bounds.items() if bound is not None]


def _requested(workload: Workload) -> IntArray:
    """Requests of all containers present but daemons, added up, shape (steps, resources)."""
    times, daemon = workload.times_ms, workload.daemon
    request = workload.request if daemon is None else workload.request * ~daemon[:, None]
    changes = np.zeros((len(times) + 1, len(workload.resources)), dtype=np.int64)
    np.add.at(changes, np.searchsorted(times, workload.arrival_ms), request)
    np.subtract.at(changes, np.searchsorted(times, workload.departure_ms), request)
    return np.asarray(changes[:-1].cumsum(axis=0))


def _down(value: float) -> float:
    return max(float(value) - _ROUNDING, 0.0)


def bound_frame(rows: list[dict[str, Any]], schema: dict[str, Any]) -> pl.DataFrame:
    """The rows as a frame with the columns of steps.parquet."""
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)
