"""Rows of running pods: arrays that pods come to and leave, in the order in which they came."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.live.objects import LivePod
from tracekit.policy.view.snapshot import Peers, Placed, ServiceNames

_FIRST_ROWS = 1024
#: The kinds of amounts: request, request with defaults, limit.
_KINDS = 3


class PodRows:
    """One row for each pod that has a node.

    Whoever leaves is only marked; the rows are closed up when somebody looks, so that a policy is
    shown slices of the arrays and nothing is copied for it.

    Parameters
    ----------
    resources : tuple of str
        The columns of the amounts.
    """

    def __init__(self, resources: tuple[str, ...]) -> None:
        self.resources = resources
        self._number: dict[str, int] = {}
        self._next = self._used = self._left = 0
        self._kinds: dict[str, int] = {}
        self._columns: dict[str, NDArray[Any]] = {}
        self._amounts: IntArray = np.empty((_KINDS, 0, len(resources)), dtype=np.int64)
        self._lengthen()

    def add(
        self, pod: LivePod, node: int, request: IntArray, nonzero: IntArray, limit: IntArray
    ) -> None:
        """A pod runs at the position of a node, -1 for one that is not known."""
        if self._used == self._amounts.shape[1]:
            self._lengthen()
        at = self._used
        self._number[pod.uid] = self._next
        row = {
            "number": self._next,
            "node": node,
            "time_ms": pod.placed_ms,
            "kind": self._kinds.setdefault(pod.service, len(self._kinds)),
            "service": pod.service,
            "left": False,
        }
        for name, value in row.items():
            self._columns[name][at] = value
        self._amounts[:, at] = request, nonzero, limit
        self._used, self._next = at + 1, self._next + 1

    def remove(self, uid: str) -> tuple[int, IntArray, IntArray, IntArray]:
        """A pod has left; its node, and what it counted in the sums of that."""
        numbers = self._columns["number"][: self._used]
        at = int(np.searchsorted(numbers, self._number.pop(uid)))
        self._columns["left"][at] = True
        self._left += 1
        request, nonzero, limit = self._amounts[:, at]
        return int(self._columns["node"][at]), request, nonzero, np.maximum(limit, request)

    def follow(self, pods: Mapping[str, LivePod], index: Mapping[str, int]) -> None:
        """Nodes have other positions."""
        self._close_up()
        nodes = [index.get(pods[uid].node, -1) for uid in self._number]
        self._columns["node"][: self._used] = nodes

    def sums(self, nodes: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """How many pods run on each node, (nodes,), and their amounts, each (nodes, resources)."""
        self._close_up()
        node, amounts = self._columns["node"][: self._used], self._amounts[:, : self._used]
        on = node >= 0
        found = np.zeros((_KINDS, nodes, len(self.resources)), dtype=np.int64)
        shown = amounts[:, on]
        shown[2] = np.maximum(shown[2], shown[0])
        for kind in range(_KINDS):
            np.add.at(found[kind], node[on], shown[kind])
        return np.bincount(node[on], minlength=nodes), found[0], found[1], found[2]

    def placed(self) -> Placed:
        """The pods on nodes that are known."""
        at = self._shown()
        return Placed(
            node=self._columns["node"][at],
            time_ms=self._columns["time_ms"][at],
            request=self._amounts[0][at],
            limit=self._amounts[2][at],
            service=ServiceNames(self._columns["service"][at]),
        )

    def peers(self, nodes: int) -> Peers:
        """Who runs where, by service."""
        at = self._shown()
        return _Counted(self._columns["node"][at], self._columns["kind"][at], self._kinds, nodes)

    def _shown(self) -> slice | BoolArray:
        """The rows of pods on nodes that are known."""
        self._close_up()
        on: BoolArray = self._columns["node"][: self._used] >= 0
        if on.all():
            return slice(self._used)
        return np.concatenate([on, np.zeros(self._amounts.shape[1] - self._used, np.bool_)])

    def _close_up(self) -> None:
        """Take the rows of those that left out of the arrays."""
        if self._left:
            at = np.flatnonzero(~self._columns["left"][: self._used])
            for column in self._columns.values():
                column[: len(at)] = column[at]
            self._amounts[:, : len(at)] = self._amounts[:, at]
            self._used, self._left = len(at), 0

    def _lengthen(self) -> None:
        """Arrays of twice the length; services that nobody has any more lose their number."""
        self._close_up()
        used = self._used
        rows = max(_FIRST_ROWS, 2 * used)
        before = self._columns
        self._columns = {
            "number": np.zeros(rows, dtype=np.int64),
            "node": np.zeros(rows, dtype=np.int64),
            "time_ms": np.zeros(rows, dtype=np.int64),
            "kind": np.zeros(rows, dtype=np.int64),
            "service": np.empty(rows, dtype=object),
            "left": np.zeros(rows, dtype=np.bool_),
        }
        for name, column in before.items():
            self._columns[name][:used] = column[:used]
        amounts = np.zeros((_KINDS, rows, len(self.resources)), dtype=np.int64)
        amounts[:, :used] = self._amounts[:, :used]
        self._amounts = amounts
        services = self._columns["service"][:used].tolist()
        self._kinds = {name: at for at, name in enumerate(dict.fromkeys(services))}
        self._columns["kind"][:used] = [self._kinds[name] for name in services]


class _Counted(Peers):
    """Counts of running pods that are made when they are asked for."""

    def __init__(
        self, node: IntArray, kind: IntArray, kinds: Mapping[str, int], nodes: int
    ) -> None:
        super().__init__((), nodes)
        self._node, self._kind, self._kinds, self._many = node, kind, kinds, nodes

    def on_nodes(self, service: str) -> IntArray:
        """How many of a service run on every node, shape (nodes,)."""
        of_it = self._kind == self._kinds.get(service, -1)
        return np.bincount(self._node[of_it], minlength=self._many)
