"""Joint policies whose score has a part that each node decides alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.placement import PlacementPolicy, Scores
from tracekit.replay.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class SplitPolicy(PlacementPolicy):
    """Base of joint policies with such a part; an engine may keep it from decision to decision."""

    joint: ClassVar[bool] = True

    def alone(self, snapshot: Snapshot, container: Container, nodes: NDArray[np.int64]) -> Scores:
        """What each of ``nodes`` decides alone, shape (candidates,)."""
        raise NotImplementedError

    def joined(self, snapshot: Snapshot, container: Container, nodes: NDArray[np.int64]) -> Scores:
        """What all candidates decide together, shape (candidates,)."""
        raise NotImplementedError

    def together(self, alone: Scores, joined: Scores) -> Scores:
        """The whole score of all candidates, from both parts."""
        raise NotImplementedError

    def measured_alone(self, snapshot: Snapshot) -> bool:  # noqa: ARG002
        """Whether ``joined`` reads the candidates, what was measured and the container's amounts.

        Then an engine may keep it as long as these three stay what they are.
        """
        return False

    def score(self, snapshot: Snapshot, container: Container, nodes: NDArray[np.int64]) -> Scores:
        """Both parts; ``nodes`` are all candidates."""
        return self.together(
            self.alone(snapshot, container, nodes), self.joined(snapshot, container, nodes)
        )
