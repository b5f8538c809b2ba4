"""Which containers run on each node, in order of arrival, kept from one look to the next."""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import chain

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


class Residents:
    """The containers of each node, by their positions in the workload.

    Parameters
    ----------
    running : bool, shape (containers,)
    node : int64, shape (containers,)
        Where each that runs was placed.
    """

    def __init__(self, running: NDArray[np.bool_], node: IntArray, nodes: int) -> None:
        self._of: list[list[int]] = [[] for _ in range(nodes)]
        at = np.flatnonzero(running)
        for index, where in zip(at.tolist(), node[at].tolist(), strict=True):
            self._of[where].append(index)

    def add(self, index: int, node: int) -> None:
        """A container has come to a node."""
        insort(self._of[node], index)

    def remove(self, index: int, node: int) -> None:
        """A container has left its node."""
        those = self._of[node]
        del those[bisect_left(those, index)]

    def on(self, nodes: IntArray) -> IntArray:
        """The containers of some nodes, each node named once, in order of arrival; (some,)."""
        found = np.fromiter(
            chain.from_iterable(self._of[node] for node in nodes.tolist()), np.int64
        )
        found.sort()
        return found
