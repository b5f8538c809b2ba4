"""How full each node is: on average, under every policy of a run, and at most.

Of cpu and memory, and of every further resource that is measured: GPU, network.
"""

from collections.abc import Iterable

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray
from tracekit.base.words import RESOURCES
from tracekit.cluster.resources import UNLIMITED
from tracekit.cluster.series import settled_steps
from tracekit.cluster.workload import Workload
from tracekit.policy.view.further import further_use
from tracekit.policy.view.room import measured_columns, measured_names


def node_use(load: Workload, found: Iterable[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """Mean use of each node over the settled steps, with each container where it was placed last.

    Parameters
    ----------
    found : iterable of (str, DataFrame)
        Policies, with what ``placements.by_number`` gave for each.

    Returns
    -------
    DataFrame
        policy, node, and ``<resource>_mean_fraction`` of capacity, background included. Of a
        further resource what counts as used is as ``tracekit.policy.view.further`` says, and a
        node that has none of it has no value.
    """
    used, background = _means(load)
    capacity = load.capacity[:, :2].T.astype(np.float64)
    further = [_Further(name, column, load) for name, column in _further(load)]
    parts = [
        pl.DataFrame(
            {
                "policy": pl.repeat(policy, load.nodes, dtype=pl.String, eager=True),
                "node": pl.Series(load.node_ids, dtype=pl.String),
                **_fractions(load, placed, used, background, capacity),
                **{one.column_name: one.fractions(placed) for one in further},
            }
        )
        for policy, placed in found
    ]
    return pl.concat(parts) if parts else pl.DataFrame(schema=_schema(load))


def _schema(load: Workload) -> dict[str, type[pl.DataType]]:
    names = [*RESOURCES, *(name for name, _ in _further(load))]
    columns = {_column(name): pl.Float32 for name in names}
    return {"policy": pl.String, "node": pl.String, **columns}


def _column(resource: str) -> str:
    return f"{resource}_mean_fraction"


def _further(load: Workload) -> list[tuple[str, int]]:
    """Names and columns of the resources that are measured beside cpu and memory."""
    known = zip(measured_names(load), measured_columns(load), strict=True)
    return [(name, column) for name, column in known if column > 1]


class _Further:
    """A further resource: how much of it each container takes on average, and what nodes have."""

    def __init__(self, name: str, column: int, load: Workload) -> None:
        self.column_name = _column(name)
        self._nodes = load.nodes
        recorded = column in load.further_used
        # of what is recorded all that a node has counts, of requests what they may take
        capacity = (load.capacity if recorded else load.allocatable)[:, column]
        self._there = (capacity > 0) & (capacity < UNLIMITED)
        self._capacity = np.where(self._there, capacity, 1).astype(np.float64)
        self._used = self._means(load, column, recorded=recorded)

    @staticmethod
    def _means(load: Workload, column: int, *, recorded: bool) -> FloatArray:
        steps = settled_steps(load.times_ms, load.settled_ms).tolist()
        every = np.arange(load.containers)
        asked = load.request[:, column].astype(np.float64)
        used = np.zeros(load.containers)
        for step in steps:
            use = further_use(load, column, range(step, step + 1), every)[0] if recorded else asked
            used += np.where(load.present(step), use, 0.0)
        return np.asarray(used / len(steps))

    def fractions(self, placed: pl.DataFrame) -> pl.Series:
        """Mean use over what each node has; null where it has none."""
        node = placed["node"].fill_null(-1).to_numpy()
        at = np.flatnonzero(node >= 0)
        total = np.bincount(node[at], self._used[at], minlength=self._nodes)
        share = np.where(self._there, total / self._capacity, np.nan)
        return pl.Series(share, dtype=pl.Float32).fill_nan(None)


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
        _column(name): pl.Series(total / of, dtype=pl.Float32)
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
