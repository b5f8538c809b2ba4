"""LRA: the node with the largest share of cpu and memory free, as the paper writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.parameters import About
from tracekit.replay.placement import PlacementPolicy, Reads, Scores
from tracekit.replay.placement._paper import (
    MAX_SCORE,
    Variant,
    free_integer,
    free_tenths,
    wanted_and_total,
)
from tracekit.replay.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class Lra(PlacementPolicy):
    """Spread requests by the mean free share of cpu and memory (least requested allocation)."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = "TBESK (Geng & Wang 2023) eq 1"

    variant: Annotated[
        Variant,
        About("paper: real numbers 0..10; legacy_int, modern_int: cut to integers, 0..10, 0..100."),
    ] = "paper"

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Mean of the two resources' free shares."""
        wanted, total = wanted_and_total(snapshot, container, nodes)
        if self.variant == "paper":
            return np.asarray(free_tenths(wanted, total).sum(axis=0) / 2)
        return np.asarray(free_integer(wanted, total, MAX_SCORE[self.variant]).sum(axis=0) // 2)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Free share of each resource in tenths."""
        cpu, memory = free_tenths(*wanted_and_total(snapshot, container, nodes))
        return {"cpu": cpu, "memory": memory}
