"""Worst fit: the node that would have the most left over."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.replay.placement import Formula, PlacementPolicy, Reads, _leftover
from tracekit.replay.placement._leftover import WEIGHTS, Leftover, amount_left, fraction_left


@dataclass(frozen=True, kw_only=True)
class WorstFit(PlacementPolicy):
    """Fill the emptiest node, to spread what is requested."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = "worst-fit bin packing; the reverse of best_fit"

    leftover: Leftover = "amount"

    def score_formula(self) -> Formula:
        """The more is left over on cpu and memory, the higher: the leftover itself."""
        part = fraction_left if self.leftover == "fraction" else amount_left
        return Formula(part=part, resources=WEIGHTS[self.leftover], better="emptier")

    def shown_score(self, score: float) -> float | str:
        """In millicores and MiB."""
        return _leftover.shown(score, self.leftover)
