"""Best fit: the node with the least cpu and memory left after placing."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.policy.placement import Formula, PlacementPolicy, Reads
from tracekit.policy.placement._parts.leftover import Leftover, formula_of, shown


@dataclass(frozen=True, kw_only=True)
class BestFit(PlacementPolicy):
    """Fill the fullest node with room, so that other nodes stay empty."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "best-fit bin packing; leftover=amount chooses as AccaSim 1.1.3 Best_Fit does"
    )

    leftover: Leftover = "amount"

    def score_formula(self) -> Formula:
        """Minus the cpu and memory that are left."""
        return formula_of(self.leftover, "fuller")

    def shown_score(self, score: float) -> float | str:
        """A score in millicores and MiB, or as a fraction."""
        return shown(score, self.leftover)
