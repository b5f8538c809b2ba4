"""Least allocated: the node with the largest share of its resources left unrequested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.parameters import About, Pairs
from tracekit.replay.placement import PlacementPolicy, Reads, ScoreError, Scores
from tracekit.replay.view.requested import Share, check_weights, shares, weighted_mean
from tracekit.replay.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class LeastAllocated(PlacementPolicy):
    """Spread requests: prefer the node with the most left, resource by resource in integers."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "kubernetes v1.34 noderesources/least_allocated.go (NodeResourcesFit, LeastAllocated)"
    )

    resources: Annotated[Pairs, About("Resources to look at with their weights, 1..100.")] = (
        ("cpu", 1),
        ("memory", 1),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self.resources, "scoringStrategy.resources", 1, 100)

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Weighted integer mean of the free percentages after placing, 0..100."""
        if not self.resources:
            raise ScoreError("least_allocated has no resource to score by: resources is empty")
        found = shares(snapshot, container, nodes, self.resources, nonzero=True)
        parts = [(_free(share), share.weight, share.counted) for share in found]
        return weighted_mean(parts, len(nodes))

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Free percentage per resource."""
        found = shares(snapshot, container, nodes, self.resources, nonzero=True)
        return {s.name: np.where(s.counted, _free(s), np.nan) for s in found}


def _free(share: Share) -> IntArray:
    left = share.allocatable - share.requested
    return np.asarray(np.maximum(left, 0) * 100 // np.maximum(share.allocatable, 1))
