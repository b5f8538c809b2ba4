"""First fit: the first node with room."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.base.arrays import IntArray
from tracekit.policy.placement import PlacementPolicy, Reads, Scores
from tracekit.policy.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class FirstFit(PlacementPolicy):
    """Fill one node after another, in the order of the workload."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = "first-fit bin packing; FF of the CTM21 analysis (Yao et al. 2023)"

    def score(
        self,
        snapshot: Snapshot,  # noqa: ARG002
        container: Container,  # noqa: ARG002
        nodes: IntArray,
    ) -> Scores:
        """Minus the position of each node."""
        return -nodes
