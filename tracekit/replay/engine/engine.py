"""The engine: replays arrivals, departures and losses in the order of time, and takes samples.

Events at one time happen in this order: departures, losses of nodes, nodes that join, gangs that
give up, retries of waiting containers, arrivals, the sample, rebalancing. Where containers have
different priorities, waiting and arriving containers form one queue, ordered by priority first.

A placer decides. The plain placer computes everything anew for every decision; every other placer
must make the same decisions.
"""

import time
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.gangs import runs
from tracekit.cluster.workload import Workload
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.rebalance import RebalancePolicy
from tracekit.replay.engine.placer import Clock, MakePlacer, PlainPlacer, preemption_of
from tracekit.replay.engine.queueing import Calendar, Gangs, GangTimers, queue_key
from tracekit.replay.engine.samples import Displaced
from tracekit.replay.engine.state import ReplayState
from tracekit.replay.engine.steps import Outcome


class Engine:
    """One replay of one policy; ``run`` may be called once.

    Parameters
    ----------
    placer : function(state, rng, clock) -> Placer
    rebalance : RebalancePolicy, optional
        Evicts containers once in its interval. The placement policy places the evicted
        containers again at the next sampling step.
    """

    def __init__(
        self,
        workload: Workload,
        policy: PlacementPolicy,
        rng: np.random.Generator,
        *,
        placer: MakePlacer = PlainPlacer,
        rebalance: RebalancePolicy | None = None,
        clock: Clock = time.perf_counter,
    ) -> None:
        self.state = ReplayState(workload, policy, rebalance)
        self._placer = placer(self.state, rng, clock)
        self._workload = workload
        self._calendar = Calendar(workload)
        # the recorded placement obeys no filter, and so no gang
        held = workload.rules.gang is not None and policy.filtered
        self._gangs = Gangs(workload) if held else None
        self._pinned = None if workload.rules.pinned is None else workload.rules.pinned.copy()
        self._turn = queue_key(workload)
        self._arrived = 0
        self._pending: list[int] = []
        self._rebalanced_ms = int(workload.use.times_ms[0])
        self._evicted, self._again = 0, 0
        self._patience = GangTimers(workload, policy)
        self._displaced = Displaced()
        self._preemption = None if self._turn is None else preemption_of(self.state)

    def run(self, each_step: Callable[[], None] = lambda: None) -> Outcome:
        """Replay the whole workload, and call ``each_step`` after every sampling step."""
        for step, now in enumerate(self._workload.use.times_ms.tolist()):
            self._events_until(now)
            moves, again = self._place_evicted(now)
            self.state.pass_step(step, self._waiting(now), moves, again)
            if now < self._workload.use.times_ms[-1]:  # evictions are placed at the next step
                self._rebalance(now)
            each_step()
        steps = self.state.finish()
        self._events_until(int(self._workload.use.times_ms[-1]) + self._workload.use.step_ms - 1)
        self._pending.extend(self._let_go(sorted(self._patience.holding)))
        self.state.check_conservation()
        self._displaced.waited_in_vain(self._pending)
        # a container that lost its node and got no other one counts as unplaced
        unplaced = self._displaced.not_again()
        self.state.node[unplaced] = self.state.placed_ms[unplaced] = -1
        return Outcome(
            taken_off=self._displaced.taken_off(),
            node=self.state.node,
            time_ms=self.state.placed_ms,
            steps=steps,
            moves=self.state.moves.frame(),
            stays=self.state.moves.staying(),
            latencies_s=self._placer.latencies_s,
            way=self._placer.way,
            over_time=self.state.samples.sampler.over_time.result(),
            conflicts=self.state.conflicts,
        )

    def _events_until(self, last_ms: int) -> None:
        """Process all events up to this time; arrivals between two events are placed together."""
        arrivals = self._workload.containers.arrival_ms
        while True:
            event = self._next_event(last_ms)
            until = min(event - 1, last_ms)
            if self._patience.clocks and self._arrived < len(arrivals):
                until = min(until, int(arrivals[self._arrived]))  # an arrival may set a clock
            end = int(np.searchsorted(arrivals, until, side="right"))
            if end > self._arrived:
                self._arrive(np.arange(self._arrived, end))
                self._let_in(int(arrivals[end - 1]))
                self._arrived = end
                continue
            if event > last_ms:
                return
            self._happens(event)

    def _next_event(self, last_ms: int) -> int:
        """The time of the next event that is no arrival; ``last_ms`` + 1 where there is none."""
        times = (self._calendar.next_ms(), self._patience.next_ms())
        return min([last_ms + 1, *(time for time in times if time is not None)])

    def _happens(self, now: int) -> None:
        """Process departures, losses, joins and clocks of this time, then retry what waits."""
        freed = self._depart(now)
        if self._gangs is not None:
            holding, running = self._patience.holding, self.state.running
            for gang in self._gangs.hold_enough(holding, running, self.state.node, now):
                self._begin(gang, now)
        freed |= self._lose(now)
        freed |= self._join(now)
        over, again = self._patience.due(now)
        let_go = self._let_go(over)
        freed |= len(let_go) > 0
        if self._turn is not None and self._gangs is None and freed and self._pending:
            self._join_queue(now)
        if self._pending and (freed or again):
            self._retry(now)
            self._let_in(now)
        if let_go:  # other waiting containers come before those of rejected gangs
            self._pending.extend(let_go)
            self._retry(now)

    def _let_in(self, now: int) -> None:
        """Retry containers that waited for the arrival of others, until no more of them fit.

        With preemption, containers that still wait then evict containers of lower priority.
        """
        awaits = self.state.awaits
        waiting = -1
        while awaits is not None and self._pending and len(self._pending) != waiting:
            waiting = len(self._pending)
            self._retry(now, awaits)
        self._preempt(now)

    def _preempt(self, now: int) -> None:
        """Let waiting containers evict others of lower priority; these may evict in turn."""
        if self._preemption is None or self._turn is None:
            return
        evicted = True
        while evicted:
            evicted = False
            refused: set[tuple[bytes, Hashable, int]] = set()
            for index in sorted(self._pending, key=self._turn):
                shape = (
                    self._workload.containers.request[index].tobytes(),
                    self.state.kind(index),
                    self._turn(index),
                )
                preempted = None if shape in refused else self._preemption.victims(index, now)
                if preempted is None:
                    refused.add(shape)
                    continue
                node, victims, against = preempted
                self._displaced.against_budget += against
                self._stop(victims)
                self.state.start(index, node, now)
                self._placer.changed(np.array([node]))
                self._pending.remove(index)
                self._pending.extend(victims.tolist())
                self._displaced.off(victims, "priority")
                evicted = True
            if evicted:
                self._retry(now)

    def _join_queue(self, now: int) -> None:
        """Put the containers that arrive now into the queue of waiting containers."""
        end = int(np.searchsorted(self._workload.containers.arrival_ms, now, side="right"))
        self._pending.extend(range(self._arrived, end))
        self._arrived = max(end, self._arrived)

    def _arrive(self, indices: IntArray) -> None:
        times = self._workload.containers.arrival_ms[indices]
        if self._turn is not None:
            turn = np.array([self._turn(index) for index in indices.tolist()])
            daemon = self._workload.rules.daemon
            first = np.ones(len(indices)) if daemon is None else ~daemon[indices]
            indices = indices[np.lexsort((indices, turn, first, times))]
        if self._gangs is None:
            self._place(indices, times)
            self._pending.extend(indices[~self.state.running[indices]].tolist())
            return
        for start, end in self._gangs.pieces(indices):
            self._gang_arrives(self._gangs, indices[start:end], times[start:end])

    def _gang_arrives(self, gangs: Gangs, new: IntArray, times: IntArray) -> None:
        """Try the new members of a gang together with its waiting members."""
        running = self.state.running
        waiting = gangs.waiting(self._pending, int(new[0]))
        some = np.concatenate([waiting, new])
        self._place_gang(gangs, some, np.concatenate([np.full(len(waiting), times[0]), times]))
        if len(waiting):
            self._pending = [index for index in self._pending if not running[index]]
        self._pending.extend(new[~running[new]].tolist())

    def _place_gang(self, gangs: Gangs, indices: IntArray, times: IntArray) -> None:
        """Place the members that a gang needs, or none; without enough members none is tried."""
        gang, now = gangs.of(int(indices[0])), int(times[-1])
        patience, state = self._patience, self.state
        pinned = (
            np.zeros(len(indices), bool) if self._pinned is None else self._pinned[indices] >= 0
        )
        needed, free = gangs.needed(indices, state.node, now), indices[~pinned]
        if len(indices) < needed or patience.backed_off(gang, now):
            if pinned.any():
                self._place(indices[pinned], times[pinned])
            return
        self._place(indices, times)
        placed = state.running[indices]
        if placed.sum() >= needed:
            self._begin(gang, now)
        elif patience.wait_ms and gangs.small_gap(indices, state.running, state.node, needed):
            patience.hold(gang, indices[placed & ~pinned].tolist(), now)
            state.hold(indices[placed & ~pinned])
        else:
            self._take_back(free)
            patience.step_back(gang, now)
            self._pending.extend(self._let_go([gang]))

    def _begin(self, gang: int, now: int) -> None:
        """Let the members of a gang that hold nodes begin to run."""
        held = self._patience.ended(gang)
        self.state.begin(held[self.state.running[held]], now)

    def _take_back(self, members: IntArray) -> None:
        """Undo the placement of members of a gang."""
        running = self.state.running
        back = [self.state.undo(index) for index in members[running[members]].tolist()]
        self._placer.changed(np.array(back, dtype=np.int64))

    def _let_go(self, gangs: Sequence[int]) -> list[int]:
        """Free the nodes that members of gangs hold, and return these members."""
        freed: list[int] = []
        for gang in gangs:
            held = self._patience.ended(gang)
            held = held[self.state.running[held]]
            self._take_back(held)
            freed.extend(held.tolist())
        return freed

    def _waiting(self, now: int) -> int:
        """The number of containers that wait for a node or hold one.

        Containers that wait for the arrival of members of their gang do not count.
        """
        held = 0 if self.state.holding is None else int(self.state.holding.sum())
        few = 0
        if self._gangs is not None:
            node = self.state.node
            few = self._gangs.awaiting_others(self._pending, self._arrived, node, now)
        return len(self._pending) + held - few

    def _place(self, indices: IntArray, times: IntArray) -> None:
        """Place containers: a pinned one goes to its node the first time, others by the policy."""
        if self._pinned is None:
            self._placer.place(indices, times)
            return
        pinned = self._pinned[indices]
        for start, end in runs((pinned >= 0).astype(np.int64)):
            if pinned[start] < 0:
                self._placer.place(indices[start:end], times[start:end])
                continue
            for at in range(start, end):
                self.state.start(int(indices[at]), int(pinned[at]), int(times[at]))
            self._placer.changed(pinned[start:end])
            self._pinned[indices[start:end]] = -1

    def _depart(self, now: int) -> bool:
        """Stop the containers that depart now; returns whether a waiting one may start then."""
        leaving = self._calendar.departing(now)
        running = self.state.running[leaving]
        self._stop(leaving[running])
        waited = leaving[~running]
        if not len(waited):
            return len(leaving) > 0
        self._displaced.waited_in_vain(waited.tolist())
        gone = set(waited.tolist())
        self._pending = [index for index in self._pending if index not in gone]
        fewer = self._gangs is not None and self._gangs.fewer_are_enough(waited)
        return fewer or bool(running.any())

    def _lose(self, now: int) -> bool:
        """Empty and close the nodes that are lost now; returns whether any container ran there."""
        nodes = self._calendar.lost(now)
        evicted = self.state.lose(nodes) if len(nodes) else nodes
        self._stop(evicted)
        self._pending.extend(evicted.tolist())
        self._displaced.off(evicted, "loss")
        return len(evicted) > 0

    def _join(self, now: int) -> bool:
        """Open the nodes that join now; returns whether there are any."""
        nodes = self._calendar.joined(now)
        if len(nodes):
            self.state.join(nodes)
            self._placer.changed(nodes)
        return len(nodes) > 0

    def _stop(self, indices: IntArray) -> None:
        nodes = [self.state.stop(index) for index in indices.tolist()]
        self._placer.changed(np.array(nodes, dtype=np.int64))

    def _retry(self, now: int, some: BoolArray | None = None) -> None:
        """Try waiting containers in the order of priority, then of waiting time.

        A shape that got no node is not tried again in this call. Without gangs, ``some``, bool,
        shape (containers,), limits the containers that are tried.
        """
        waiting = self._pending if self._turn is None else sorted(self._pending, key=self._turn)
        if self._gangs is not None:
            self._retry_gangs(self._gangs, waiting, now)
            return
        refused: set[tuple[bytes, Hashable]] = set()
        self._pending = []
        for index in waiting:
            shape = (self._workload.containers.request[index].tobytes(), self.state.kind(index))
            tried = some is None or some[index]
            asks = self._pinned is None or self._pinned[index] < 0
            if tried and not (asks and shape in refused):
                self._place(np.array([index]), np.array([now]))
            if not self.state.running[index]:
                if tried:
                    refused.add(shape)
                self._pending.append(index)

    def _retry_gangs(self, gangs: Gangs, waiting: list[int], now: int) -> None:
        """As ``_retry``, gang by gang; a gang that runs in part is tried with its other members."""
        self._pending = []
        for some in gangs.together(np.array(waiting, dtype=np.int64)):
            self._place_gang(gangs, some, np.full(len(some), now))
        running = self.state.running
        self._pending = [*(index for index in waiting if not running[index]), *self._pending]

    def _rebalance(self, now: int) -> None:
        policy = self.state.rebalance
        if policy is None or now - self._rebalanced_ms < policy.interval_ms:
            return
        self._rebalanced_ms = now
        evicted, strategies = self.state.evict(now)
        moves = self.state.moves
        self._evicted, self._again = len(evicted), int(moves.moved(evicted).sum())
        moves.evicted(now, evicted, self.state.node[evicted], strategies)
        self._stop(evicted)
        self._displaced.off(evicted, "move")
        self._pending.extend(evicted.tolist())

    def _place_evicted(self, now: int) -> tuple[int, int]:
        """Retry all waiting containers after evictions.

        Returns the number of evictions, and how many of them are of containers evicted before.
        """
        evicted, again = self._evicted, self._again
        self._evicted, self._again = 0, 0
        if evicted:
            self._retry(now)
            self._let_in(now)
        return evicted, again
