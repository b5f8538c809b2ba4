"""Most allocated: the node with the largest share of its resources requested already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.parameters import About, Pairs
from tracekit.replay.placement import Formula, PlacementPolicy, Reads, quotient
from tracekit.replay.view.requested import check_weights
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

    def best_score(self) -> float | None:
        """As kube-scheduler's plugins: 100."""
        return 100

    def score_formula(self) -> Formula:
        """Weighted integer mean of the requested percentages after placing, 0..100."""
        return Formula(
            part=taken_percent,
            resources=self.resources,
            total=quotient,
            better="fuller",
            nonzero=True,
        )

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Requested percentage per resource."""
        return self.score_formula().explain(snapshot, container, nodes)


def taken_percent(size: Any, wanted: Any) -> Any:
    """The percentage of a resource that is requested."""
    return quotient(np.minimum(wanted, size) * 100, size)
