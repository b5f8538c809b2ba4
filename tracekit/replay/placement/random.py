"""Random: any node with room, all equally likely."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.arrays import IntArray
from tracekit.parameters import About
from tracekit.replay.placement import PlacementPolicy, Reads, Scores
from tracekit.replay.view.choice import Tie
from tracekit.replay.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class Random(PlacementPolicy):
    """Every node is as good as any other: the yardstick that a policy has to beat."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = "uniform choice by reservoir sampling, drawn from the replay's seed"

    tie: Annotated[
        Tie, About("reservoir: a node by chance; first: the first node with room, as first_fit.")
    ] = "reservoir"

    def score(
        self,
        snapshot: Snapshot,  # noqa: ARG002
        container: Container,  # noqa: ARG002
        nodes: IntArray,
    ) -> Scores:
        """0 for every node, so that the tie-break alone decides."""
        return np.zeros(len(nodes), dtype=np.int64)
