"""Sampling: the use of each node's containers at sampling steps, and its measures.

A stretch of steps in which no container moves is sampled in one go. Sums are taken in the order of
arrival, so that every sampler gives the same bits.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tracekit.arrays import BoolArray, FloatArray, IntArray
from tracekit.replay.engine.steps import measure_steps
from tracekit.replay.view.room import Room
from tracekit.replay.view.sampled import (
    Held,
    Positions,
    Sampled,
    Stretch,
    addable,
    requested_on,
)
from tracekit.replay.workload.workload import Workload

#: Numbers of one kind that a sampler holds at once, about: they stay in the cache.
AT_ONCE = 2**16


def chunks(steps: range, size: int) -> Iterator[range]:
    """Steps in chunks that are worked at at once, ``size`` numbers each."""
    each = max(AT_ONCE // max(size, 1), 1)
    for start in range(steps.start, steps.stop, each):
        yield range(start, min(start + each, steps.stop))


def joined(parts: Sequence[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Columns of consecutive steps, one after another."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def add_up(load: Workload, containers: Positions, node: Positions, steps: range) -> FloatArray:
    """Use of each node by its containers and its background, shape (steps, nodes, 2).

    Parameters
    ----------
    containers, node : integers, shape (running,)
        Positions of the containers that run, and the node of each.
    """
    columns = load.columns_of(containers)
    parts, shape = slice(steps.start, steps.stop), (len(steps), load.nodes)
    where = (node + load.nodes * np.arange(len(steps))[:, None]).ravel()
    used = [
        load.background[resource, parts]
        + np.bincount(
            where,
            load.usage[resource, parts].take(columns, axis=1).ravel(),
            len(steps) * load.nodes,
        ).reshape(shape)
        for resource in range(2)
    ]
    return np.stack(used, axis=-1)


class Counted(NamedTuple):
    """Amounts counted from scratch.

    Parameters
    ----------
    requested : int64, shape (nodes, resources)
    containers : int64, shape (nodes,)
    """

    requested: IntArray
    containers: IntArray


class Sampler(Protocol):
    """Adds up over the containers that run, in the order of arrival."""

    def sample(
        self,
        running: BoolArray,
        node: IntArray,
        steps: range,
        requested: IntArray | None = None,
    ) -> Iterator[FloatArray]:
        """Use over capacity at the next steps, all on these nodes; shapes (some steps, nodes, 2).

        Background counts too. ``requested``, shape (nodes, resources), is what the containers that
        run request, where somebody has kept it; else it is added up.
        """

    def count(self, running: BoolArray, node: IntArray) -> Counted:
        """Running containers and their requests."""

    def measures(self) -> dict[str, NDArray[Any]]:
        """Measures of all steps sampled, by the names of their columns."""


class Unmeasured:
    """Samples that wait for others to be measured with, as calls cost more than steps do."""

    def __init__(self, load: Workload) -> None:
        self._load = load
        self._room = Room(load)
        self._waiting: list[tuple[Stretch, FloatArray, FloatArray]] = []
        self._steps = 0
        self._measured: list[dict[str, NDArray[Any]]] = []

    def add(self, stretch: Stretch, used: FloatArray, fractions: FloatArray) -> None:
        """The next steps: who ran where, their use, and use over capacity (steps, nodes, 2)."""
        self._waiting.append((stretch, used, fractions))
        self._steps += stretch.steps
        if self._steps * self._load.nodes > AT_ONCE:
            self._measure()

    def measures(self) -> dict[str, NDArray[Any]]:
        """Measures of all steps that were added, by the names of their columns."""
        self._measure()
        return joined(self._measured)

    def _measure(self) -> None:
        if not self._waiting:
            return
        each, used, fractions = zip(*self._waiting, strict=True)
        stretches = unmoved(each)
        sampled = Sampled(
            load=self._load,
            stretches=stretches,
            fractions=np.concatenate(fractions),
            add_up=lambda: np.concatenate(used),
            known=Held(load=self._load, stretches=stretches, room=self._room),
        )
        self._measured.append(measure_steps(sampled))
        self._waiting, self._steps = [], 0


def unmoved(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Stretches of one and the same containers on one and the same nodes become one."""
    found: list[Stretch] = []
    for one in stretches:
        last = found[-1] if found else None
        if last and last.containers is one.containers and last.nodes is one.nodes:
            found[-1] = last._replace(steps=last.steps + one.steps)
        else:
            found.append(one)
    return found


class PlainSampler:
    """Adds up with numpy."""

    def __init__(self, load: Workload) -> None:
        self._load = load
        self._capacity = load.capacity[:, :2].astype(np.float64)
        self._request = addable(load.request)
        self._unmeasured = Unmeasured(load)

    def sample(
        self,
        running: BoolArray,
        node: IntArray,
        steps: range,
        requested: IntArray | None = None,  # noqa: ARG002 - it adds up from scratch
    ) -> Iterator[FloatArray]:
        """Use over capacity at the next steps, all on these nodes: (some steps, nodes, 2)."""
        load, at = self._load, np.flatnonzero(running)
        where = node[at]
        for some in chunks(steps, max(load.nodes, len(at))):
            used = add_up(load, at, where, some)
            fractions = used / self._capacity
            self._unmeasured.add(Stretch(len(some), at, where, some.start), used, fractions)
            yield fractions

    def measures(self) -> dict[str, NDArray[Any]]:
        """Measures of all steps sampled, by the names of their columns."""
        return self._unmeasured.measures()

    def count(self, running: BoolArray, node: IntArray) -> Counted:
        """Running containers and their requests."""
        at = np.flatnonzero(running)
        where = node[at]
        requested = requested_on(self._request, at, where, self._load.nodes)
        return Counted(requested, np.bincount(where, minlength=self._load.nodes))
