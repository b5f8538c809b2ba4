"""Least allocated: the node with the largest share of unrequested resources."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tracekit.policy.placement import Formula, Reads, UsedBy, quotient
from tracekit.policy.placement._parts.leftover import WeightedResources


@dataclass(frozen=True, kw_only=True)
class LeastAllocated(WeightedResources):
    """Spread requests: prefer the node with the largest free percentages of its resources."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "kubernetes v1.34 noderesources/least_allocated.go (NodeResourcesFit, LeastAllocated)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"

    def score_formula(self) -> Formula:
        """The weighted integer mean of the free percentages after placing, 0..100."""
        return Formula(
            part=free_percent,
            resources=self.resources,
            total=quotient,
            better="emptier",
            nonzero=True,
        )


def free_percent(size: Any, wanted: Any) -> Any:
    """The free percentage of a resource."""
    return quotient(np.maximum(size - wanted, 0) * 100, size)
