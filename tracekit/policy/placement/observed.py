"""Observed: the node on which production ran each container."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.policy.placement import PlacementPolicy, Reads, Scores
from tracekit.policy.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class Observed(PlacementPolicy):
    """Place every container on its recorded node, even without room for its request."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"recorded"})
    source: ClassVar[str] = "the trace itself"
    title: ClassVar[str] = "production"
    filtered: ClassVar[bool] = False

    def score(
        self,
        snapshot: Snapshot,  # noqa: ARG002
        container: Container,
        nodes: IntArray,
    ) -> Scores:
        """1 for the recorded node, 0 for every other."""
        if container.recorded_node is None or container.recorded_node < 0:
            raise TracekitError(
                f"container '{container.id}' has no recorded node to be placed on",
                hint="leave out policy 'observed' for a workload without recorded placements",
            )
        return np.asarray(nodes == container.recorded_node, dtype=np.int64)
