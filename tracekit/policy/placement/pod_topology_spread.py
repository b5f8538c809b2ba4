"""Pod topology spread: the nodes, racks and zones with the fewest containers of the service."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About, Pairs, ParameterError
from tracekit.cluster.nodes import KINDS
from tracekit.cluster.workload import UNKNOWN
from tracekit.policy.placement import PlacementPolicy, Reads, Scores, UsedBy
from tracekit.policy.view.snapshot import Container, Snapshot

NODE = "node"
_FULL = 100


@dataclass(frozen=True, kw_only=True)
class PodTopologySpread(PlacementPolicy):
    """Spread the containers of a service over nodes and zones, as far as may be.

    The constraints are those that kube-scheduler gives to pods that state none. A domain that no
    node of the workload states tells nothing apart. All nodes count, whether or not a container may
    run there.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"peers"})
    source: ClassVar[str] = (
        "kubernetes v1.34 podtopologyspread/scoring.go (PodTopologySpread, ScheduleAnyway)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"
    best_score = 100
    joint: ClassVar[bool] = True

    constraints: Annotated[
        Pairs, About("What to spread over, node, rack, domain or zone, and the skew allowed.")
    ] = ((NODE, 3), ("zone", 5))
    every_domain: Annotated[
        bool, About("Whether a node that lacks one of the domains scores 0, as with own lists.")
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, skew in self.constraints:
            if name not in (NODE, *KINDS) or skew < 1:
                raise ParameterError(
                    "constraints",
                    f"constraint {name}:{skew} must be one of {', '.join((NODE, *KINDS))} with a"
                    " skew of at least 1",
                )

    def skips(self, snapshot: Snapshot, container: Container) -> bool:  # noqa: ARG002
        """Containers of no known service have no peers."""
        return container.service == UNKNOWN

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """100 where the weighted sum of peers is least, 0 where it is twice what it is at most."""
        parts = self._parts(snapshot, container, nodes)
        lacks = np.zeros(len(nodes), dtype=np.bool_)
        total = np.zeros(len(nodes))
        for part in parts.values():
            lacks |= np.isnan(part)
            total += np.nan_to_num(part, nan=0.0)
        ignored = lacks & self.every_domain
        counted = np.floor(total + 0.5).astype(np.int64)
        if ignored.all():
            return np.zeros(len(nodes), dtype=np.int64)
        low, high = int(counted[~ignored].min()), int(counted[~ignored].max())
        if high == 0:
            return np.where(ignored, 0, _FULL).astype(np.int64)
        return np.where(ignored, 0, _FULL * (high + low - counted) // high).astype(np.int64)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """The weighted number of peers by each constraint; NaN where a node is in no domain."""
        return self._parts(snapshot, container, nodes)

    def _parts(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        peers = snapshot.peers.on_nodes(container.service)
        found = {}
        for by, skew in self.constraints:
            domain = _domain(snapshot, by, len(peers))
            mine = domain[nodes]
            inside = domain >= 0
            sums = np.bincount(domain[inside], peers[inside], minlength=1)
            weight = np.log(len(np.unique(mine[mine >= 0])) + 2.0)
            known = sums[np.maximum(mine, 0)] * weight + (skew - 1.0)
            found[f"peers by {by}"] = np.where(mine >= 0, known, np.nan)
        return found


def _domain(snapshot: Snapshot, by: str, nodes: int) -> IntArray:
    """The domain of every node, -1 where it is in none."""
    if by == NODE:
        return np.arange(nodes)
    known = None if snapshot.domains is None else snapshot.domains.by(by)
    return np.full(nodes, -1) if known is None else known
