"""Best fit: the node that would have the least left over."""

from dataclasses import dataclass
from typing import Any, ClassVar

from tracekit.replay.placement import Formula, PlacementPolicy, Reads, _leftover
from tracekit.replay.placement._leftover import WEIGHTS, Leftover, amount_left, fraction_left


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
        part = _fraction if self.leftover == "fraction" else _amount
        return Formula(part=part, resources=WEIGHTS[self.leftover], better="fuller")

    def shown_score(self, score: float) -> float | str:
        """In millicores and MiB."""
        return _leftover.shown(score, self.leftover)


def _amount(size: Any, wanted: Any) -> Any:
    return -amount_left(size, wanted)


def _fraction(size: Any, wanted: Any) -> Any:
    return -fraction_left(size, wanted)
