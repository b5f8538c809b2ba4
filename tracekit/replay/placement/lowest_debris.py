"""Lowest debris (FD): the node that would be left with the least idle share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.metrics.debris_rate import debris_rate
from tracekit.replay.placement import PlacementPolicy, Reads, Scores
from tracekit.replay.view.snapshot import Container, Snapshot
from tracekit.replay.workload.resources import BASE


@dataclass(frozen=True, kw_only=True)
class LowestDebris(PlacementPolicy):
    """Take the node whose debris rate is lowest after placing: the highest mean allocation."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "FD of the CTM21 analysis (Yao et al. 2023), section 5, with the debris rate of its eq 2;"
        " every weight 1, of what is requested, of the node itself"
    )

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Minus the node's debris rate over cpu and memory after placing, -1..0."""
        return -self.explain(snapshot, container, nodes)["debris_after"]

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Debris rate after placing; 1 for a node without cpu and memory."""
        base = slice(len(BASE))
        used = snapshot.requested[nodes, base] + container.request[base]
        debris = debris_rate(used, snapshot.allocatable[nodes, base])
        return {"debris_after": np.nan_to_num(debris, nan=1.0)}
