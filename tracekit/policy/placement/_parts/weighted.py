"""Resources with weights, as the scoring strategies of NodeResourcesFit take them."""

from dataclasses import dataclass
from typing import Annotated

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About, Pairs
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.view.requested import check_weights
from tracekit.policy.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class WeightedResources(PlacementPolicy):
    """Base of the strategies that score each resource and take the weighted mean."""

    resources: Annotated[Pairs, About("Resources to look at with their weights, 1..100.")] = (
        ("cpu", 1),
        ("memory", 1),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self.resources, "scoringStrategy.resources", 1, 100)

    def best_score(self) -> float | None:
        """As kube-scheduler's plugins: 100."""
        return 100

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Percentage per resource, of what the formula looks at."""
        formula = self.score_formula()
        return {} if formula is None else formula.explain(snapshot, container, nodes)
