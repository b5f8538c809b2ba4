"""The samples of a replay, the containers by node, and containers that lost their node."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.workload import Workload
from tracekit.policy.view.cluster import TakenOff
from tracekit.policy.view.snapshot import ServiceNames
from tracekit.policy.view.usage import History, Reader
from tracekit.replay.engine.sampling import Counted, PlainSampler, Sampler
from tracekit.replay.engine.steps import step_schema


class Samples:
    """Takes the use samples of a replay, in one call for all steps between two changes.

    Attributes
    ----------
    history : History
        The samples for policies that read usage; complete after ``take``.
    sampler : Sampler
        Adds up the use of the containers on each node.
    """

    def __init__(self, load: Workload, readers: Sequence[Reader]) -> None:
        self.history = History(readers, load)
        self.sampler: Sampler = PlainSampler(load)
        self._load = load
        self._noted = range(0)
        self._pending: list[int] = []
        self._moves: list[int] = []
        self._again: list[int] = []
        self._requested: IntArray | None = None

    def note(self, step: int, pending: int, moves: int, requested: IntArray, again: int) -> None:
        """Note that a step has passed. No container may move until ``take`` is called.

        Parameters
        ----------
        pending : int
            Waiting containers.
        moves, again : int
            Moved containers, and how many of them had been moved before.
        requested : int64, shape (nodes, resources)
            Requests of the containers on each node.
        """
        if not self._noted or self._requested is None:
            # a copy serves all steps until something moves
            self._requested = requested.T.copy().T
            # policies and measures read the copy
            self._requested.flags.writeable = False
        self._noted = range(self._noted.start if self._noted else step, step + 1)
        self._pending.append(pending)
        self._moves.append(moves)
        self._again.append(again)
        self.history.note(step, self._requested)

    def take(self, running: BoolArray, node: IntArray) -> None:
        """Take the samples of all steps noted since the last call."""
        if not self._noted:
            return
        at = self._noted.start
        for fractions in self.sampler.sample(running, node, self._noted, self._requested):
            steps = range(at, at + len(fractions))
            self.history.add(steps, fractions)
            at = steps.stop
        self._noted = range(0)

    def count(self, running: BoolArray, node: IntArray) -> Counted:
        """Count the running containers and their requests on each node, from scratch."""
        return self.sampler.count(running, node)

    def frame(self) -> pl.DataFrame:
        """Return a row of measures for each step whose sample was taken."""
        times = self._load.use.times_ms[: len(self._pending)]
        columns: dict[str, Any] = {
            "time_ms": times,
            "settled": times >= self._load.use.settled_ms,
            "pending": np.array(self._pending, dtype=np.int64),
            "moves": np.array(self._moves, dtype=np.int64),
            "moved_again": np.array(self._again, dtype=np.int64),
        }
        columns.update(self.sampler.measures())
        schema = step_schema(self._load)
        # a third of the time that a frame of plain arrays takes
        return pl.DataFrame(
            [pl.Series(name, columns[name], of, nan_to_null=True) for name, of in schema.items()]
        )


class Residents:
    """The running containers of each node, by their positions in the workload.

    Parameters
    ----------
    running : bool, shape (containers,)
    node : int64, shape (containers,)
        The node of each running container.
    """

    def __init__(self, running: BoolArray, node: IntArray, nodes: int) -> None:
        self._of: list[list[int]] = [[] for _ in range(nodes)]
        at = np.flatnonzero(running)
        for index, where in zip(at.tolist(), node[at].tolist(), strict=True):
            self._of[where].append(index)

    def add(self, index: int, node: int) -> None:
        """Add a container to a node."""
        insort(self._of[node], index)

    def remove(self, index: int, node: int) -> None:
        """Remove a container from a node."""
        those = self._of[node]
        del those[bisect_left(those, index)]

    def on(self, nodes: IntArray) -> IntArray:
        """Return the containers of distinct nodes, in order of arrival, shape (containers,)."""
        containers = np.fromiter(
            chain.from_iterable(self._of[node] for node in nodes.tolist()), np.int64
        )
        containers.sort()
        return containers


# Rows of the running containers, reused from one snapshot to the next. Most changes append
# containers, and then only the new rows are copied. Rows that a policy has seen are never written
# again, and a policy sees no rows of containers that do not run yet.


class Rows(NamedTuple):
    """Columns of a table of containers, one row for each; ``PlacedRows`` caches one.

    Parameters
    ----------
    position : int64, shape (some,)
        In the workload.
    request, limit : int64, shape (some, resources)
    service : object, shape (some,)
    """

    position: IntArray
    request: IntArray
    limit: IntArray
    service: NDArray[np.object_]


class PlacedRows:
    """Gives snapshots the requests, limits and services of running containers, from a cache."""

    def __init__(self, load: Workload) -> None:
        self._load = load
        self._names = np.array(load.containers.services, dtype=object)
        self._rows = self._empty(0)
        self._shown = 0

    def show(self, at: IntArray) -> tuple[IntArray, IntArray, ServiceNames]:
        """Return requests, limits and services of containers in order of arrival; read-only.

        Parameters
        ----------
        at : int64, shape (some,)
            Their positions, ascending.
        """
        if not np.array_equal(self._rows.position[: self._shown], at[: self._shown]):
            self._rows, self._shown = self._empty(len(at)), 0
        elif len(at) > len(self._rows.position):
            before, self._rows = self._rows, self._empty(2 * len(at))
            for old, new in zip(before, self._rows, strict=True):
                new[: self._shown] = old[: self._shown]
        new, load = at[self._shown :], self._load
        parts = (new, load.containers.request[new], load.containers.limit[new], self._names[new])
        for column, part in zip(self._rows, parts, strict=True):
            column[self._shown : len(at)] = part
        self._shown = len(at)
        request, limit = self._rows.request[: len(at)], self._rows.limit[: len(at)]
        for amounts in (request, limit):
            amounts.flags.writeable = False
        return request, limit, ServiceNames(self._rows.service[: len(at)])

    def pick(self, at: IntArray) -> tuple[IntArray, IntArray, ServiceNames]:
        """Return requests, limits and services of a few containers, without cached rows."""
        load = self._load
        return load.containers.request[at], load.containers.limit[at], ServiceNames(self._names[at])

    def _empty(self, rows: int) -> Rows:
        shape = (rows, len(self._load.resources))
        return Rows(
            position=np.empty(rows, dtype=np.int64),
            request=np.empty(shape, dtype=np.int64),
            limit=np.empty(shape, dtype=np.int64),
            service=np.empty(rows, dtype=object),
        )


#: Why a container left its node.
Cause = Literal["loss", "priority", "move"]


class Displaced:
    """Records which containers had to leave their node, why, and which of them never ran again.

    A container never ran again if it waits when it departs or when the replay ends. It counts under
    the last cause that took it off a node.

    Attributes
    ----------
    against_budget : int
        The number of evictions for a higher priority that a disruption budget forbids.
    """

    def __init__(self) -> None:
        self.against_budget = 0
        self._preempted: list[int] = []
        self._lost: set[int] = set()
        self._last: dict[int, Cause] = {}
        self._not_again: set[int] = set()

    def off(self, containers: IntArray, cause: Cause) -> None:
        """Note that these containers had to leave their nodes, with the cause."""
        some = containers.tolist()
        self._last.update(dict.fromkeys(some, cause))
        if cause == "loss":
            self._lost.update(some)
        elif cause == "priority":
            self._preempted.extend(some)

    def waited_in_vain(self, containers: Iterable[int]) -> None:
        """Note that these containers waited when they departed, or when the replay ended."""
        self._not_again.update(one for one in containers if one in self._last)

    def taken_off(self) -> TakenOff:
        """Return the containers by cause, ascending; ``preempted`` is in order of eviction."""
        return TakenOff(
            evicted=_in_order(self._lost),
            preempted=np.array(self._preempted, dtype=np.int64),
            against_budget=self.against_budget,
            unplaced_after_eviction=self.not_again("priority"),
            unplaced_after_loss=self.not_again("loss"),
        )

    def not_again(self, cause: Cause | None = None) -> IntArray:
        """Return the containers that never ran again, for one cause or for all, ascending."""
        return _in_order(one for one in self._not_again if cause in {None, self._last[one]})


def _in_order(some: Iterable[int]) -> IntArray:
    return np.array(sorted(some), dtype=np.int64)
