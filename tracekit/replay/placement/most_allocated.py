"""Most allocated: the node with the largest share of its resources requested already."""

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
class MostAllocated(PlacementPolicy):
    """Pack requests: prefer the node with the least left, resource by resource in integers."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "kubernetes v1.34 noderesources/most_allocated.go (NodeResourcesFit, MostAllocated)"
    )

    resources: Annotated[Pairs, About("Resources to look at with their weights, 1..100.")] = (
        ("cpu", 1),
        ("memory", 1),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self.resources, "scoringStrategy.resources", 1, 100)

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Weighted integer mean of the requested percentages after placing, 0..100."""
        if not self.resources:
            raise ScoreError("most_allocated has no resource to score by: resources is empty")
        found = shares(snapshot, container, nodes, self.resources, nonzero=True)
        parts = [(_taken(share), share.weight, share.counted) for share in found]
        return weighted_mean(parts, len(nodes))

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Requested percentage per resource."""
        found = shares(snapshot, container, nodes, self.resources, nonzero=True)
        return {s.name: np.where(s.counted, _taken(s), np.nan) for s in found}


def _taken(share: Share) -> IntArray:
    taken = np.minimum(share.requested, share.allocatable)
    return np.asarray(taken * 100 // np.maximum(share.allocatable, 1))
