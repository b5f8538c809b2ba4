"""Most requested: the node with the least left, as schedulers before 1.22 counted it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.parameters import About
from tracekit.replay.placement import Formula, PlacementPolicy, Reads, quotient
from tracekit.replay.placement._legacy import half, in_whole_cores
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

    def best_score(self) -> float | None:
        """As large as is asked for."""
        return self.max_score

    def score_formula(self) -> Formula:
        """Integer mean of the two resources' integer scores, 0..max_score."""
        return Formula(
            part=taken_share,
            resources=(("cpu", 1), ("memory", 1)),
            total=half,
            better="fuller",
            nonzero=True,
            constants=(self.max_score,),
            asked=in_whole_cores,
        )

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Requested share per resource, on the score's scale; 0 where a node has none."""
        parts = self.score_formula().explain(snapshot, container, nodes)
        return {name: np.nan_to_num(part) for name, part in parts.items()}


def taken_share(size: Any, wanted: Any, constants: Any) -> Any:
    """What is requested of a resource on a scale to ``constants[0]``; 0 where it is too much."""
    return quotient(wanted * constants[0], size) * (wanted <= size)
