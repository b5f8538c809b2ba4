"""Worst fit: the node with the most cpu and memory left after placing."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.policy.placement import Formula, PlacementPolicy, Reads
from tracekit.policy.placement._parts.leftover import Leftover, formula_of, shown


@dataclass(frozen=True, kw_only=True)
class WorstFit(PlacementPolicy):
    """Fill the emptiest node, to spread requests."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = "worst-fit bin packing; the reverse of best_fit"

    leftover: Leftover = "amount"

    def score_formula(self) -> Formula:
        """The cpu and memory that are left."""
        return formula_of(self.leftover, "emptier")

    def shown_score(self, score: float) -> float | str:
        """A score in millicores and MiB, or as a fraction."""
        return shown(score, self.leftover)
