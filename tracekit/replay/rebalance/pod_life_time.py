"""Pod life time: evict what has run for longer than it may."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.arrays import IntArray
from tracekit.parameters import About
from tracekit.replay.placement import Reads
from tracekit.replay.rebalance import RebalancePolicy
from tracekit.replay.rebalance._eviction import NodeFit
from tracekit.replay.rebalance._members import fitting
from tracekit.replay.view.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True)
class PodLifeTime(RebalancePolicy):
    """Evict containers that were placed longer ago than a limit, the oldest first."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "placed"})
    source: ClassVar[str] = "descheduler @7d2b28bf podlifetime (PodLifeTime)"

    longest_ms: Annotated[int, About("How long a container may stay on a node.", minimum=0)] = (
        86_400_000
    )
    node_fit: NodeFit = False

    def evict(self, snapshot: Snapshot) -> IntArray:
        """Containers to evict now."""
        placed = snapshot.placed
        old = np.flatnonzero(snapshot.time_ms - placed.time_ms > self.longest_ms)
        if placed.daemon is not None:
            old = old[~placed.daemon[old]]
        oldest = old[np.argsort(placed.time_ms[old], kind="stable")]
        return fitting(snapshot, oldest.tolist(), asked=self.node_fit)
