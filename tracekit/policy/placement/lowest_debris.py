"""Lowest debris (FD): the node with the lowest idle share after placing."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tracekit.analysis.metrics.load import idle_share
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.policy.placement import Formula, PlacementPolicy, Reads
from tracekit.policy.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class LowestDebris(PlacementPolicy):
    """Prefer the node with the lowest debris rate after placing, which is the fullest node."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "FD of the CTM21 analysis (Yao et al. 2023), section 5, with the debris rate of its eq 2;"
        " with weights of 1, by the requests of the node itself"
    )

    def score_formula(self) -> Formula:
        """Minus the debris rate of cpu and memory after placing, -1..0."""
        return Formula(
            part=idle_share,
            resources=(("cpu", 1), ("memory", 1)),
            total=_minus_mean,
            better="fuller",
        )

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """The debris rate after placing; 1 for a node without cpu and memory."""
        return {"debris_after": -np.asarray(self.score(snapshot, container, nodes), np.float64)}


def _minus_mean(total: Any, weights: Any) -> Any:
    nothing = weights == 0
    return -((total + nothing) * (1.0 / (weights + nothing)))  # exact, as weights are 1 or 2
