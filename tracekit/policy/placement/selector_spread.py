"""Selector spread: the node and zone with the fewest containers of the service, up to v1.22."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.cluster.workload import UNKNOWN
from tracekit.policy.placement import PlacementPolicy, Reads, Scores, UsedBy
from tracekit.policy.view.snapshot import Container, Snapshot

_FULL = 100
#: The share of the zone in the score of a node with a zone.
_ZONE_SHARE = 2.0 / 3.0


@dataclass(frozen=True, kw_only=True)
class SelectorSpread(PlacementPolicy):
    """Spread the containers of a service over nodes, and with twice the weight over zones.

    Containers of the same service count as those that the selectors of the container select. Only
    nodes open to the container count. Upstream does not score pods with their own constraints on
    spread, which is not modelled.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"peers"})
    source: ClassVar[str] = "kubernetes v1.20 selectorspread/selector_spread.go (NormalizeScore)"
    used_by: ClassVar[UsedBy] = "scheduler"
    best_score = 100
    joint: ClassVar[bool] = True

    def skips(self, snapshot: Snapshot, container: Container) -> bool:  # noqa: ARG002
        """Whether the service of the container is unknown, so that it has no peers."""
        return container.service == UNKNOWN

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """One third by the node and two thirds by its zone: 100 without peers, 0 with the most."""
        peers = snapshot.peers.on_nodes(container.service)[nodes]
        score = _least(peers)
        zones = None if snapshot.domains is None else snapshot.domains.by("zone")
        if zones is not None:
            mine = zones[nodes]
            zoned = mine >= 0
            sums = np.bincount(mine[zoned], peers[zoned], minlength=1)
            of_zone = _least(sums)[np.maximum(mine, 0)]
            both = score * (1.0 - _ZONE_SHARE) + _ZONE_SHARE * of_zone
            score = np.where(zoned, both, score)
        return score.astype(np.int64)


def _least(counts: FloatArray | IntArray) -> FloatArray:
    """Scores from 100 for a count of 0 down to 0 for the highest count, linear."""
    most = counts.max(initial=0)
    if not most:
        return np.full(len(counts), float(_FULL))
    return np.asarray(_FULL * ((most - counts) / most))
