"""How many containers of each service run on every node, kept from decision to decision."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from tracekit.arrays import IntArray


class Peers:
    """Counts of the running containers of services.

    Parameters
    ----------
    services : sequence of str
        The service of each container.
    """

    def __init__(self, services: Sequence[str], nodes: int) -> None:
        self._services, self._nodes = services, nodes
        self._count: defaultdict[str, Counter[int]] = defaultdict(Counter)

    def on_nodes(self, service: str) -> IntArray:
        """How many of a service run on every node, shape (nodes,)."""
        found = np.zeros(self._nodes, dtype=np.int64)
        count = self._count.get(service)
        if count:
            found[list(count.keys())] = list(count.values())
        return found

    def add(self, index: int, node: int) -> None:
        """A container has come to a node."""
        self._count[self._services[index]][node] += 1

    def remove(self, index: int, node: int) -> None:
        """A container has left its node."""
        self._count[self._services[index]][node] -= 1
