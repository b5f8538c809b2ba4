"""Measures of a replay: at one sampling step, and over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.arrays import FloatArray, IntArray
from tracekit.metrics.debris_rate import debris_rate
from tracekit.metrics.imbalance import imbalance
from tracekit.metrics.overload import overload
from tracekit.metrics.spread import spread
from tracekit.metrics.utilization_difference import utilization_difference

#: Columns of steps.parquet after ``policy``; None marks what a lower bound cannot say.
STEP_SCHEMA: dict[str, type[pl.DataType]] = {
    "time_ms": pl.Int64,
    "settled": pl.Boolean,
    "placed": pl.Int64,
    "pending": pl.Int64,
    "imbalance": pl.Float64,
    "cpu_spread_fraction": pl.Float64,
    "memory_spread_fraction": pl.Float64,
    "cpu_max_fraction": pl.Float64,
    "memory_max_fraction": pl.Float64,
    "debris_fraction": pl.Float64,
    "utilization_difference_fraction": pl.Float64,
    "overloaded_nodes": pl.Int64,
    "cpu_overload_fraction": pl.Float64,
    "memory_overload_fraction": pl.Float64,
    "qos_share": pl.Float64,
    "nodes_used": pl.Int64,
    "moves": pl.Int64,
}

#: Summary columns: the measure, and how it is taken over the settled steps.
_SUMMARY = (
    ("imbalance_mean", "imbalance", "mean"),
    ("cpu_spread_mean_fraction", "cpu_spread_fraction", "mean"),
    ("memory_spread_mean_fraction", "memory_spread_fraction", "mean"),
    ("cpu_max_fraction", "cpu_max_fraction", "max"),
    ("memory_max_fraction", "memory_max_fraction", "max"),
    ("debris_mean_fraction", "debris_fraction", "mean"),
    ("utilization_difference_mean_fraction", "utilization_difference_fraction", "mean"),
    ("overloaded_node_steps", "overloaded_nodes", "sum"),
    ("cpu_overload_mean_fraction", "cpu_overload_fraction", "mean"),
    ("memory_overload_mean_fraction", "memory_overload_fraction", "mean"),
    ("qos_share", "qos_share", "mean"),
    ("nodes_used_max", "nodes_used", "max"),
    ("pending_container_steps", "pending", "sum"),
    ("moves", "moves", "sum"),
)


#: Their names, in their order.
SUMMARY_MEASURES = tuple(name for name, _, _ in _SUMMARY)


@dataclass(frozen=True, kw_only=True)
class StepState:
    """The cluster at one sampling step.

    Parameters
    ----------
    used, capacity : float64, shape (nodes, 2)
        Millicores and bytes: background and the containers that run.
    containers : int64, shape (nodes,)
    moves : int
        Containers evicted since the step before and offered to the policy again.
    """

    time_ms: int
    settled: bool
    pending: int
    used: FloatArray
    capacity: FloatArray
    containers: IntArray
    moves: int = 0


def measure(state: StepState) -> dict[str, Any]:
    """One row of steps.parquet."""
    measured = measure_steps(state.used[None], state.capacity, state.containers[None])
    row = {name: column[0].item() for name, column in measured.items()}
    about = {
        "time_ms": state.time_ms,
        "settled": state.settled,
        "pending": state.pending,
        "moves": state.moves,
        "qos_share": row["qos_share"] if row["placed"] else None,
    }
    both = {**row, **about}
    return {name: both[name] for name in STEP_SCHEMA}


def measure_steps(
    used: FloatArray, capacity: FloatArray, containers: IntArray
) -> dict[str, NDArray[Any]]:
    """Columns of steps.parquet, one value for each step; qos_share is NaN where nothing runs.

    Parameters
    ----------
    used : float64, shape (steps, nodes, 2)
    capacity : float64, shape (nodes, 2)
    containers : int64, shape (steps, nodes)
    """
    fractions = used / capacity
    full = np.asarray((fractions > 1.0).any(axis=-1))
    return columns(
        placed=containers.sum(axis=-1),
        imbalance=imbalance(fractions).mean(axis=-1),
        spread=spread(fractions),
        high=fractions.max(axis=1),
        debris=debris_rate(used, capacity).mean(axis=-1),
        difference=utilization_difference(fractions[..., 0], fractions[..., 1]),
        overload=overload(used, capacity),
        overloaded=full.sum(axis=-1),
        served=(containers * ~full).sum(axis=-1),
        nodes_used=(containers > 0).sum(axis=-1),
    )


def columns(
    *,
    placed: IntArray,
    imbalance: FloatArray,
    spread: FloatArray,
    high: FloatArray,
    debris: FloatArray,
    difference: FloatArray,
    overload: FloatArray,
    overloaded: IntArray,
    served: IntArray,
    nodes_used: IntArray,
) -> dict[str, NDArray[Any]]:
    """Measures by the names of their columns, shape (steps,) each.

    What the sources call QoS is met by a container that gets what it needs (002, section 3); on a
    node that needs more than it has, this project counts none of its containers as served.

    Parameters
    ----------
    spread, high, overload : float64, shape (steps, 2)
        By resource.
    served : int64, shape (steps,)
        Containers on nodes with enough of everything.
    """
    nobody = np.full(len(placed), np.nan)
    return {
        "placed": placed,
        "imbalance": imbalance,
        "cpu_spread_fraction": spread[:, 0],
        "memory_spread_fraction": spread[:, 1],
        "cpu_max_fraction": high[:, 0],
        "memory_max_fraction": high[:, 1],
        "debris_fraction": debris,
        "utilization_difference_fraction": difference,
        "overloaded_nodes": overloaded,
        "cpu_overload_fraction": overload[:, 0],
        "memory_overload_fraction": overload[:, 1],
        "qos_share": np.divide(served, placed, out=nobody, where=placed > 0),
        "nodes_used": nodes_used,
    }


def summarize(steps: pl.DataFrame) -> dict[str, Any]:
    """The measures over the settled steps; over all of them when none is settled."""
    settled = steps.filter(pl.col("settled"))
    counted = settled if settled.height else steps
    row = counted.select(
        getattr(pl.col(source), how)().alias(name) for name, source, how in _SUMMARY
    )
    return row.row(0, named=True)
