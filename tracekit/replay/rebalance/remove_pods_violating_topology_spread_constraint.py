"""Topology spread: move containers of a service from full zones to empty ones."""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from tracekit.arrays import IntArray
from tracekit.parameters import About
from tracekit.replay.placement import Reads
from tracekit.replay.rebalance import RebalancePolicy
from tracekit.replay.rebalance._eviction import NodeFit
from tracekit.replay.rebalance._members import (
    evictable_last,
    fitting,
    members_by_service,
    nodes_there,
)
from tracekit.replay.view.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True)
class RemovePodsViolatingTopologySpreadConstraint(RebalancePolicy):
    """Evict from the domains with most of a service until all are within the skew.

    Workloads state no constraints of pods: every service is held to the one given here. Goes with a
    placement policy that spreads, for example pod_topology_spread.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "placed"})
    source: ClassVar[str] = (
        "descheduler @7d2b28bf removepodsviolatingtopologyspreadconstraint/topologyspread"
        "constraint.go (balanceDomains)"
    )

    by: Annotated[
        Literal["node", "rack", "domain", "zone"], About("What services are spread over.")
    ] = "zone"
    max_skew: Annotated[int, About("By how many containers two domains may differ.", minimum=1)] = 1
    node_fit: NodeFit = True

    def evict(self, snapshot: Snapshot) -> IntArray:
        """Containers to evict now, service by service; none where no node states a domain."""
        nodes = len(snapshot.capacity)
        known = np.arange(nodes) if self.by == "node" else None
        if known is None and snapshot.domains is not None:
            known = snapshot.domains.by(self.by)
        if known is None:
            return np.empty(0, dtype=np.int64)
        numbers = np.unique(known[(known >= 0) & nodes_there(snapshot)])
        found: list[int] = []
        for members in members_by_service(snapshot):
            domain = known[snapshot.placed.node[members]]
            rows = [
                evictable_last(snapshot, members[domain == one]).tolist()
                for one in numbers.tolist()
            ]
            found += self._moved(rows)
        return fitting(snapshot, found, asked=self.node_fit)

    def _moved(self, rows: list[list[int]]) -> list[int]:
        """Containers that go from full domains to empty ones; the last of a row goes first."""
        mean = sum(map(len, rows)) / max(len(rows), 1)
        order = sorted(rows, key=len)
        low, high, found = 0, len(order) - 1, []
        while low < high:
            skew = len(order[high]) - len(order[low])
            if len(order[high]) <= mean:
                high -= 1
                continue
            most = min(math.ceil(len(order[high]) - mean), math.ceil(mean - len(order[low])))
            count = min(most, math.ceil((skew - self.max_skew) / 2))
            if skew <= self.max_skew or count <= 0:
                low += 1
                continue
            going = order[high][-count:]
            found += going
            del order[high][-count:]
            order[low] += going
        return list(dict.fromkeys(found))
