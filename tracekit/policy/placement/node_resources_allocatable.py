"""Node resources allocatable: the smallest or the largest node, whatever runs there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.base.parameters import About, Pairs, ParameterError
from tracekit.cluster.resources import full_name
from tracekit.policy.placement import PlacementPolicy, Reads, Scores, UsedBy
from tracekit.policy.placement._parts.requested import divide
from tracekit.policy.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class NodeResourcesAllocatable(PlacementPolicy):
    """Order nodes by their allocatable amounts; requests and use do not count."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "scheduler-plugins 903da7df pkg/noderesources/allocatable.go (NodeResourcesAllocatable)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"
    best_score = 100

    mode: Annotated[
        Literal["Least", "Most"], About("Least: prefer small nodes; Most: prefer large ones.")
    ] = "Least"
    resources: Annotated[
        Pairs, About("Weights per millicore and per byte; 1 millicore counts as 1 MiB.")
    ] = (("cpu", 1 << 20), ("memory", 1))

    def __post_init__(self) -> None:
        super().__post_init__()
        for at, (name, weight) in enumerate(self.resources):
            if weight <= 0:
                raise ParameterError(
                    f"resources[{at}].weight",
                    f"weight of resource {name} must be above 0, got {weight}",
                )

    @classmethod
    def upstream_arguments(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Mode and resources; the default for an empty value."""
        return {
            **arguments,
            "mode": arguments.get("mode") or cls.mode,
            "resources": arguments.get("resources") or dict(cls.resources),
        }

    def score(
        self,
        snapshot: Snapshot,
        container: Container,  # noqa: ARG002
        nodes: IntArray,
    ) -> Scores:
        """The weighted integer mean of allocatable amounts, negative in mode Least."""
        total = np.zeros(len(nodes), dtype=np.int64)
        for name, weight in self.resources:
            column = snapshot.column(full_name(name))
            if column is not None:
                total += snapshot.allocatable[nodes, column] * weight
        sign = -1 if self.mode == "Least" else 1
        return divide(sign * total, sum(weight for _, weight in self.resources))

    def normalize(self, scores: Scores) -> Scores:
        """``(v - low) * 100 div (high - low)``; 0 for equal scores."""
        low, high = int(scores.min()), int(scores.max())
        return divide((scores - low) * 100, high - low)
