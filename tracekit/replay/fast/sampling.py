"""The compiled sampler: at each step one pass over the containers and one over the nodes.

numpy takes the means over nodes, because it adds pairwise. So every bit equals that of
``tracekit.replay.engine.sampling.PlainSampler``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, Int32Array, IntArray
from tracekit.base.jit import F2, F3, I1, compiled, compiled_for, types
from tracekit.cluster.workload import Workload
from tracekit.replay.engine.sampling import (
    Columns,
    Counted,
    MeasureBatch,
    add_up,
    chunks,
    unmoved,
)
from tracekit.replay.measures.room import Room
from tracekit.replay.measures.sampled import NodeContents, Sampled, Stretch
from tracekit.replay.measures.use import rank_of, served_share

#: The number of parts of the range in which values are counted; only one part is sorted.
PARTS = 512


@compiled
def order_statistic(values: FloatArray, rank: int, low: float, high: float) -> float:
    """Return the value ``np.sort(values)[rank]``, by sorting one part of the range only.

    Parameters
    ----------
    values : float64, shape (some,)
        Values that are not finite, as of nodes without capacity, are sorted as ``np.sort`` does.
    low, high : float
        The smallest and the largest value.
    """
    if not high > low:
        return float(np.sort(values)[rank])
    scale = (PARTS - 1) / (high - low)
    counts = np.zeros(PARTS, dtype=np.int64)
    for value in values:
        place = (value - low) * scale
        # NaN fails the comparison, so it is never used as an index
        if not 0.0 <= place < PARTS:
            return float(np.sort(values)[rank])
        counts[int(place)] += 1
    part, before = 0, 0
    while before + counts[part] <= rank:
        before += counts[part]
        part += 1
    some = np.empty(counts[part])
    at = 0
    for value in values:
        if int((value - low) * scale) == part:
            some[at] = value
            at += 1
    return float(np.sort(some)[rank - before])


#: The type of series of any memory layout, read-only or not, so that the code compiles once.
_SERIES = types.Array(types.float32, 3, "A", readonly=True)
_SHORTS = types.Array(types.int32, 1, "C")


class CompiledSampler:
    """A sampler in compiled code, with the same bits as the ``PlainSampler`` of the engine."""

    def __init__(self, load: Workload) -> None:
        self._load = load
        self._capacity = load.nodes.capacity[:, :2].astype(np.float64, order="C")
        straight = np.arange(load.containers.count)
        self._column = straight if load.use.column is None else load.use.column
        self._usage, self._background = np.asarray(load.use.values), np.asarray(load.use.background)
        self._unmeasured = MeasureBatch(load, _Looked(load, self._capacity.sum(axis=0)))
        self.over_time = self._unmeasured.over_time

    def sample(
        self,
        running: BoolArray,
        node: IntArray,
        steps: range,
        requested: IntArray | None = None,
    ) -> Iterator[FloatArray]:
        """Yield use over capacity at ``steps``, with background, as (some steps, nodes, 2)."""
        if requested is None:
            requested = self.count(running, node).requested
        at = np.flatnonzero(running)
        where, column = node[at].astype(np.int32), self._column[at].astype(np.int32)
        containers = np.bincount(where, minlength=self._load.nodes.count)
        for some in chunks(steps, self._load.nodes.count):
            made = _empty(len(some), self._load.nodes.count)
            _sample(
                self._usage,
                self._background,
                self._capacity,
                where,
                column,
                containers,
                some.start,
                rank_of(self._load.nodes.count),
                *made,
            )
            stretch = Stretch(len(some), at, where, some.start)
            self._unmeasured.add(stretch, _Taken(made, containers, requested))
            yield made.fractions

    def measures(self) -> Columns:
        """Return the measures of all steps sampled, by the names of their columns."""
        return self._unmeasured.measures()

    def count(self, running: BoolArray, node: IntArray) -> Counted:
        """Count the running containers and their requests on each node."""
        requested = np.zeros((len(self._load.resources), self._load.nodes.count), dtype=np.int64)
        containers = np.zeros(self._load.nodes.count, dtype=np.int64)
        _count(self._load.containers.request, running, node, requested, containers)
        return Counted(requested.T, containers)


class _Looked:
    """Makes the view for the measures from the samples of several steps.

    It has no reference to the sampler: a cycle of objects would keep the matrices of a workload in
    memory for long, and a search for the fewest nodes makes a workload for each count.
    """

    def __init__(self, load: Workload, total: FloatArray) -> None:
        self._load, self._total, self._room = load, total, Room(load)

    def __call__(self, each: Sequence[Stretch], taken: Sequence[_Taken]) -> tuple[Sampled, Columns]:
        """Samples of the stretches, and the columns that the compiled pass gives."""
        stretches = unmoved(each)
        of = {id(one.containers): took for one, took in zip(each, taken, strict=True)}
        held = NodeContents(
            load=self._load,
            stretches=stretches,
            room=self._room,
            counted=np.stack([of[id(one.containers)].requested for one in stretches]),
        )
        made = _together([took.made for took in taken])
        sampled = Sampled(
            load=self._load,
            stretches=stretches,
            fractions=made.fractions,
            add_up=functools.partial(_used, self._load, stretches),
            computed_contents=held,
            computed_by_resource=made.beside,
        )
        containers = np.stack([took.containers for took in taken])
        steps = [one.steps for one in each]
        running, busy = containers.sum(axis=1), np.count_nonzero(containers, axis=1)
        columns = self._columns(made, np.repeat(running, steps), np.repeat(busy, steps))
        return sampled, columns

    def _columns(self, made: _Made, placed: IntArray, busy: IntArray) -> Columns:
        """The columns that the compiled pass has computed; the measures compute all others.

        Parameters
        ----------
        placed, busy : int64, shape (steps,)
            Running containers, and nodes that run any.
        """
        imbalance, difference = made.of_node.mean(axis=-1)
        overloaded, served = made.full[:2]
        # daemons do not count as using their node: with daemons the measure itself counts
        plain = self._load.rules.daemon is None
        used = {"nodes_used": busy}
        # this pass does not see overload by further resources
        full = {"overloaded_nodes": overloaded, "qos_share": served_share(served, placed)}
        return {
            **(used if plain else {}),
            "placed": placed,
            "imbalance": imbalance,
            "spread_fraction": made.ends[0] - made.ends[1],
            "max_fraction": made.ends[0],
            "utilization_difference_fraction": difference,
            **(full if self._load.use.further is None else {}),
            "overload_fraction": made.ends[2] / self._total,
            "p99_fraction": made.percentile,
            "overload_nodes": made.full[2:].T,
        }


class _Made(NamedTuple):
    """The arrays that one compiled call writes.

    Parameters
    ----------
    fractions : float64, shape (steps, nodes, 2)
    of_node : float64, shape (2, steps, nodes)
        Imbalance, and the distance of CPU and memory.
    ends : float64, shape (3, steps, 2)
        Largest and smallest fraction, and use beyond capacity.
    full : int64, shape (4, steps)
        Overloaded nodes, containers on other nodes, nodes short of CPU, nodes short of memory.
    computed_by_resource : float64, shape (2, steps, nodes)
        The fractions by resource.
    percentile : float64, shape (steps, 2)
        The fraction that 99 of 100 nodes do not exceed.
    """

    fractions: FloatArray
    of_node: FloatArray
    ends: FloatArray
    full: IntArray
    beside: FloatArray
    percentile: FloatArray


#: The axis of the steps in each array of ``_Made``.
_AXIS_OF_STEPS = (0, 1, 1, 1, 1, 0)


class _Taken(NamedTuple):
    """The samples of steps without a move between them.

    Parameters
    ----------
    containers : int64, shape (nodes,)
        The number of running containers.
    requested : int64, shape (nodes, resources)
    """

    made: _Made
    containers: IntArray
    requested: IntArray


def _together(each: Sequence[_Made]) -> _Made:
    """The arrays of several calls joined along the steps."""
    if len(each) == 1:
        return each[0]
    parts = zip(zip(*each, strict=True), _AXIS_OF_STEPS, strict=True)
    return _Made(*(np.concatenate(part, axis) for part, axis in parts))


def _used(load: Workload, stretches: Sequence[Stretch]) -> FloatArray:
    """The use of nodes at the steps of stretches, shape (steps, nodes, 2)."""
    return np.concatenate(
        [
            add_up(load, one.containers, one.nodes, range(one.first, one.first + one.steps))
            for one in stretches
        ]
    )


def _empty(steps: int, nodes: int) -> _Made:
    return _Made(
        np.empty((steps, nodes, 2)),
        np.empty((2, steps, nodes)),
        np.zeros((3, steps, 2)),
        np.zeros((4, steps), dtype=np.int64),
        np.empty((2, steps, nodes)),
        np.empty((steps, 2)),
    )


@compiled_for(
    _SERIES, _SERIES, F2, _SHORTS, _SHORTS, I1, types.int64,
    types.int64, F3, F3, F3, types.Array(types.int64, 2, "C"), F3, F2,
)  # fmt: skip
def _sample(
    usage: Float32Array,
    background: Float32Array,
    capacity: FloatArray,
    where: Int32Array,
    column: Int32Array,
    containers: IntArray,
    first: int,
    rank: int,
    fractions: FloatArray,
    of_node: FloatArray,
    ends: FloatArray,
    full: IntArray,
    beside: FloatArray,
    percentile: FloatArray,
) -> None:
    """Fill the arrays of ``_Made``; ``where`` and ``column`` are in order of arrival."""
    steps, nodes = fractions.shape[0], fractions.shape[1]
    for step in range(steps):
        used = fractions[step]
        used[:] = 0.0
        cpu, memory = usage[0, first + step], usage[1, first + step]
        for at in range(len(where)):
            node, its = where[at], column[at]
            used[node, 0] += cpu[its]
            used[node, 1] += memory[its]
        high, low, over = ends[0, step], ends[1, step], ends[2, step]
        high[:], low[:] = -np.inf, np.inf
        for node in range(nodes):
            overloaded = False
            for resource in range(2):
                amount = background[resource, first + step, node] + used[node, resource]
                available = capacity[node, resource]
                share = amount / available
                over[resource] += max(amount - available, 0.0)
                high[resource], low[resource] = (
                    max(high[resource], share),
                    min(low[resource], share),
                )
                overloaded |= share > 1.0
                full[2 + resource, step] += share > 1.0
                used[node, resource] = share
                beside[resource, step, node] = share
            mean = (used[node, 0] + used[node, 1]) / 2.0
            off, other = used[node, 0] - mean, used[node, 1] - mean
            of_node[0, step, node] = np.sqrt(off * off + other * other)
            of_node[1, step, node] = abs(used[node, 0] - used[node, 1])
            if overloaded:
                full[0, step] += 1
            else:
                full[1, step] += containers[node]
        for resource in range(2):
            percentile[step, resource] = order_statistic(
                beside[resource, step], rank, low[resource], high[resource]
            )


@compiled
def _count(
    request: IntArray, running: BoolArray, node: IntArray, requested: IntArray, containers: IntArray
) -> None:
    """Add each running container's requests to its node's, shape (resources, nodes)."""
    for at in range(len(node)):
        if running[at]:
            containers[node[at]] += 1
            for resource in range(len(requested)):
                requested[resource, node[at]] += request[at, resource]
