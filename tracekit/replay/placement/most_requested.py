"""Most requested: the node with the least left, as schedulers before 1.22 counted it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.parameters import About
from tracekit.replay.placement import PlacementPolicy, Reads, Scores
from tracekit.replay.placement._legacy import mean_of_two, requested
from tracekit.replay.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class MostRequested(PlacementPolicy):
    """Pack requests by the integer mean of the requested tenths of cpu and memory."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "kubernetes v1.17 pkg/scheduler/algorithm/priorities/most_requested.go"
        " (MostRequestedPriority)"
    )
    aliases: ClassVar[tuple[str, ...]] = ("most_requested_legacy",)

    max_score: Annotated[int, About("The best score: 10 up to v1.16, then 100.", minimum=1)] = 10

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Integer mean of the two resources' integer scores, 0..max_score."""
        return mean_of_two(self._parts(snapshot, container, nodes))

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Requested share per resource, on the score's scale."""
        parts = self._parts(snapshot, container, nodes)
        return {name: part.astype(np.float64) for name, part in parts.items()}

    def _parts(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, IntArray]:
        allocatable = snapshot.allocatable[nodes, :2]
        wanted = requested(snapshot, container, nodes)
        share = wanted * self.max_score // np.maximum(allocatable, 1)
        fits = (allocatable > 0) & (wanted <= allocatable)
        cpu, memory = np.where(fits, share, 0).T
        return {"cpu": cpu, "memory": memory}
