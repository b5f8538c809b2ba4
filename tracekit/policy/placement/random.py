"""Random: any node with room, with equal probability."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from tracekit.base.parameters import About
from tracekit.policy.placement import Formula, PlacementPolicy, Reads, UsedBy, quotient
from tracekit.policy.view.snapshot import Tie


@dataclass(frozen=True, kw_only=True)
class Random(PlacementPolicy):
    """Choose a node with room at random: the yardstick that a policy has to beat."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = "uniform choice by reservoir sampling, drawn from the replay's seed"
    used_by: ClassVar[UsedBy] = "yardstick"

    tie: Annotated[
        Tie, About("reservoir: a random node; first: the first node with room, as first_fit.")
    ] = "reservoir"

    def score_formula(self) -> Formula:
        """A formula without resources: every node scores 0, and the tie-break decides."""
        return Formula(part=quotient, resources=(), better="emptier")
