"""Placers decide for containers, one after another, and commit each decision to the state.

The plain placer computes everything anew for every decision. The tests compare the fast placers of
``tracekit.replay.fast`` with it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.policy.placement import Batch, BatchPolicy, PlacementPolicy
from tracekit.policy.view.snapshot import Container, Snapshot, best, fits
from tracekit.replay.engine.state import ReplayState

Clock = Callable[[], float]


class Placer(Protocol):
    """Decides for containers and commits each decision.

    Attributes
    ----------
    way : str
        The name of the method, for comparing latencies.
    latencies_s : list of float
        Wall-clock time of each decision; decisions made in one call each have the mean of the call.
    """

    way: str
    latencies_s: list[float]

    def place(self, indices: IntArray, times_ms: IntArray) -> None:
        """Decide for containers in this order, and start each on its node.

        Parameters
        ----------
        indices, times_ms : int64, shape (containers,)
            Positions of the containers, and the time of each decision. No container departs between
            the first time and the last.
        """

    def changed(self, nodes: IntArray) -> None:
        """Note that containers left these nodes, or came to them other than by this placer."""


@dataclass(frozen=True)
class Proposal:
    """The node that a batched policy proposes for a container.

    Parameters
    ----------
    node : int
        -1 for no node.
    spent_s : float
        The container's share of the time of the batch.
    """

    node: int
    spent_s: float


MakePlacer = Callable[[ReplayState, np.random.Generator, Clock], Placer]


class PlainPlacer:
    """A placer that scores all nodes with room anew for each decision, or each batch of them."""

    way = "plain"

    def __init__(self, state: ReplayState, rng: np.random.Generator, clock: Clock) -> None:
        self.latencies_s: list[float] = []
        self._state, self._rng, self._clock = state, rng, clock
        self._window_start = WindowStart()
        policy = state.policy
        self._batched = policy if isinstance(policy, BatchPolicy) else None

    def place(self, indices: IntArray, times_ms: IntArray) -> None:
        """Decide for each container on its own snapshot, or for each batch on one snapshot.

        The containers of a batch are decided at the time of its last one. No batch spans a sampling
        step, because each call ends before one.
        """
        size = self._batched.batch_size if self._batched else 1
        for start in range(0, len(indices), size):
            some, times = indices[start : start + size], times_ms[start : start + size]
            now = int(times[-1])
            for index, proposed in zip(some.tolist(), self._proposed(some, now), strict=True):
                self._place(index, now, proposed)

    def changed(self, nodes: IntArray) -> None:
        """Do nothing: the plain placer caches nothing."""

    def _proposed(self, indices: IntArray, now: int) -> Sequence[Proposal | None]:
        """A batched policy's proposal for each container of a batch; None for other policies."""
        if self._batched is None:
            return [None] * len(indices)
        state = self._state
        snapshot = state.snapshot(now)
        batch = Batch(
            containers=tuple(state.container(index) for index in indices.tolist()),
            open_nodes=_stacked([state.open_nodes(index) for index in indices.tolist()]),
        )
        began = self._clock()
        nodes = self._batched.select(snapshot, batch, self._rng)
        spent = (self._clock() - began) / len(indices)
        return [Proposal(node, spent) for node in nodes.tolist()]

    def _place(self, index: int, now: int, proposed: Proposal | None) -> None:
        state = self._state
        snapshot, container = state.snapshot(now), state.container(index)
        open_nodes = state.open_nodes(index)
        began = self._clock()
        if proposed and still_fits(state.policy, snapshot, container, open_nodes, proposed.node):
            node: int | None = proposed.node
        else:
            node = decide(
                state.policy,
                snapshot,
                container,
                self._rng,
                open_nodes=open_nodes,
                window_start=self._window_start,
            )
        spent = self._clock() - began
        self.latencies_s.append(spent + (proposed.spent_s if proposed else 0.0))
        if node is not None:
            state.start(index, node, now)


def _stacked(rows: Sequence[BoolArray | None]) -> BoolArray | None:
    limited = [row for row in rows if row is not None]
    return np.stack(limited) if limited else None


# One decision: the container, the nodes with room, the policy's scores, the node.


@dataclass
class WindowStart:
    """The node position where the next search starts, for policies that score only some nodes."""

    start: int = 0


def decide(
    policy: PlacementPolicy,
    snapshot: Snapshot,
    container: Container,
    rng: np.random.Generator,
    *,
    open_nodes: BoolArray | None = None,
    window_start: WindowStart | None = None,
) -> int | None:
    """Return the node that the policy chooses for the container; None where no node has room.

    Parameters
    ----------
    open_nodes : bool, shape (nodes,), optional
        Nodes that constraints leave open to the container; None for all.
    window_start : WindowStart, optional
        Where the search starts. It is one object for all decisions of a replay.
    """
    if "recorded" in policy.reads and container.recorded_node == -1:
        return None  # production never placed the container
    every = np.arange(len(snapshot.allocatable))
    nodes = every[fits(snapshot, container)] if policy.filtered else every
    if open_nodes is not None and policy.filtered:
        nodes = nodes[open_nodes[nodes]]
    if policy.filters():
        nodes = nodes[policy.admits(snapshot, container, nodes)]
    nodes = scored_nodes(policy, nodes, len(every), window_start or WindowStart())
    if len(nodes) == 0:
        return None
    if len(nodes) == 1:
        return int(nodes[0])
    if policy.skips(snapshot, container):
        scores: NDArray[Any] = np.zeros(len(nodes), dtype=np.int64)
    else:
        scores = policy.normalize(policy.score(snapshot, container, nodes))
    return int(nodes[best(scores, policy.tie, rng)])


def scored_nodes(
    policy: PlacementPolicy, feasible: IntArray, nodes: int, window_start: WindowStart
) -> IntArray:
    """Return the feasible nodes that the policy scores, and set the start of the next search."""
    chosen, window_start.start = policy.candidates(feasible, window_start.start, nodes)
    return chosen


def still_fits(
    policy: PlacementPolicy,
    snapshot: Snapshot,
    container: Container,
    open_nodes: BoolArray | None,
    node: int,
) -> bool:
    """Return whether a proposed node can still take the container after earlier placements."""
    if node < 0 or (open_nodes is not None and not open_nodes[node]):
        return False
    at = np.array([node])
    return bool(fits(snapshot, container, at)[0] and policy.admits(snapshot, container, at)[0])


#: The search stops after candidates on a tenth of the nodes, but on at least 100, as upstream's.
_LEAST, _SHARE = 100, 0.1
#: Added to each priority in a sum, so that every summand is positive.
_SHIFT = 2**31


class Preemption:
    """Chooses a node for a container of higher priority, and the containers to evict there.

    Source: kubernetes v1.34 pkg/scheduler/framework/preemption and plugins/defaultpreemption.

    On each node all containers of lower priority are first removed, and then put back one by one as
    long as the new container fits: first those that a disruption budget protects, then the others,
    each group in falling order of priority. Containers that do not fit back are the victims of the
    node. Of the nodes where the new container fits, the one is chosen with

    1. the fewest victims that a budget protects,
    2. the lowest of the highest priorities of victims,
    3. the lowest sum of priorities,
    4. the fewest victims,
    5. the latest start of the victims of the highest priority,
    6. the lowest position.

    A container with preemptionPolicy Never evicts no other. Daemons and members of gangs are never
    evicted, and members of gangs never evict.
    """

    def __init__(self, state: ReplayState, priority: IntArray) -> None:
        load = state.workload
        self._state, self._load, self._priority = state, load, priority
        protected: BoolArray = np.zeros(load.containers.count, dtype=np.bool_)
        if load.rules.daemon is not None:
            protected |= load.rules.daemon
        if load.rules.gang is not None:
            protected |= load.rules.gang >= 0
        self._protected = protected

    def victims(self, index: int, now: int) -> tuple[int, IntArray, int] | None:
        """Return the node for a container, its victims, and how many of them a budget protects.

        None where no eviction makes room. Victims are in the order of the workload.
        """
        load, state = self._load, self._state
        if load.rules.gang is not None and load.rules.gang[index] >= 0:
            return None
        if load.rules.evicts_nobody is not None and load.rules.evicts_nobody[index]:
            return None
        lower = state.running & (self._priority < self._priority[index]) & ~self._protected
        at = np.flatnonzero(lower)
        if not len(at):
            return None
        allowed = state.allowed(now)
        wanted = max(_LEAST, int(_SHARE * load.nodes.count))
        candidates: list[tuple[tuple[int, ...], int, list[int]]] = []
        for node in self._hopeful(index, at, now).tolist():
            those, against = self._on(node, index, at[state.node[at] == node], allowed)
            if those:
                candidates.append(((against, *self._cost(those, node)), node, those))
            # the search continues until it has a candidate that violates no budget
            if len(candidates) >= wanted and any(not cost[0] for cost, *_ in candidates):
                break
        if not candidates:
            return None
        cost, node, chosen = min(candidates)
        return node, np.array(sorted(chosen), dtype=np.int64), cost[0]

    def _hopeful(self, index: int, at: IntArray, now: int) -> IntArray:
        """Nodes with room for the container if all containers of lower priority left."""
        load, state = self._load, self._state
        request = load.containers.request[index]
        free = load.nodes.capacity - state.cluster.requested
        np.add.at(free, state.node[at], load.containers.request[at])
        fits = ((free >= request) | (request == 0)).all(axis=1)
        if state.lost is not None:
            fits &= ~state.lost
        nodes = np.flatnonzero(fits & (np.bincount(state.node[at], minlength=load.nodes.count) > 0))
        if state.policy.filters() and len(nodes):
            container = state.container(index)
            nodes = nodes[state.policy.admits(state.snapshot(now), container, nodes)]
        return nodes

    def _on(
        self, node: int, index: int, lower: IntArray, allowed: IntArray
    ) -> tuple[list[int], int]:
        """The victims of a node, and how many of them a budget protects.

        Empty where no eviction makes room, or none is needed.
        """
        load, state, request = self._load, self._state, self._load.containers.request[index]
        free = (load.nodes.capacity - state.cluster.requested)[node] + load.containers.request[
            lower
        ].sum(axis=0)
        for one in lower.tolist():
            state.set_in_constraints(one, node, gone=True)
        gone = sorted(lower.tolist(), key=lambda one: (-self._priority[one], state.placed_ms[one]))
        against: set[int] = set()
        if load.rules.budgets is not None:
            violated = load.rules.budgets.against(gone, allowed)
            against = {one for one, broken in zip(gone, violated, strict=True) if broken}
            gone.sort(key=lambda one: one not in against)
        victims = []
        if self._fits(index, node, free, request):
            for one in gone:
                free -= load.containers.request[one]
                state.set_in_constraints(one, node, gone=False)
                if not self._fits(index, node, free, request):
                    free += load.containers.request[one]
                    state.set_in_constraints(one, node, gone=True)
                    victims.append(one)
            back = victims
        else:
            back = gone
        for one in back:
            state.set_in_constraints(one, node, gone=False)
        return victims, sum(one in against for one in victims)

    def _fits(self, index: int, node: int, free: IntArray, request: IntArray) -> bool:
        open_nodes = self._state.open_nodes(index)
        room = bool(((free >= request) | (request == 0)).all())
        return room and (open_nodes is None or bool(open_nodes[node]))

    def _cost(self, victims: list[int], node: int) -> tuple[int, ...]:
        """The key by which nodes are compared after their budgets; the smallest is best."""
        priorities = [int(self._priority[one]) for one in victims]
        highest = max(priorities)
        since = min(
            int(self._state.placed_ms[one])
            for one, priority in zip(victims, priorities, strict=True)
            if priority == highest
        )
        total = sum(priority + _SHIFT for priority in priorities)
        return highest, total, len(victims), -since, node


def preemption_of(state: ReplayState) -> Preemption | None:
    """Return the preemption of a replay; None where no container may evict another."""
    load, policy = state.workload, state.policy
    if load.rules.priority is None or not (
        load.rules.preemption and policy.preempts and policy.filtered
    ):
        return None
    return Preemption(state, load.rules.priority)
