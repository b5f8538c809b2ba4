"""Preemption: a container that fits nowhere takes the place of others of lower priority.

Source: kubernetes v1.34 pkg/scheduler/framework/preemption and plugins/defaultpreemption. On a node
all containers of lower priority would go; those that leave room for it stay: first those whose
eviction is against a budget of disruption, the highest priority first, then the others, the same
way. Of the nodes where that makes room the one is taken with fewest evictions against a budget,
then whose highest evicted priority is lowest, then whose evicted priorities are lowest together,
then with fewest of them, then where the highest of them has run for the shortest time, then the
first. A container with preemptionPolicy Never waits and evicts no other. Daemons and members of
gangs are not evicted, and members of gangs evict nobody.
"""

from __future__ import annotations

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.replay.engine.state import ReplayState

#: As the real scheduler looks for candidates: a tenth of the nodes, and at least so many.
_LEAST, _SHARE = 100, 0.1
#: What makes a priority positive in the sum of those that are evicted.
_SHIFT = 2**31


def preemption_of(state: ReplayState) -> Preemption | None:
    """The preemption of a replay; None where nobody may evict anybody."""
    load, policy = state.workload, state.policy
    if load.rules.priority is None or not (
        load.rules.preemption and policy.preempts and policy.filtered
    ):
        return None
    return Preemption(state, load.rules.priority)


class Preemption:
    """The containers to evict for another one, and their node."""

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
        """The node for a container, whom to evict there, and how many of these against a budget.

        None where nothing helps.

        Of equal nodes it is the first. Victims are in the order of the workload.
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
            # the search goes on until it has one that is against no budget
            if len(found) >= wanted and any(not cost[0] for cost, *_ in found):
                break
        if not found:
            return None
        cost, node, chosen = min(found)
        return node, np.array(sorted(chosen), dtype=np.int64), cost[0]

    def _hopeful(self, index: int, at: IntArray, now: int) -> IntArray:
        """Nodes where there is room once all of lower priority have gone, and that may take it."""
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
        """The containers to evict from a node, and how many of them against a budget.

        Empty where that does not help, or no eviction is needed.
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
            told = load.rules.budgets.against(gone, allowed)
            against = {one for one, broken in zip(gone, told, strict=True) if broken}
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
        """The key of comparison; the least is best."""
        priorities = [int(self._priority[one]) for one in victims]
        highest = max(priorities)
        since = min(
            int(self._state.placed_ms[one])
            for one, priority in zip(victims, priorities, strict=True)
            if priority == highest
        )
        total = sum(priority + _SHIFT for priority in priorities)
        return highest, total, len(victims), -since, node
