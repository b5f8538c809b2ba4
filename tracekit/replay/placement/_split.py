"""Joint policies whose score has a part that each node decides alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tracekit.arrays import IntArray
from tracekit.replay.placement import PlacementPolicy, Scores
from tracekit.replay.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class SplitPolicy(PlacementPolicy):
    """Base of joint policies with such a part; an engine may keep it from decision to decision."""

    joint: ClassVar[bool] = True

    def alone(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """What each of ``nodes`` decides alone, shape (candidates,)."""
        raise NotImplementedError

    def together(
        self,
        snapshot: Snapshot,
        container: Container,
        nodes: IntArray,
        alone: Scores,
    ) -> Scores:
        """The whole score of all candidates, from what each decides alone."""
        raise NotImplementedError

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Both parts; ``nodes`` are all candidates."""
        return self.together(snapshot, container, nodes, self.alone(snapshot, container, nodes))
