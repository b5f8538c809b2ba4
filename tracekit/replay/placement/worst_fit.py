"""Worst fit: the node that would have the most left over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from tracekit.arrays import IntArray
from tracekit.parameters import About
from tracekit.replay.placement import PlacementPolicy, Reads, Scores
from tracekit.replay.placement._leftover import Leftover, leftover
from tracekit.replay.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class WorstFit(PlacementPolicy):
    """Fill the emptiest node, to spread what is requested."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = "worst-fit bin packing; the reverse of best_fit"

    leftover: Annotated[
        Leftover,
        About(
            "What is left over: amount adds free millicores and MiB; fraction adds the free"
            " fractions of cpu and memory after placing."
        ),
    ] = "amount"

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """The more is left over on cpu and memory, the higher: the leftover itself."""
        return leftover(snapshot, container, nodes, self.leftover)
