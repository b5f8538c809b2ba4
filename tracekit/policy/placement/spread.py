"""Spreading the containers of a service over nodes and domains."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About, Pairs, ParameterError
from tracekit.cluster.parts import KINDS
from tracekit.cluster.workload import UNKNOWN
from tracekit.policy.placement import PlacementPolicy, Reads, Scores, UsedBy
from tracekit.policy.view.snapshot import Container, Snapshot

_FULL = 100
#: The share of the zone in the score of a node with a zone.
_ZONE_SHARE = 2.0 / 3.0


@dataclass(frozen=True, kw_only=True)
class SelectorSpread(PlacementPolicy):
    """Spread the containers of a service over nodes, and with twice the weight over zones.

    A selector is taken to select all containers of the service. Only nodes open to the container
    count. Upstream does not score pods with their own constraints on spread, which is not modelled.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"peers"})
    source: ClassVar[str] = "kubernetes v1.20 selectorspread/selector_spread.go (NormalizeScore)"
    used_by: ClassVar[UsedBy] = "scheduler"
    best_score = 100
    joint: ClassVar[bool] = True

    def skips(self, snapshot: Snapshot, container: Container) -> bool:  # noqa: ARG002
        """Return whether the service of the container is unknown, so that it has no peers."""
        return container.service == UNKNOWN

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return scores from 100 without peers to 0 with the most peers.

        One third of a score is by the node, and two thirds are by the node's zone.
        """
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


NODE = "node"


@dataclass(frozen=True, kw_only=True)
class PodTopologySpread(PlacementPolicy):
    """Spread the containers of a service over nodes and zones.

    The constraints are kube-scheduler's defaults for pods without constraints. A constraint on
    domains that no node states changes nothing. All nodes count, also nodes that are closed to the
    container.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"peers"})
    source: ClassVar[str] = (
        "kubernetes v1.34 podtopologyspread/scoring.go (PodTopologySpread, ScheduleAnyway)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"
    best_score = 100
    joint: ClassVar[bool] = True

    constraints: Annotated[
        Pairs, About("Domains to spread over, node, rack, domain or zone, and the allowed skew.")
    ] = ((NODE, 3), ("zone", 5))
    every_domain: Annotated[
        bool, About("Whether a node without one of the domains scores 0, as under a List.")
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
        """Return whether the service of the container is unknown, so that it has no peers."""
        return container.service == UNKNOWN

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return ``100 (high + low - v) / high`` for each node's weighted number v of peers.

        Peers are the service's running containers; low and high are the extremes of v.
        """
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
        """Return the weighted number of peers by constraint; NaN for a node without the domain."""
        return self._parts(snapshot, container, nodes)

    def _parts(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        peers = snapshot.peers.on_nodes(container.service)
        parts = {}
        for by, skew in self.constraints:
            domain = _domain(snapshot, by, len(peers))
            mine = domain[nodes]
            inside = domain >= 0
            sums = np.bincount(domain[inside], peers[inside], minlength=1)
            weight = np.log(len(np.unique(mine[mine >= 0])) + 2.0)
            counted = sums[np.maximum(mine, 0)] * weight + (skew - 1.0)
            parts[f"peers by {by}"] = np.where(mine >= 0, counted, np.nan)
        return parts


def _domain(snapshot: Snapshot, by: str, nodes: int) -> IntArray:
    """The domain of every node, -1 for none."""
    if by == NODE:
        return np.arange(nodes)
    domain = None if snapshot.domains is None else snapshot.domains.by(by)
    return np.full(nodes, -1) if domain is None else domain
