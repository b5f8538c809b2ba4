"""Remove duplicates: no node shall run more containers of an owner than its even share."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from tracekit.base.parameters import About
from tracekit.cluster.constraints.labels import CLOSING
from tracekit.cluster.workload import UNKNOWN
from tracekit.policy.rebalance._evictor import Texts
from tracekit.policy.rebalance._turn import Plugin, Turn, by_rank, owned_by
from tracekit.policy.view.pods import PodText


@dataclass(frozen=True, kw_only=True)
class RemoveDuplicates(Plugin):
    """Evict what a node runs of an owner, with the same images, beyond its even share, rounded up.

    The share is over the nodes that selectors and taints leave open to the duplicates. Upstream
    leaves it open which of them go: here the least important. A service stands for the owner where
    none is written; containers of no known service are left alone.
    """

    source: ClassVar[str] = "descheduler @7d2b28bf removeduplicates (RemoveDuplicates)"

    not_owner_kinds: Annotated[Texts, About("Kinds of owners whose containers stay.")] = ()

    def chosen(self, turn: Turn) -> list[int]:
        """Owner by owner, node by node."""
        priority = turn.cycle.each(lambda pod: pod.priority, np.float64)
        groups: defaultdict[Any, list[int]] = defaultdict(list)
        keys = [self._key(pod) for pod in turn.cycle.pods.texts]
        some = [at for at in np.flatnonzero(turn.may).tolist() if turn.movable(at)]
        for at in some:
            groups[keys[turn.cycle.text[at]]].append(at)
        groups.pop(None, None)
        found: list[int] = []
        for members in groups.values():
            by_node: defaultdict[int, list[int]] = defaultdict(list)
            for at in by_rank(-priority, np.array(members)):
                by_node[int(turn.node[at])].append(at)
            doubled = [at for those in by_node.values() for at in those[1:]]
            targets = self._targets(turn, doubled)
            if targets < 2:
                continue
            most = -(-len(members) // targets)
            for node in sorted(by_node):
                found += by_node[node][max(most, 1) :]
        return found

    def _key(self, pod: PodText) -> Any:
        if not pod.owners or pod.owners[0][1] == UNKNOWN or owned_by(pod, self.not_owner_kinds):
            return None
        return pod.namespace, pod.owners, pod.images

    def _targets(self, turn: Turn, doubled: list[int]) -> int:
        """How many listed nodes some duplicate may run on; of those with one alone none counts."""
        cycle = turn.cycle
        found = np.zeros(len(cycle.listed), dtype=np.bool_)
        for text in {int(cycle.text[at]) for at in doubled}:
            tolerated = cycle.pods.tolerates(text, lambda taint: taint.effect in CLOSING)
            mine = cycle.listed & cycle.pods.suits(text) & tolerated
            if mine.sum() > 1:
                found |= mine
        return int(found.sum())
