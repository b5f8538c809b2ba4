"""Inter-pod anti-affinity: evict pods that run beside a pod which their anti-affinity excludes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracekit.base.arrays import BoolArray
from tracekit.policy.placement import Reads
from tracekit.policy.rebalance._turn import Plugin, Turn
from tracekit.policy.rebalance._utilization import turns_of


@dataclass(frozen=True, kw_only=True)
class RemovePodsViolatingInterPodAntiAffinity(Plugin):
    """Evict pods until no pod of a domain violates the required anti-affinity of another pod.

    Pods are evicted node by node, in the order of LowNodeUtilization (``turns_of``).
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "limits", "placed"})
    source: ClassVar[str] = (
        "descheduler @7d2b28bf removepodsviolatinginterpodantiaffinity"
        " (RemovePodsViolatingInterPodAntiAffinity)"
    )

    def run(self, turn: Turn) -> None:
        """Evict one pod after another: an evicted pod violates no anti-affinity any more."""
        remaining = turn.seen.copy()
        full: set[int] = set()
        for at in np.lexsort((turns_of(turn), turn.node)).tolist():
            node = int(turn.node[at])
            if node in full or not turn.may[at] or not self._beside(turn, at, remaining):
                continue
            refused = turn.evict(at) if turn.movable(at) else "namespace"
            if refused is None:
                remaining[at] = False
            elif refused == "node":
                full.add(node)
            elif refused == "total":
                return

    def _beside(self, turn: Turn, at: int, remaining: BoolArray) -> bool:
        """Whether a remaining pod on the node or in the domain violates the pod's anti-affinity."""
        cycle, node = turn.cycle, turn.node
        for rule in cycle.pods.texts[cycle.text[at]].rules:
            if rule.kind != "podAntiAffinity":
                continue
            others = remaining & cycle.pods.meeting(rule.whom)[cycle.text]
            others[at] = False
            domain = cycle.pods.domain(rule.by)
            same = (domain[node] == domain[node[at]]) & (domain[node[at]] >= 0)
            if (others & (same | (node == node[at]))).any():
                return True
        return False
