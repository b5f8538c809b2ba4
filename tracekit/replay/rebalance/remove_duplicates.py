"""Remove duplicates: no node shall run more containers of a service than its even share."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracekit.arrays import IntArray
from tracekit.replay.placement import Reads
from tracekit.replay.rebalance import RebalancePolicy, _members
from tracekit.replay.rebalance._eviction import NodeFit
from tracekit.replay.view.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True)
class RemoveDuplicates(RebalancePolicy):
    """Evict what a node runs of a service beyond its even share, rounded up.

    A service stands for the owner of pods; containers of no known service are left alone. Every
    node counts as a target.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "placed"})
    source: ClassVar[str] = "descheduler @7d2b28bf removeduplicates (RemoveDuplicates)"

    node_fit: NodeFit = False

    def evict(self, snapshot: Snapshot) -> IntArray:
        """Containers to evict now, service by service, node by node."""
        node, nodes = snapshot.placed.node, len(snapshot.capacity)
        found: list[int] = []
        targets = int(_members.nodes_there(snapshot).sum())
        if targets < 2:
            return np.empty(0, dtype=np.int64)
        for members in _members.members_by_service(snapshot):
            most = -(-len(members) // targets)
            counts = np.bincount(node[members], minlength=nodes)
            for over in np.flatnonzero((counts > most) & (counts > 1)).tolist():
                there = _members.evictable_last(snapshot, members[node[members] == over])
                found += there[max(most, 1) :].tolist()
        return _members.fitting(snapshot, found, asked=self.node_fit)
