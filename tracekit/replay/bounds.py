"""Lower bounds that hold for every placement, and how far a policy stays from them.

With W the use of all containers present, B the background and T the capacity of the nodes, every
placement of all containers satisfies, per sampling step and resource:

- largest utilisation >= max(B/T), >= (W + sum B) / sum T (containers cut at will and poured where
  it is lowest), and >= the lowest (B + w)/T over nodes for the largest single container w;
- smallest utilisation <= (W + sum B) / sum T, so spread >= the first bound less this;
- sum of utilisation lies between sum(B/T) + W/max T and sum(B/T) + W/min T. Mean debris is at
  least 1 less the upper end; the mean distance of CPU and memory utilisation is at least the
  distance of the two intervals over the nodes (triangle inequality), and Z is that over root 2;
- nodes used, where requests are respected, is at least the number of the largest nodes whose
  capacity adds up to the sum of requests.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.replay.workload import Workload

FloatArray = NDArray[np.float64]

#: Summary columns for which a gap to the bound is reported.
GAPS = (
    "imbalance_mean",
    "cpu_max_fraction",
    "memory_max_fraction",
    "cpu_spread_mean_fraction",
    "memory_spread_mean_fraction",
    "debris_mean_fraction",
    "utilization_difference_mean_fraction",
)

# Bounds are floats: what proves nothing through rounding is given away.
_ROUNDING = 1e-9


def bound_steps(workload: Workload) -> list[dict[str, Any]]:
    """One row of measures per sampling step, each a lower bound; None where none is proven."""
    return [_step(workload, step) for step in range(len(workload.times_ms))]


def gaps(row: dict[str, Any], bound: dict[str, Any]) -> dict[str, float | None]:
    """Measure less bound, per column of GAPS; None for a policy that left containers waiting.

    Such a policy carries less load than the bound assumes, so that no gap is defined.
    """
    complete = row["pending_container_steps"] == 0
    return {_gap_name(name): row[name] - bound[name] if complete else None for name in GAPS}


def _gap_name(column: str) -> str:
    stem = column.removesuffix("_fraction")
    return f"{stem}_gap_fraction" if stem != column else f"{stem}_gap"


def _step(workload: Workload, step: int) -> dict[str, Any]:
    present = workload.present(step)
    now = int(workload.times_ms[step])
    parts = [_Resource(workload, step, resource, present) for resource in range(2)]
    apart = max(parts[0].low - parts[1].high, parts[1].low - parts[0].high, 0.0)
    debris = 1.0 - (parts[0].high + parts[1].high) / 2
    row: dict[str, Any] = {
        "time_ms": now,
        "settled": now >= workload.settled_ms,
        "placed": int(present.sum()),
        "pending": 0,
        "imbalance": _down(apart / np.sqrt(2)),
        "debris_fraction": _down(debris),
        "utilization_difference_fraction": _down(apart),
        "overloaded_nodes": None,
        "nodes_used": _nodes_used(workload, present),
    }
    for name, part in zip(("cpu", "memory"), parts, strict=True):
        row[f"{name}_max_fraction"] = _down(part.peak)
        row[f"{name}_spread_fraction"] = _down(part.peak - part.mean)
        row[f"{name}_overload_fraction"] = _down(part.mean - 1.0)
    return row


class _Resource:
    """Bounds on the utilisation by one resource at one step."""

    def __init__(
        self, workload: Workload, step: int, resource: int, present: NDArray[np.bool_]
    ) -> None:
        total = workload.capacity[:, resource].astype(np.float64)
        background = workload.background[resource, step].astype(np.float64)
        use = workload.usage[resource, step, present].astype(np.float64)
        self.mean = float((use.sum() + background.sum()) / total.sum())
        largest = float(use.max(initial=0.0))
        self.peak = max(
            float((background / total).max()),
            self.mean,
            float(((background + largest) / total).min()),
        )
        own = float((background / total).sum())
        self.low = (own + float(use.sum() / total.max())) / len(total)
        self.high = (own + float(use.sum() / total.min())) / len(total)


def _nodes_used(workload: Workload, present: NDArray[np.bool_]) -> int:
    needed = 0
    for column in range(len(workload.resources)):
        requested = int(workload.request[present, column].sum())
        room = np.cumsum(np.sort(workload.capacity[:, column])[::-1].astype(np.float64))
        needed = max(needed, int(np.searchsorted(room, requested)) + (requested > 0))
    return min(needed, workload.nodes)


def _down(value: float) -> float:
    return max(float(value) - _ROUNDING, 0.0)


def bound_frame(rows: list[dict[str, Any]], schema: dict[str, Any]) -> pl.DataFrame:
    """The rows as a frame with the columns of steps.parquet."""
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)
