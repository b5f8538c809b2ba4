"""Placers: who decides for containers, one after another, and commits each decision.

The plain placer recomputes everything at every decision; it is the reading of the rules that the
fast ones of ``tracekit.replay.fast`` are checked against.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.decision import Turn, decide
from tracekit.replay.state import ReplayState

IntArray = NDArray[np.int64]
Clock = Callable[[], float]


class Placer(Protocol):
    """Decides and commits.

    Attributes
    ----------
    way : str
        How it decides, for those who compare latencies.
    latencies_s : list of float
        Wall-clock time of each decision; of decisions made in one go the mean, once for each.
    """

    way: str
    latencies_s: list[float]

    def place(self, indices: IntArray, times_ms: IntArray) -> None:
        """Decide for containers in this order, at these times, and start what finds a node.

        Parameters
        ----------
        indices, times_ms : int64, shape (containers,)
            No departure falls between the first of the times and the last.
        """

    def freed(self, nodes: IntArray) -> None:
        """Learn that containers have left these nodes."""


MakePlacer = Callable[[ReplayState, np.random.Generator, Clock], Placer]


class PlainPlacer:
    """Scores every node with room at every decision."""

    way = "plain"

    def __init__(self, state: ReplayState, rng: np.random.Generator, clock: Clock) -> None:
        self.latencies_s: list[float] = []
        self._state, self._rng, self._clock = state, rng, clock
        self._turn = Turn()

    def place(self, indices: IntArray, times_ms: IntArray) -> None:
        """Decide for each container on a snapshot of its own."""
        for index, now in zip(indices.tolist(), times_ms.tolist(), strict=True):
            self._place(index, now)

    def freed(self, nodes: IntArray) -> None:
        """Nothing is kept that could be out of date."""

    def _place(self, index: int, now: int) -> None:
        state = self._state
        snapshot, container = state.snapshot(now), state.container(index)
        began = self._clock()
        node = decide(
            state.policy,
            snapshot,
            container,
            self._rng,
            open_nodes=state.open_nodes(index),
            turn=self._turn,
        )
        self.latencies_s.append(self._clock() - began)
        if node is not None:
            state.start(index, node, now)
