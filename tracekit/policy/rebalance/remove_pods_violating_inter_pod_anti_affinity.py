"""Inter-pod anti-affinity: evict what keeps apart from others and runs near them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracekit.base.arrays import BoolArray
from tracekit.policy.placement import Reads
from tracekit.policy.rebalance._turn import Plugin, Turn
from tracekit.policy.rebalance._utilization import turns_of


@dataclass(frozen=True, kw_only=True)
class RemovePodsViolatingInterPodAntiAffinity(Plugin):
    """Evict pods that require to be apart from one in their domain, until nobody is beside one.

    Node by node, in the order in which pods are evicted from nodes that are used too much.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "limits", "placed"})
    source: ClassVar[str] = (
        "descheduler @7d2b28bf removepodsviolatinginterpodantiaffinity"
        " (RemovePodsViolatingInterPodAntiAffinity)"
    )

    def run(self, turn: Turn) -> None:
        """Evict one after the other: who is gone is beside nobody."""
        there = turn.seen.copy()
        full: set[int] = set()
        for at in np.lexsort((turns_of(turn), turn.node)).tolist():
            node = int(turn.node[at])
            if node in full or not turn.may[at] or not self._beside(turn, at, there):
                continue
            refused = turn.evict(at) if turn.movable(at) else "namespace"
            if refused is None:
                there[at] = False
            elif refused == "node":
                full.add(node)
            elif refused == "total":
                return

    def _beside(self, turn: Turn, at: int, there: BoolArray) -> bool:
        """Whether one from which a pod keeps apart is on its node, or in its domain."""
        cycle, node = turn.cycle, turn.node
        for rule in cycle.pods.texts[cycle.text[at]].rules:
            if rule.kind != "podAntiAffinity":
                continue
            others = there & cycle.pods.meeting(rule.whom)[cycle.text]
            others[at] = False
            domain = cycle.pods.domain(rule.by)
            same = (domain[node] == domain[node[at]]) & (domain[node[at]] >= 0)
            if (others & (same | (node == node[at]))).any():
                return True
        return False
