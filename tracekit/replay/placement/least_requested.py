"""Least requested: the node with the most left, as schedulers before 1.22 counted it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.parameters import About
from tracekit.replay.placement import Formula, PlacementPolicy, Reads
from tracekit.replay.placement._legacy import free_share, half, in_whole_cores
from tracekit.replay.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class LeastRequested(PlacementPolicy):
    """Spread requests by the integer mean of the free tenths of cpu and memory."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "kubernetes v1.17 pkg/scheduler/algorithm/priorities/least_requested.go"
        " (LeastRequestedPriority)"
    )
    aliases: ClassVar[tuple[str, ...]] = ("least_requested_legacy",)

    max_score: Annotated[int, About("The best score: 10 up to v1.16, then 100.", minimum=1)] = 10

    def best_score(self) -> float | None:
        """As large as is asked for."""
        return self.max_score

    def score_formula(self) -> Formula:
        """Integer mean of the two resources' integer scores, 0..max_score."""
        return Formula(
            part=free_share,
            resources=(("cpu", 1), ("memory", 1)),
            total=half,
            better="emptier",
            nonzero=True,
            constants=(self.max_score,),
            asked=in_whole_cores,
        )

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Free share per resource, on the score's scale; 0 where a node has none."""
        parts = self.score_formula().explain(snapshot, container, nodes)
        return {name: np.nan_to_num(part) for name, part in parts.items()}
