"""Most allocated: the node with the largest share of requested resources."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tracekit.policy.placement import Formula, Reads, UsedBy, quotient
from tracekit.policy.placement._parts.leftover import WeightedResources


@dataclass(frozen=True, kw_only=True)
class MostAllocated(WeightedResources):
    """Pack requests: prefer the node with the largest requested percentages of its resources."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "kubernetes v1.34 noderesources/most_allocated.go (NodeResourcesFit, MostAllocated)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"

    def score_formula(self) -> Formula:
        """The weighted integer mean of the requested percentages after placing, 0..100."""
        return Formula(
            part=taken_percent,
            resources=self.resources,
            total=quotient,
            better="fuller",
            nonzero=True,
        )


def taken_percent(size: Any, wanted: Any) -> Any:
    """The requested percentage of a resource."""
    return quotient(np.minimum(wanted, size) * 100, size)
