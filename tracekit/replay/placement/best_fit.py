"""Best fit: the node that would have the least left over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from tracekit.arrays import IntArray
from tracekit.parameters import About
from tracekit.replay.placement import PlacementPolicy, Reads, Scores
from tracekit.replay.placement._leftover import Leftover, leftover
from tracekit.replay.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class BestFit(PlacementPolicy):
    """Fill the fullest node that still has room, to keep others empty."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "best-fit bin packing; leftover=amount chooses as AccaSim 1.1.3 Best_Fit does"
    )

    leftover: Annotated[
        Leftover,
        About(
            "What is left over: amount adds free millicores and MiB; fraction adds the free"
            " fractions of cpu and memory after placing."
        ),
    ] = "amount"

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """The less is left over on cpu and memory, the higher: minus the leftover."""
        return -leftover(snapshot, container, nodes, self.leftover)
