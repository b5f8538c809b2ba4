"""Worst fit: the node that would have the most left over."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.policy.placement import Formula, PlacementPolicy, Reads
from tracekit.policy.placement._parts.leftover import Leftover, formula_of, shown


@dataclass(frozen=True, kw_only=True)
class WorstFit(PlacementPolicy):
    """Fill the emptiest node, to spread what is requested."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = "worst-fit bin packing; the reverse of best_fit"

    leftover: Leftover = "amount"

    def score_formula(self) -> Formula:
        """The more is left over on cpu and memory, the higher: the leftover itself."""
        return formula_of(self.leftover, "emptier")

    def shown_score(self, score: float) -> float | str:
        """In millicores and MiB."""
        return shown(score, self.leftover)
