"""Best fit: the node that would have the least left over."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.policy.placement import Formula, PlacementPolicy, Reads
from tracekit.policy.placement._parts.leftover import Leftover, formula_of, shown


@dataclass(frozen=True, kw_only=True)
class BestFit(PlacementPolicy):
    """Fill the fullest node that still has room, to keep others empty."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "best-fit bin packing; leftover=amount chooses as AccaSim 1.1.3 Best_Fit does"
    )

    leftover: Leftover = "amount"

    def score_formula(self) -> Formula:
        """The less is left over on cpu and memory, the higher: minus the leftover."""
        return formula_of(self.leftover, "fuller")

    def shown_score(self, score: float) -> float | str:
        """In millicores and MiB."""
        return shown(score, self.leftover)
