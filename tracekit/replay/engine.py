"""The plain engine: walks time forward and scores every feasible node at every decision.

It is the reading of the rules that faster engines are checked against. Events at one time happen
in this order: departures, retries of what waits, arrivals, then the sample of that time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.decision import decide
from tracekit.replay.placement import PlacementPolicy
from tracekit.replay.state import ReplayState
from tracekit.replay.workload import Workload

IntArray = NDArray[np.int64]
Clock = Callable[[], float]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a policy did.

    Parameters
    ----------
    node, time_ms : int64, shape (containers,)
        Where and when each container was placed, -1 for never.
    steps : list of dict
        One row of measures per sampling step.
    latencies_s : list of float
        Wall-clock time of each decision; the only thing here that differs from run to run.
    """

    node: IntArray
    time_ms: IntArray
    steps: list[dict[str, Any]]
    latencies_s: list[float]


class Engine:
    """One replay of one policy; ``run`` may be called once."""

    def __init__(
        self,
        workload: Workload,
        policy: PlacementPolicy,
        rng: np.random.Generator,
        *,
        clock: Clock = time.perf_counter,
    ) -> None:
        self.state = ReplayState(workload, policy)
        self._workload = workload
        self._rng = rng
        self._clock = clock
        self._arrivals = workload.arrival_ms.tolist()
        self._departures = np.argsort(workload.departure_ms, kind="stable").tolist()
        self._arrived = 0
        self._departed = 0
        self._pending: list[int] = []
        self._latencies_s: list[float] = []

    def run(self, each_step: Callable[[], None] = lambda: None) -> Outcome:
        """Replay the whole workload; ``each_step`` is called after every sampling step."""
        rows = []
        for step, now in enumerate(self._workload.times_ms.tolist()):
            self._events_until(now)
            self.state.check_conservation()
            rows.append(self.state.sample(step, len(self._pending)))
            each_step()
        self._events_until(int(self._workload.times_ms[-1]) + self._workload.step_ms - 1)
        return Outcome(
            node=self.state.node,
            time_ms=self.state.placed_ms,
            steps=rows,
            latencies_s=self._latencies_s,
        )

    def _events_until(self, last_ms: int) -> None:
        while True:
            due = [at for at in (self._next_arrival(), self._next_departure()) if at is not None]
            if not due or min(due) > last_ms:
                return
            self._depart(min(due))
            self._arrive(min(due))

    def _next_arrival(self) -> int | None:
        return self._arrivals[self._arrived] if self._arrived < len(self._arrivals) else None

    def _next_departure(self) -> int | None:
        if self._departed == len(self._departures):
            return None
        return int(self._workload.departure_ms[self._departures[self._departed]])

    def _depart(self, now: int) -> None:
        """Let go all that leaves now, then offer what was freed to those that wait."""
        leaving = []
        while self._next_departure() == now:
            leaving.append(self._departures[self._departed])
            self._departed += 1
        stopped = [index for index in leaving if self.state.running[index]]
        for index in stopped:
            self.state.stop(index)
        gone = set(leaving)
        self._pending = [index for index in self._pending if index not in gone]
        if stopped and self._pending:
            self._retry(now)

    def _retry(self, now: int) -> None:
        """Longest waiting first; a shape once refused is refused until more is freed."""
        refused: set[tuple[bytes, str]] = set()
        waiting, self._pending = self._pending, []
        for index in waiting:
            shape = (self._workload.request[index].tobytes(), self._service(index))
            if shape in refused or not self._place(index, now):
                refused.add(shape)
                self._pending.append(index)

    def _service(self, index: int) -> str:
        """What sets a container apart from others of its size: its service, if rules know any."""
        return "" if self._workload.anti_affinity is None else self._workload.services[index]

    def _arrive(self, now: int) -> None:
        while self._next_arrival() == now:
            if not self._place(self._arrived, now):
                self._pending.append(self._arrived)
            self._arrived += 1

    def _place(self, index: int, now: int) -> bool:
        snapshot, container = self.state.snapshot(now), self.state.container(index)
        began = self._clock()
        open_nodes = self.state.open_nodes(index)
        node = decide(self.state.policy, snapshot, container, self._rng, open_nodes=open_nodes)
        self._latencies_s.append(self._clock() - began)
        if node is None:
            return False
        self.state.start(index, node, now)
        return True
