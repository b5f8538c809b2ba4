"""Where and when each container was seen: node and service of its first row, steps, other nodes."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import BoolArray, Int32Array, IntArray
from tracekit.replay.workload.series import Axis
from tracekit.replay.workload.trace.rows import SERVICE, TIME, Piece

_NEVER = np.iinfo(np.int64).max


class Places:
    """What the rows of each container say of it, by column of the matrix.

    The first row is that of the earliest time, then of the first node by id.

    Attributes
    ----------
    service : int64, shape (containers,)
        Key of the first service that a row names, -1 for none.
    """

    def __init__(self, axis: Axis, containers: int, nodes: int) -> None:
        self._axis = axis
        self._nodes = nodes
        # time and node as one number, so that the least is the first row's
        self._first = np.full(containers, _NEVER, dtype=np.int64)
        self._named = np.full(containers, _NEVER, dtype=np.int64)
        self._last_ms = np.zeros(containers, dtype=np.int64)
        self._low = np.full(containers, _NEVER, dtype=np.int64)
        self._high = np.full(containers, -1, dtype=np.int64)
        self._there = np.zeros(nodes, dtype=np.bool_)
        self.service = np.full(containers, -1, dtype=np.int64)

    @property
    def nodes(self) -> IntArray:
        """Positions of the nodes that rows name, each once."""
        return np.flatnonzero(self._there)

    @property
    def node(self) -> IntArray:
        """Position of the first row's node, shape (containers,)."""
        return self._first % self._nodes

    @property
    def steps(self) -> tuple[IntArray, IntArray]:
        """The first and the last step with a row, shape (containers,) each."""
        step_ms = self._axis.step_ms
        return self._first // self._nodes // step_ms, self._last_ms // step_ms

    @property
    def moved(self) -> BoolArray:
        """Whether rows name more than one node, shape (containers,)."""
        return np.asarray(self._low != self._high)

    def add(self, column: IntArray, node: IntArray, piece: Piece) -> None:
        """Take in the rows of a piece, all of them on the axis.

        Parameters
        ----------
        column, node : int64, shape (rows,)
            Each row's column, and the position of its node.
        """
        service, since = piece[SERVICE], piece[TIME] - self._axis.times_ms[0]
        cuts = (np.diff(column) != 0) | (np.diff(node) != 0) | (np.diff(service) != 0)
        start = np.concatenate([[0], np.flatnonzero(cuts) + 1])
        column, node, service = column[start], node[start], service[start]
        first = np.minimum.reduceat(since, start) * self._nodes + node
        np.minimum.at(self._first, column, first)
        np.maximum.at(self._last_ms, column, np.maximum.reduceat(since, start))
        self._there[node] = True
        np.minimum.at(self._low, column, node)
        np.maximum.at(self._high, column, node)
        self._name(column, first, service)

    def _name(self, column: IntArray, first: IntArray, service: Int32Array) -> None:
        """Keep the service of the first row that names one; of equal rows the one met first."""
        named = np.flatnonzero((service >= 0) & (first < self._named[column]))
        # in this order the last that is written for a column is its first
        named = named[np.lexsort((named, first[named]))[::-1]]
        self._named[column[named]] = first[named]
        self.service[column[named]] = service[named]
