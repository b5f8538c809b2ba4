"""Priorities of kubernetes before 1.22: they counted cpu and memory by non-zero requests.

Source: kubernetes v1.17 pkg/scheduler/algorithm/priorities/resource_allocation.go.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.cluster.resources import BASE, CPU
from tracekit.policy.placement import Formula, PlacementPolicy
from tracekit.policy.placement._parts.formula import quotient
from tracekit.policy.view.snapshot import Container, Snapshot

#: Column of attached volumes, which few workloads have.
VOLUMES = "volumes"


def requested(snapshot: Snapshot, container: Container, nodes: IntArray) -> IntArray:
    """Containers of the node and the incoming one, shape (candidates, 2)."""
    incoming = in_whole_cores(container).nonzero_request[: len(BASE)]
    return np.asarray(snapshot.nonzero_requested[nodes, : len(BASE)] + incoming)


def in_whole_cores(container: Container) -> Container:
    """The container as it was counted: whole cores of overhead, rounded up, went to millicores."""
    overhead = container.pod.overhead.get(CPU, 0) if container.pod else 0
    if not overhead:
        return container
    incoming = container.nonzero_request.copy()
    incoming[0] += -(-overhead // 1000) - overhead
    return dataclasses.replace(container, nonzero_request=incoming)


def half(total: Any, weights: Any) -> Any:  # noqa: ARG001
    """Integer mean of the cpu and memory scores."""
    return quotient(total, 2)


def legacy_fractions(
    snapshot: Snapshot, container: Container, nodes: IntArray, *, volumes: bool
) -> dict[str, FloatArray]:
    """Requested over allocatable; 1 where a node has none, NaN for volumes that do not count."""
    allocatable = snapshot.allocatable[nodes, : len(BASE)]
    wanted = requested(snapshot, container, nodes) / np.maximum(allocatable, 1)
    cpu, memory = np.where(allocatable > 0, wanted, 1.0).T
    nothing = np.full(len(nodes), np.nan)
    attached = _volume_fraction(snapshot, container, nodes) if volumes else nothing
    return {"cpu": cpu, "memory": memory, "volumes": attached}


def _volume_fraction(snapshot: Snapshot, container: Container, nodes: IntArray) -> FloatArray:
    """Requested over allocatable volumes; NaN where a node has no limit of them."""
    column = snapshot.column(VOLUMES)
    if column is None:
        return np.full(len(nodes), np.nan)
    most = snapshot.allocatable[nodes, column]
    wanted = snapshot.requested[nodes, column] + container.request[column]
    return np.where(most > 0, wanted / np.maximum(most, 1), np.nan)


def free_share(size: Any, wanted: Any, constants: Any) -> Any:
    """The free share of a resource on a scale to ``constants[0]``; 0 where it is too little."""
    return quotient(np.maximum(size - wanted, 0) * constants[0], size)


@dataclass(frozen=True, kw_only=True)
class TenthsPolicy(PlacementPolicy):
    """Base of the priorities that take the integer mean of two integer scores."""

    max_score: Annotated[int, About("The best score: 10 up to v1.16, then 100.", minimum=1)] = 10

    def best_score(self) -> float | None:
        """The configured maximum."""
        return self.max_score

    def of_tenths(self, part: Callable[..., Any], better: Literal["emptier", "fuller"]) -> Formula:
        """The integer mean of a part of cpu and of memory, 0..max_score."""
        return Formula(
            part=part,
            resources=(("cpu", 1), ("memory", 1)),
            total=half,
            better=better,
            nonzero=True,
            constants=(self.max_score,),
            asked=in_whole_cores,
        )

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Share per resource, on the score's scale; 0 where a node has none."""
        formula = self.score_formula()
        parts = {} if formula is None else formula.explain(snapshot, container, nodes)
        return {name: np.nan_to_num(part) for name, part in parts.items()}
