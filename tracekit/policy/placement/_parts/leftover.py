"""The cpu and memory left on a node once a container is placed; 0 where it lacks some.

Adding millicores to MiB mixes units, yet it is what AccaSim's Best_Fit does, and its choices can
be compared with ours one by one. Adding fractions of each node's own size is free of units.
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
        "What is left over: amount adds free millicores and MiB; fraction adds the free"
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
    """The higher, the less is left."""
    return -amount_left(size, wanted)


def fraction_left(size: Any, wanted: Any) -> Any:
    """The fraction of a resource that is left over."""
    return (size - wanted) / size


def minus_fraction_left(size: Any, wanted: Any) -> Any:
    """The higher, the smaller a fraction is left."""
    return -fraction_left(size, wanted)


def shown(score: float, leftover: str) -> float | str:
    """A score by what is left over, in the units of its sum."""
    return f"{score / BYTES_PER_MIB:,.6g} millicores and MiB" if leftover == "amount" else score


def formula_of(leftover: str, better: Literal["emptier", "fuller"]) -> Formula:
    """A score by what is left over on cpu and memory: the more, or the less, the higher."""
    most = (amount_left, minus_amount_left), (fraction_left, minus_fraction_left)
    part = most[leftover == "fraction"][better == "fuller"]
    return Formula(part=part, resources=_WEIGHTS[leftover], better=better)


# Resources with weights, as the scoring strategies of NodeResourcesFit take them.


@dataclass(frozen=True, kw_only=True)
class WeightedResources(PlacementPolicy):
    """Base of the strategies that score each resource and take the weighted mean."""

    best_score = 100

    resources: Annotated[Pairs, About("Resources to look at with their weights, 1..100.")] = (
        ("cpu", 1),
        ("memory", 1),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self.resources, "scoringStrategy.resources", 1, 100)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Percentage per resource, of what the formula looks at."""
        formula = self.score_formula()
        return {} if formula is None else formula.explain(snapshot, container, nodes)
