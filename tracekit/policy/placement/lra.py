"""LRA: the node with the largest free share of cpu and memory, as in the paper."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.policy.placement import Formula, PlacementPolicy, Reads
from tracekit.policy.placement._parts.requested import MAX_SCORE, Variant, free_share, half_sum
from tracekit.policy.view.snapshot import Container, Snapshot

_BOTH = (("cpu", 1), ("memory", 1))


@dataclass(frozen=True, kw_only=True)
class Lra(PlacementPolicy):
    """Spread requests by the mean free share of cpu and memory (least requested allocation)."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = "TBESK (Geng & Wang 2023) eq 1"
    title: ClassVar[str] = "least requested allocation"

    variant: Variant = "paper"

    def score_formula(self) -> Formula:
        """The mean of the free shares of cpu and memory."""
        if self.variant == "paper":
            return Formula(part=free_tenths, resources=_BOTH, total=_mean, better="emptier")
        most = MAX_SCORE[self.variant]
        return Formula(
            part=free_share, resources=_BOTH, total=half_sum, better="emptier", constants=(most,)
        )

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """The free share of each resource in tenths; 0 for a resource that a node lacks."""
        tenths = Formula(part=free_tenths, resources=_BOTH)
        parts = tenths.explain(snapshot, container, nodes)
        return {name: np.nan_to_num(part) for name, part in parts.items()}


def free_tenths(size: Any, wanted: Any) -> Any:
    """``10 (T - N) / T``, the free share of a resource in tenths."""
    return 10.0 * (size - wanted) / size


def _mean(total: Any, weights: Any) -> Any:  # noqa: ARG001
    return total / 2
