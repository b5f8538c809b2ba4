"""Selector spread: the nodes and zones with the fewest containers of the service, up to v1.22."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.cluster.workload import UNKNOWN
from tracekit.policy.placement import PlacementPolicy, Reads, Scores, UsedBy
from tracekit.policy.view.snapshot import Container, Snapshot

_FULL = 100
#: How much of the score is the zone's, where a node states one.
_ZONE_SHARE = 2.0 / 3.0


@dataclass(frozen=True, kw_only=True)
class SelectorSpread(PlacementPolicy):
    """Spread the containers of a service over nodes, and twice as much over zones.

    A container's service stands for what its selectors pick. Only nodes that the container may run
    on are counted. Not modelled: pods that state a spread of their own are not scored upstream.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"peers"})
    source: ClassVar[str] = "kubernetes v1.20 selectorspread/selector_spread.go (NormalizeScore)"
    used_by: ClassVar[UsedBy] = "scheduler"
    best_score = 100
    joint: ClassVar[bool] = True

    def skips(self, snapshot: Snapshot, container: Container) -> bool:  # noqa: ARG002
        """Containers of no known service have no peers."""
        return container.service == UNKNOWN

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """A third for the node, two thirds for its zone: 100 without peers, 0 with the most."""
        peers = snapshot.peers.on_nodes(container.service)[nodes]
        score = _least(peers)
        zones = None if snapshot.domains is None else snapshot.domains.by("zone")
        if zones is not None:
            mine = zones[nodes]
            known = mine >= 0
            sums = np.bincount(mine[known], peers[known], minlength=1)
            of_zone = _least(sums)[np.maximum(mine, 0)]
            both = score * (1.0 - _ZONE_SHARE) + _ZONE_SHARE * of_zone
            score = np.where(known, both, score)
        return score.astype(np.int64)


def _least(counts: FloatArray | IntArray) -> FloatArray:
    """100 for none, 0 for the most, on a line."""
    most = counts.max(initial=0)
    if not most:
        return np.full(len(counts), float(_FULL))
    return np.asarray(_FULL * ((most - counts) / most))
