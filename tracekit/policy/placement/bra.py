"""BRA: the node whose cpu and memory would be requested most alike, as the paper writes it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.policy.placement import PlacementPolicy, Reads, Scores
from tracekit.policy.placement._parts.paper import (
    Variant,
    integer_balance,
    paper_balance,
    wanted_and_total,
)
from tracekit.policy.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class Bra(PlacementPolicy):
    """Equalise the requested fractions of cpu and memory (balanced resource allocation)."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = "TBESK (Geng & Wang 2023) eq 2"
    title: ClassVar[str] = "balanced resource allocation"

    variant: Variant = "paper"

    def skips(self, snapshot: Snapshot, container: Container) -> bool:  # noqa: ARG002
        """Whether the newer scheduler would not ask for the balance: nothing is requested."""
        return self.variant == "modern_int" and not container.request[:2].any()

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Ten less ten times the distance of the fractions, or its integer forms."""
        wanted, total = wanted_and_total(snapshot, container, nodes)
        if self.variant == "paper":
            return paper_balance(wanted, total)
        return integer_balance(wanted, total, self.variant)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Requested fraction of each resource."""
        wanted, total = wanted_and_total(snapshot, container, nodes)
        cpu, memory = np.where(total > 0, wanted / np.maximum(total, 1), np.nan)
        return {"cpu": cpu, "memory": memory}
