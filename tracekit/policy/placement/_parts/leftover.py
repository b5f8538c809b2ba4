"""Scores by the cpu and memory left on a node after placing; 0 for a resource that it lacks.

The sum of millicores and MiB mixes units, as AccaSim's Best_Fit does, so that its choices can be
compared one by one. The sum of fractions of the node's size has no unit.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About, Pairs
from tracekit.base.units import BYTES_PER_MIB
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.placement._parts.formula import Formula
from tracekit.policy.placement._parts.shares import check_weights
from tracekit.policy.view.snapshot import Container, Snapshot

Leftover = Annotated[
    Literal["amount", "fraction"],
    About(
        "The sum of free amounts: amount adds free millicores and MiB; fraction adds the free"
        " fractions of cpu and memory after placing."
    ),
]

#: Weights of cpu and memory. Amounts are millicores plus MiB, in units of 2**-20, exact.
_WEIGHTS = {
    "amount": (("cpu", BYTES_PER_MIB), ("memory", 1)),
    "fraction": (("cpu", 1), ("memory", 1)),
}


def amount_left(size: Any, wanted: Any) -> Any:
    """The amount of a resource that is left."""
    return size - wanted


def minus_amount_left(size: Any, wanted: Any) -> Any:
    """Minus the amount of a resource that is left."""
    return -amount_left(size, wanted)


def fraction_left(size: Any, wanted: Any) -> Any:
    """The fraction of a resource that is left."""
    return (size - wanted) / size


def minus_fraction_left(size: Any, wanted: Any) -> Any:
    """Minus the fraction of a resource that is left."""
    return -fraction_left(size, wanted)


def shown(score: float, leftover: str) -> float | str:
    """A score in the unit of its sum of free amounts."""
    return f"{score / BYTES_PER_MIB:,.6g} millicores and MiB" if leftover == "amount" else score


def formula_of(leftover: str, better: Literal["emptier", "fuller"]) -> Formula:
    """A formula that rises, or falls with ``fuller``, with the cpu and memory that are left."""
    most = (amount_left, minus_amount_left), (fraction_left, minus_fraction_left)
    part = most[leftover == "fraction"][better == "fuller"]
    return Formula(part=part, resources=_WEIGHTS[leftover], better=better)


# Resources with weights, as the scoring strategies of NodeResourcesFit take them.


@dataclass(frozen=True, kw_only=True)
class WeightedResources(PlacementPolicy):
    """Base of the strategies whose score is the weighted mean over resources."""

    best_score = 100

    resources: Annotated[Pairs, About("Resources with their weights, 1..100.")] = (
        ("cpu", 1),
        ("memory", 1),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self.resources, "scoringStrategy.resources", 1, 100)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """The percentage of each resource in the formula."""
        formula = self.score_formula()
        return {} if formula is None else formula.explain(snapshot, container, nodes)
