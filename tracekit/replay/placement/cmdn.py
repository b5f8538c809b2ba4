"""CMDN: TOPSIS over CPU, memory, network and disk use and the bandwidth of the network card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.parameters import About
from tracekit.replay.placement._cmdn_matrix import faithful_matrix, fixed_matrix, within_limit
from tracekit.replay.placement._extender import ExtenderPolicy, has_room
from tracekit.replay.placement._topsis import closeness
from tracekit.replay.view.snapshot import Container, Snapshot
from tracekit.replay.workload.resources import DISK_IO, NET


@dataclass(frozen=True, kw_only=True)
class Cmdn(ExtenderPolicy):
    """CPU, memory, disk and network together: pack nodes by all of them, or keep them level.

    ``faithful`` does what the original does, defects included: columns divided by their sum of
    squares, so that bandwidth hardly counts; disk in bytes per second, which is nearly always over
    the limit; use over the limit taken for none, so that a full node looks empty; with some nodes
    filtered out, scores handed to the first names of the unfiltered list; percentages rounded, the
    container's own need left out. ``fixed`` repairs each of these.
    """

    source: ClassVar[str] = "Liang extender (github.com/adolphlwq/liang @56384517), CMDN"
    wants: ClassVar[tuple[str, ...]] = (NET, DISK_IO)

    mode: Annotated[
        Literal["faithful", "fixed"], About("As the original is, or with its defects repaired.")
    ] = "faithful"
    balanced: Annotated[
        bool, About("true: prefer nodes used little; false: compact, prefer nodes used much.")
    ] = False
    limit_fraction: Annotated[
        float,
        About(
            "Use above this is taken for none (faithful) or rules a node out (fixed).",
            minimum=0,
            maximum=1,
        ),
    ] = 0.8

    def extender(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> IntArray:
        """CMDN's score of each candidate, 0..100; 0 where the network need does not fit."""
        column = snapshot.column(NET)
        valid = np.arange(len(nodes))
        if column is not None:
            valid = has_room(snapshot, column, container, nodes)
        if self.mode == "fixed":
            valid = valid[within_limit(snapshot, nodes[valid], self.limit_fraction)]
        scores = np.zeros(len(nodes), dtype=np.int64)
        if len(valid):
            scores[valid] = self._valid_scores(snapshot, container, nodes[valid])
        if self.mode == "faithful":
            scores[len(valid) :] = 0
        return scores

    def measured_alone(self, snapshot: Snapshot) -> bool:
        """Whether no request counts: those for network or disk may stand for their use."""
        other = (snapshot.column(name) for name in self.wants)
        return self.mode == "faithful" and all(column is None for column in other)

    def _valid_scores(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> IntArray:
        if self.mode == "fixed":
            matrix, usage = fixed_matrix(snapshot, container, nodes)
            return rounded(closeness(matrix, benefit=~usage | (not self.balanced)))
        matrix = faithful_matrix(snapshot, nodes, self.limit_fraction)
        scores = faithful_scores(matrix)
        return 100 - scores if self.balanced else scores


def faithful_scores(matrix: FloatArray) -> IntArray:
    """Compact scores 0..100 of the original for a matrix of shape (nodes, 5)."""
    if len(matrix) == 1:
        return np.array([100], dtype=np.int64)
    return rounded(closeness(matrix, norm="sum_of_squares"))


def rounded(fractions: FloatArray) -> IntArray:
    """Percent of fractions >= 0, half away from zero."""
    return np.floor(100.0 * fractions + 0.5).astype(np.int64)
