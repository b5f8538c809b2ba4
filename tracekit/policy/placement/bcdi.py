"""BCDI: the node with the closest CPU and disk loads after placing."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.cluster.resources import CPU, DISK_IO
from tracekit.policy.placement import PlacementPolicy, Reads, Scores
from tracekit.policy.placement._parts.load import fraction_after
from tracekit.policy.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class Bcdi(PlacementPolicy):
    """Balanced CPU and disk IO: keep both loads close to each other on every node.

    Modelled on the policy of that name, whose formulas are not published. If the workload lacks the
    disk transfer resource, every node scores 0.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "usage"})
    source: ClassVar[str] = (
        "inspired by 'balanced CPU and disk IO' as cited by Geng and Wang 2023, ref. 6"
    )
    title: ClassVar[str] = "balanced CPU and disk use"
    wants: ClassVar[tuple[str, ...]] = (DISK_IO,)

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """``trunc(100 (1 - |cpu fraction - disk fraction|))`` after placing, 0..100."""
        parts = list(self.explain(snapshot, container, nodes).values())
        if len(parts) < 2:
            return np.zeros(len(nodes), dtype=np.int64)
        level = 1.0 - np.abs(parts[0] - parts[1])
        return np.trunc(100.0 * np.clip(level, 0.0, 1.0)).astype(np.int64)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """The loads of CPU and disk transfer after placing, if the workload has them."""
        columns = {name: snapshot.column(name) for name in (CPU, DISK_IO)}
        return {
            name: fraction_after(snapshot, column, container)[nodes]
            for name, column in columns.items()
            if column is not None
        }
