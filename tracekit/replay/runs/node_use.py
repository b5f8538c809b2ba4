"""How full each node is: on average, under every policy of a run, and at most."""

from collections.abc import Iterable

import numpy as np
import polars as pl

from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.measures import RESOURCES
from tracekit.replay.workload.series import settled_steps
from tracekit.replay.workload.workload import Workload


def node_use(load: Workload, found: Iterable[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """Mean use of each node over the settled steps, with each container where it was placed last.

    Parameters
    ----------
    found : iterable of (str, DataFrame)
        Policies, with what ``placements.by_number`` gave for each.

    Returns
    -------
    DataFrame
        policy, node, and ``<resource>_mean_fraction`` of capacity, background included.
    """
    used, background = _means(load)
    capacity = load.capacity[:, :2].T.astype(np.float64)
    parts = [
        pl.DataFrame(
            {
                "policy": pl.repeat(policy, load.nodes, dtype=pl.String, eager=True),
                "node": pl.Series(load.node_ids, dtype=pl.String),
                **_fractions(load, placed, used, background, capacity),
            }
        )
        for policy, placed in found
    ]
    return pl.concat(parts) if parts else pl.DataFrame(schema=_schema())


def highest_use(load: Workload, node: IntArray) -> FloatArray:
    """The highest use of each node over the settled steps, as a share of what it has.

    Parameters
    ----------
    node : int64, shape (containers,)
        Where each container was placed last, -1 for never.

    Returns
    -------
    float64, shape (2, nodes)
        CPU and memory, background included; 0 for a node that has none of it.
    """
    capacity = np.maximum(load.capacity[:, :2].T.astype(np.float64), 1.0)
    highest = np.zeros((2, load.nodes))
    for step in settled_steps(load.times_ms, load.settled_ms).tolist():
        there = np.flatnonzero(load.present(step) & (node >= 0))
        use = load.use_at(step)
        for resource in range(2):
            total = load.background[resource, step] + np.bincount(
                node[there], use[resource, there], minlength=load.nodes
            )
            highest[resource] = np.maximum(highest[resource], total)
    return np.asarray(highest / capacity)


def _schema() -> dict[str, type[pl.DataType]]:
    columns = {f"{name}_mean_fraction": pl.Float32 for name in RESOURCES}
    return {"policy": pl.String, "node": pl.String, **columns}


def _fractions(
    load: Workload,
    placed: pl.DataFrame,
    used: FloatArray,
    background: FloatArray,
    capacity: FloatArray,
) -> dict[str, pl.Series]:
    node = placed["node"].fill_null(-1).to_numpy()
    at = np.flatnonzero(node >= 0)
    sums = [
        background[resource] + np.bincount(node[at], used[resource, at], minlength=load.nodes)
        for resource in range(2)
    ]
    return {
        f"{name}_mean_fraction": pl.Series(total / of, dtype=pl.Float32)
        for name, total, of in zip(RESOURCES, sums, capacity, strict=True)
    }


def _means(load: Workload) -> tuple[FloatArray, FloatArray]:
    """The mean use of each container and of each node's background, shape (2, many).

    A container counts 0 where it is not there, so that the means of those on a node add up.
    """
    steps = settled_steps(load.times_ms, load.settled_ms).tolist()
    used = np.zeros((2, load.containers))
    background = np.zeros((2, load.nodes))
    for step in steps:
        used += np.where(load.present(step), load.use_at(step), 0.0)
        background += load.background[:, step]
    return used / len(steps), background / len(steps)
