"""Sampling: the use of each node at the sampling steps, and its measures.

Steps without a move between them are sampled in one call. Sums are taken in the order of arrival,
so that every sampler gives the same bits.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.cluster.workload import Workload
from tracekit.policy.view.usage import UseOverTime
from tracekit.replay.engine.steps import measure_steps
from tracekit.replay.measures.room import Room
from tracekit.replay.measures.sampled import (
    NodeContents,
    Positions,
    Sampled,
    Stretch,
    requested_on,
)

#: About how many numbers of one kind a sampler holds at once, so that they stay in the cache.
AT_ONCE = 2**16

#: Columns of consecutive steps, by their names.
Columns = dict[str, NDArray[Any]]


def chunks(steps: range, size: int) -> Iterator[range]:
    """Yield the steps in chunks of about ``AT_ONCE`` numbers, with ``size`` numbers per step."""
    each = max(AT_ONCE // max(size, 1), 1)
    for start in range(steps.start, steps.stop, each):
        yield range(start, min(start + each, steps.stop))


def joined(parts: Sequence[Columns]) -> Columns:
    """Return the columns of all parts, concatenated along the steps."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def add_up(load: Workload, containers: Positions, node: Positions, steps: range) -> FloatArray:
    """Return each node's use of (cpu, memory), background included, shape (steps, nodes, 2).

    Parameters
    ----------
    containers, node : integers, shape (running,)
        Positions of the containers that run, and the node of each.
    """
    columns = load.use.columns_of(containers)
    parts, shape = slice(steps.start, steps.stop), (len(steps), load.nodes.count)
    where = (node + load.nodes.count * np.arange(len(steps))[:, None]).ravel()
    used = [
        load.use.background[resource, parts]
        + np.bincount(
            where,
            load.use.values[resource, parts].take(columns, axis=1).ravel(),
            len(steps) * load.nodes.count,
        ).reshape(shape)
        for resource in range(2)
    ]
    return np.stack(used, axis=-1)


class Counted(NamedTuple):
    """The requests and the number of running containers on each node, counted from scratch.

    Parameters
    ----------
    requested : int64, shape (nodes, resources)
    containers : int64, shape (nodes,)
    """

    requested: IntArray
    containers: IntArray


class Sampler(Protocol):
    """Adds up the use of running containers by node, in the order of arrival.

    Attributes
    ----------
    over_time : UseOverTime
        The use of each node at the measured steps.
    """

    over_time: UseOverTime

    def sample(
        self,
        running: BoolArray,
        node: IntArray,
        steps: range,
        requested: IntArray | None = None,
    ) -> Iterator[FloatArray]:
        """Yield use over capacity at ``steps``, with background, as (some steps, nodes, 2).

        Parameters
        ----------
        running, node : shape (containers,)
            Whether each container runs, and its node, the same at all steps.
        requested : int64, shape (nodes, resources), optional
            Requests of the running containers; without it they are added up.
        """

    def count(self, running: BoolArray, node: IntArray) -> Counted:
        """Count the running containers and their requests on each node."""

    def measures(self) -> Columns:
        """Return the measures of all steps sampled, by the names of their columns."""


Taken = TypeVar("Taken")


class MeasureBatch(Generic[Taken]):
    """Collects samples, and computes the measures of many steps in one call, which is faster.

    Parameters
    ----------
    sampled : function(stretches, taken) -> (Sampled, dict of arrays, shape (steps,))
        Gets all stretches and samples that were given to ``add`` since its last call. Returns the
        ``Sampled`` from which measures are computed, and the columns that are known already.
    """

    def __init__(
        self,
        load: Workload,
        sampled: Callable[[Sequence[Stretch], Sequence[Taken]], tuple[Sampled, Columns]],
    ) -> None:
        self._nodes, self._sampled = load.nodes.count, sampled
        self.over_time = UseOverTime(load)
        self._waiting: list[tuple[Stretch, Taken]] = []
        self._steps = 0
        self._measured: list[Columns] = []

    def add(self, stretch: Stretch, taken: Taken) -> None:
        """Add the next steps: where the containers run, and the samples taken."""
        self._waiting.append((stretch, taken))
        self._steps += stretch.steps
        if self._steps * self._nodes > AT_ONCE:
            self._measure()

    def measures(self) -> Columns:
        """Return the measures of all steps that were added, by the names of their columns."""
        self._measure()
        return joined(self._measured)

    def _measure(self) -> None:
        if self._waiting:
            sampled, columns = self._sampled(*zip(*self._waiting, strict=True))
            self._measured.append(measure_steps(sampled, columns))
            self.over_time.add(self._waiting[0][0].first, sampled.by_resource)
        self._waiting, self._steps = [], 0


class Used(NamedTuple):
    """Use of cpu and memory by node, shape (steps, nodes, 2) each.

    ``used`` is in millicores and bytes, and ``fractions`` is use over capacity.
    """

    used: FloatArray
    fractions: FloatArray


def measure_batch(load: Workload) -> MeasureBatch[Used]:
    """Return an empty collector for samples of a workload's nodes."""
    room = Room(load)

    def sampled(each: Sequence[Stretch], taken: Sequence[Used]) -> tuple[Sampled, Columns]:
        stretches = unmoved(each)
        samples = Sampled(
            load=load,
            stretches=stretches,
            fractions=np.concatenate([one.fractions for one in taken]),
            add_up=lambda: np.concatenate([one.used for one in taken]),
            computed_contents=NodeContents(load=load, stretches=stretches, room=room),
        )
        return samples, {}

    return MeasureBatch(load, sampled)


def unmoved(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Return the stretches, with neighbours merged that share the same arrays of placements."""
    merged: list[Stretch] = []
    for one in stretches:
        last = merged[-1] if merged else None
        if last and last.containers is one.containers and last.nodes is one.nodes:
            merged[-1] = last._replace(steps=last.steps + one.steps)
        else:
            merged.append(one)
    return merged


class PlainSampler:
    """A sampler that adds up with numpy."""

    def __init__(self, load: Workload) -> None:
        self._load = load
        self._capacity = load.nodes.capacity[:, :2].astype(np.float64)
        self._request = load.containers.request
        self._unmeasured = measure_batch(load)
        self.over_time = self._unmeasured.over_time

    def sample(
        self,
        running: BoolArray,
        node: IntArray,
        steps: range,
        requested: IntArray | None = None,  # noqa: ARG002 - it adds up from scratch
    ) -> Iterator[FloatArray]:
        """Yield the used share of each node's capacity at ``steps``, shape (some steps, nodes, 2).

        It counts the containers' use and the node's use beyond them.
        """
        load, at = self._load, np.flatnonzero(running)
        where = node[at]
        for some in chunks(steps, max(load.nodes.count, len(at))):
            used = add_up(load, at, where, some)
            fractions = used / self._capacity
            stretch = Stretch(len(some), at, where, some.start)
            self._unmeasured.add(stretch, Used(used, fractions))
            yield fractions

    def measures(self) -> Columns:
        """Return the measures of all steps sampled, by the names of their columns."""
        return self._unmeasured.measures()

    def count(self, running: BoolArray, node: IntArray) -> Counted:
        """Count the running containers and their requests on each node."""
        at = np.flatnonzero(running)
        where = node[at]
        requested = requested_on(self._request, at, where, self._load.nodes.count)
        return Counted(requested, np.bincount(where, minlength=self._load.nodes.count))
