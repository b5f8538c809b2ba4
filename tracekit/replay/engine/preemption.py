"""Preemption: a container that fits on no node evicts containers of lower priority.

Source: kubernetes v1.34 pkg/scheduler/framework/preemption and plugins/defaultpreemption.

On each node all containers of lower priority are first removed, and then put back one by one as
long as the new container fits: first those that a disruption budget protects, then the others, each
group in falling order of priority. The rest are the victims of the node. Of the nodes where the
container fits, the one is chosen with

1. the fewest victims that a budget protects,
2. the lowest of the highest priorities of victims,
3. the lowest sum of priorities,
4. the fewest victims,
5. the latest start of the victims of the highest priority,
6. the lowest position.

A container with preemptionPolicy Never evicts no other. Daemons and members of gangs are never
evicted, and members of gangs never evict.
"""

from __future__ import annotations

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.replay.engine.state import ReplayState

#: The search stops after candidates on a tenth of the nodes, but on at least 100, as upstream's.
_LEAST, _SHARE = 100, 0.1
#: Added to each priority in a sum, so that every summand is positive.
_SHIFT = 2**31


def preemption_of(state: ReplayState) -> Preemption | None:
    """The preemption of a replay; None where no container may evict another."""
    load, policy = state.workload, state.policy
    if load.rules.priority is None or not (
        load.rules.preemption and policy.preempts and policy.filtered
    ):
        return None
    return Preemption(state, load.rules.priority)


class Preemption:
    """Finds the containers to evict for another one, and their node."""

    def __init__(self, state: ReplayState, priority: IntArray) -> None:
        load = state.workload
        self._state, self._load, self._priority = state, load, priority
        kept: BoolArray = np.zeros(load.containers.count, dtype=np.bool_)
        if load.rules.daemon is not None:
            kept |= load.rules.daemon
        if load.rules.gang is not None:
            kept |= load.rules.gang >= 0
        self._kept = kept

    def victims(self, index: int, now: int) -> tuple[int, IntArray, int] | None:
        """The node for a container, its victims, and how many of them a budget protects.

        None where no eviction makes room. Victims are in the order of the workload.
        """
        load, state = self._load, self._state
        if load.rules.gang is not None and load.rules.gang[index] >= 0:
            return None
        if load.rules.evicts_nobody is not None and load.rules.evicts_nobody[index]:
            return None
        lower = state.running & (self._priority < self._priority[index]) & ~self._kept
        at = np.flatnonzero(lower)
        if not len(at):
            return None
        allowed = state.allowed(now)
        wanted = max(_LEAST, int(_SHARE * load.nodes.count))
        found: list[tuple[tuple[int, ...], int, list[int]]] = []
        for node in self._hopeful(index, at, now).tolist():
            those, against = self._on(node, index, at[state.node[at] == node], allowed)
            if those:
                found.append(((against, *self._cost(those, node)), node, those))
            # the search continues until it has a candidate that violates no budget
            if len(found) >= wanted and any(not cost[0] for cost, *_ in found):
                break
        if not found:
            return None
        cost, node, chosen = min(found)
        return node, np.array(sorted(chosen), dtype=np.int64), cost[0]

    def _hopeful(self, index: int, at: IntArray, now: int) -> IntArray:
        """Nodes that would have room for the container without all those of lower priority."""
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
            state.imagine(one, node, gone=True)
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
                state.imagine(one, node, gone=False)
                if not self._fits(index, node, free, request):
                    free += load.containers.request[one]
                    state.imagine(one, node, gone=True)
                    victims.append(one)
            back = victims
        else:
            back = gone
        for one in back:
            state.imagine(one, node, gone=False)
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
