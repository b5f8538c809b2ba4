"""Remove duplicates: no node runs more containers of an owner than an even share."""

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
    """Evict containers of one owner and the same images from nodes with more than an even share.

    The share is over the nodes that selectors and taints leave open, rounded up. Upstream does not
    say which duplicates go; here those of the lowest priority do. Where no owner is recorded the
    service counts as the owner; containers of an unknown service stay.
    """

    source: ClassVar[str] = "descheduler @7d2b28bf removeduplicates (RemoveDuplicates)"

    not_owner_kinds: Annotated[Texts, About("Kinds of owners whose containers stay.")] = ()

    def chosen(self, turn: Turn) -> list[int]:
        """The containers to evict, owner by owner and node by node."""
        priority = turn.cycle.each(lambda pod: pod.priority, np.float64)
        groups: defaultdict[Any, list[int]] = defaultdict(list)
        keys = [self._key(pod) for pod in turn.cycle.pods.texts]
        some = [at for at in np.flatnonzero(turn.may).tolist() if turn.movable(at)]
        for at in some:
            groups[keys[turn.cycle.text[at]]].append(at)
        groups.pop(None, None)
        evicted: list[int] = []
        for members in groups.values():
            by_node: defaultdict[int, list[int]] = defaultdict(list)
            for at in by_rank(-priority, np.array(members)):
                by_node[int(turn.node[at])].append(at)
            doubled = [at for some in by_node.values() for at in some[1:]]
            targets = self._targets(turn, doubled)
            if targets < 2:
                continue
            most = -(-len(members) // targets)
            for node in sorted(by_node):
                evicted += by_node[node][max(most, 1) :]
        return evicted

    def _key(self, pod: PodText) -> Any:
        if not pod.owners or pod.owners[0][1] == UNKNOWN or owned_by(pod, self.not_owner_kinds):
            return None
        return pod.namespace, pod.owners, pod.images

    def _targets(self, turn: Turn, doubled: list[int]) -> int:
        """The number of listed nodes open to a duplicate that has two open nodes or more."""
        cycle = turn.cycle
        targets = np.zeros(len(cycle.listed), dtype=np.bool_)
        for text in {int(cycle.text[at]) for at in doubled}:
            tolerated = cycle.pods.tolerates(text, lambda taint: taint.effect in CLOSING)
            mine = cycle.listed & cycle.pods.suits(text) & tolerated
            if mine.sum() > 1:
                targets |= mine
        return int(targets.sum())
