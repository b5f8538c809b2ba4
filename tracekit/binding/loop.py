"""The replay on vCPUs: containers arrive, are bound, and depart; interference is measured.

Events of one time have the order of ``tracekit.replay.engine.engine``: departures, retries of
waiting containers, arrivals, then the sample. A bound container does not move.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.units import MILLI_PER_CORE
from tracekit.binding.choosers import Chooser
from tracekit.binding.occupancy import InterferenceModel
from tracekit.binding.vcpu_state import VcpuState, request_vcpus
from tracekit.cluster.workload import Workload
from tracekit.interference.options import MOST_CPU
from tracekit.interference.room import VcpuPlaces
from tracekit.replay.engine.sampling import Used, chunks, measure_batch
from tracekit.replay.engine.steps import step_schema
from tracekit.replay.measures.sampled import Stretch

Clock = Callable[[], float]


@dataclass(frozen=True, kw_only=True)
class VcpuOutcome:
    """The result of one replay in which containers were bound to vCPUs.

    Parameters
    ----------
    node, placed_ms, socket : int64, shape (containers,)
        -1 for a container that was never placed. ``socket`` is also -1 for a placed container that
        has no vCPUs of its own.
    vcpus : list of list of int
        The vCPU ids of each container on its host.
    inflation : float64, shape (containers,)
        The CPU that neighbours cost a container, as a fraction of its own vCPUs: the mean over its
        sampling steps, NaN for a container without a step.
    steps : list of dict
        A row for each sampling step, with inflation and the measures of any replay.
    decisions : int
        The number of calls of the chooser.
    decision_s : float
        Wall-clock time of all decisions, which differs from run to run.
    """

    node: IntArray
    placed_ms: IntArray
    socket: IntArray
    vcpus: list[list[int]]
    inflation: FloatArray
    steps: list[dict[str, Any]]
    decisions: int
    decision_s: float


class VcpuReplay:
    """A replay of a workload whose containers a chooser binds to vCPUs. ``run`` may be called once.

    Parameters
    ----------
    model : InterferenceModel
        The model that the chooser decides by.
    service : int64, shape (containers,)
        Position of each container's service in the model.
    respond : bool
        Whether the CPU that neighbours cost a container is added to its measured use.
    truth : InterferenceModel, optional
        The model that this cost is measured by; ``model`` if None.
    start_ms : int64, shape (containers,), optional
        The time of placement of each container by another replay; its arrival if None.
    size : int64, shape (containers,), optional
        The vCPUs of each container; its CPU request, rounded up, if None.
    held_milli : callable, optional
        Returns, for a time in ms, how many millicores of each container's recorded CPU its recorded
        neighbours cost, shape (containers,). They are subtracted before the new cost is added.
    """

    def __init__(
        self,
        workload: Workload,
        room: VcpuPlaces,
        model: InterferenceModel,
        service: IntArray,
        chooser: Chooser,
        rng: np.random.Generator,
        *,
        respond: bool = True,
        truth: InterferenceModel | None = None,
        start_ms: IntArray | None = None,
        size: IntArray | None = None,
        held_milli: Callable[[int], FloatArray] | None = None,
        clock: Clock = time.perf_counter,
    ) -> None:
        self._load, self._chooser, self._rng = workload, chooser, rng
        self._respond, self._clock = respond, clock
        requested = request_vcpus(workload.containers.request, workload.resources)
        self._size = requested if size is None else size
        self._held = held_milli
        # one binding under the model of the chooser and, last, under the true model
        models = [model] if truth is None else [model, truth]
        self._states = [VcpuState(room, one, service, self._size) for one in models]
        self.state = self._states[0]
        self._start = workload.containers.arrival_ms if start_ms is None else start_ms
        self._order = np.argsort(self._start, kind="stable")
        self._leaving = np.argsort(workload.containers.departure_ms, kind="stable")
        self._arrived = self._departed = 0
        self._waiting: list[int] = []
        count = workload.containers.count
        self._node = np.full(count, -1, dtype=np.int64)
        self._placed_ms = np.full(count, -1, dtype=np.int64)
        self._socket = np.full(count, -1, dtype=np.int64)
        self._running = np.zeros(count, dtype=np.bool_)
        self._vcpus: list[list[int]] = [[] for _ in range(count)]
        self._sum, self._steps_run = np.zeros(count), np.zeros(count, dtype=np.int64)
        self._decisions, self._decision_s = 0, 0.0
        self._capacity = workload.nodes.capacity[:, :2].astype(np.float64)
        self._unmeasured = measure_batch(workload)
        self._on_nodes: tuple[IntArray, IntArray] | None = None

    def run(self) -> VcpuOutcome:
        """Replay the whole workload, and return the result."""
        counted: list[dict[str, Any]] = []
        times, step = self._load.use.times_ms, 0
        while step < len(times):
            self._events_until(int(times[step]))
            # between two events no container moves
            end = int(np.searchsorted(times, self._next_event()))
            at, _ = self._running_on()
            for some in chunks(range(step, end), max(self._load.nodes.count, len(at))):
                counted += self._sample(some)
            step = end
        with np.errstate(invalid="ignore"):
            inflation = self._sum / self._steps_run
        return VcpuOutcome(
            node=self._node,
            placed_ms=self._placed_ms,
            socket=self._socket,
            vcpus=self._vcpus,
            inflation=inflation,
            steps=self._rows(counted),
            decisions=self._decisions,
            decision_s=self._decision_s,
        )

    def _next_event(self) -> int:
        """The time of the next arrival or departure."""
        arrival = self._next(self._order, self._arrived, self._start)
        return min(
            arrival, self._next(self._leaving, self._departed, self._load.containers.departure_ms)
        )

    def _events_until(self, last_ms: int) -> None:
        departs = self._load.containers.departure_ms
        while self._next_event() <= last_ms:
            arrival = self._next(self._order, self._arrived, self._start)
            departure = self._next(self._leaving, self._departed, departs)
            if departure <= arrival:
                self._depart(departure)
            else:
                index = int(self._order[self._arrived])
                self._arrived += 1
                if self._start[index] < departs[index] and not self._place(index, arrival):
                    self._waiting.append(index)

    @staticmethod
    def _next(order: IntArray, at: int, times_ms: IntArray) -> int:
        return int(times_ms[order[at]]) if at < len(order) else np.iinfo(np.int64).max

    def _depart(self, now: int) -> None:
        """Remove the containers that depart now, and retry waiting ones if vCPUs were freed."""
        freed = False
        while self._next(self._leaving, self._departed, self._load.containers.departure_ms) == now:
            index = int(self._leaving[self._departed])
            self._departed += 1
            if self._running[index]:
                freed = True
                self._on_nodes = None
                self._running[index] = False
                for state in self._states:
                    state.unbind(index)
        gone = self._load.containers.departure_ms <= now
        self._waiting = [index for index in self._waiting if not gone[index]]
        if freed and self._waiting:
            self._retry(now)

    def _retry(self, now: int) -> None:
        """Retry waiting containers, the longest first, without kinds that were refused before."""
        refused: set[tuple[int, int]] = set()
        waiting, self._waiting = self._waiting, []
        for index in waiting:
            kind = int(self.state.occupancy.service[index]), int(self._size[index])
            if kind in refused or not self._place(index, now):
                refused.add(kind)
                self._waiting.append(index)

    def _place(self, index: int, now: int) -> bool:
        began = self._clock()
        chosen = self._chooser.choose(self.state, index, int(self._size[index]), self._rng)
        self._decision_s += self._clock() - began
        self._decisions += 1
        if chosen is None:
            return False
        host, socket, places = chosen
        self._node[index], self._placed_ms[index] = host, now
        self._running[index] = True
        self._on_nodes = None
        if socket >= 0:
            for state in self._states:
                state.bind(index, socket, places)
            self._socket[index] = socket
            self._vcpus[index] = self.state.vcpus_of(index)
        return True

    def _running_on(self) -> tuple[IntArray, IntArray]:
        """The running containers and their nodes, cached until a container arrives or departs."""
        if self._on_nodes is None:
            at = np.flatnonzero(self._running)
            self._on_nodes = at, self._node[at]
        return self._on_nodes

    def _sample(self, steps: range) -> list[dict[str, Any]]:
        """Take the samples of steps without a move; returns the rows of vCPU measures."""
        load, (at, node) = self._load, self._running_on()
        inflation, size = self._states[-1].inflation[at], self._size[at]
        for _ in steps:
            self._sum[at] += inflation
        self._steps_run[at] += len(steps)
        summed = self._used(steps, inflation)
        stretch = Stretch(len(steps), at, node, steps.start)
        self._unmeasured.add(stretch, Used(summed, summed / self._capacity))
        bound = self._socket[at] >= 0
        counted = {
            "pending": len(self._waiting),
            "moves": 0,
            "moved_again": 0,
            "inflation_mean_fraction": float(inflation.mean()) if len(at) else None,
            "inflation_vcpus": float((size * inflation).sum()),
            "bound": int(bound.sum()),
            "bound_vcpus": int(size[bound].sum()),
        }
        return [
            {"time_ms": now, "settled": bool(now >= load.use.settled_ms), **counted}
            for now in load.use.times_ms[steps.start : steps.stop].tolist()
        ]

    def _used(self, steps: range, inflation: FloatArray) -> FloatArray:
        """The use of each node by its containers with their interference, (steps, nodes, 2)."""
        load, (at, node) = self._load, self._running_on()
        columns = load.use.columns_of(at)
        some, many = slice(steps.start, steps.stop), len(steps)
        cpu = load.use.values[0, some].take(columns, axis=1).astype(np.float64)
        memory = load.use.values[1, some].take(columns, axis=1)
        if self._respond:
            if self._held is not None:
                now = load.use.times_ms[some].tolist()
                cpu = np.maximum(cpu - np.stack([self._held(one)[at] for one in now]), 0.0)
            cpu = cpu + risen(cpu, inflation, self._size[at])
        where = (node + load.nodes.count * np.arange(many)[:, None]).ravel()
        used = [
            load.use.background[resource, some]
            + np.bincount(where, amount.ravel(), many * load.nodes.count).reshape(
                many, load.nodes.count
            )
            for resource, amount in enumerate((cpu, memory))
        ]
        return np.stack(used, axis=-1)

    def _rows(self, counted: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The rows of all steps, with the measures of any replay."""
        if not counted:
            return []
        columns = self._unmeasured.measures()
        names = [name for name in step_schema() if name not in counted[0]]
        measured = zip(*(_without_nan(columns[name].tolist()) for name in names), strict=True)
        return [
            {**dict(zip(names, values, strict=True)), **row}
            for values, row in zip(measured, counted, strict=True)
        ]


def _without_nan(values: list[Any]) -> list[Any]:
    return [None if value != value else value for value in values]  # noqa: PLR0124 - NaN alone


def risen(cpu_milli: FloatArray, inflation: FloatArray, size: IntArray) -> FloatArray:
    """Return the millicores that interference adds to the CPU use of each container.

    ``cpu_milli`` is the use without interference. The sum stays below ``MOST_CPU`` times the
    container's vCPUs, unless the use alone is above.
    """
    room = np.maximum(MOST_CPU * size * MILLI_PER_CORE - cpu_milli, 0.0)
    return np.minimum(inflation * size * MILLI_PER_CORE, room)
