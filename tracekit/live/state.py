"""The present state of a cluster: nodes, and the pods on them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.resources import PODS, amounts, column_order
from tracekit.live.names import Listed, Names
from tracekit.live.objects import LivePod, Node
from tracekit.live.use import Use
from tracekit.policy.placement import Reads
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.snapshot import Container, Peers, Placed, ServiceNames, Snapshot
from tracekit.policy.view.usage import Reader
from tracekit.replay.cases import rows_of

_FIRST_ROWS = 1024
#: The kinds of amounts: request, request with defaults, limit.
_KINDS = 3


class PodRows:
    """Arrays with one row for each pod that has a node.

    A removed pod is only marked, and its row goes at the next read. So a policy can read slices of
    the arrays without a copy.

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
        """Add a pod. ``node`` is the position of its node, -1 for an unknown node."""
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
        """Remove a pod. Return its node's position, requests, requests with defaults, limits."""
        numbers = self._columns["number"][: self._used]
        at = int(np.searchsorted(numbers, self._number.pop(uid)))
        self._columns["left"][at] = True
        self._left += 1
        request, nonzero, limit = self._amounts[:, at]
        return int(self._columns["node"][at]), request, nonzero, np.maximum(limit, request)

    def follow(self, pods: Mapping[str, LivePod], index: Mapping[str, int]) -> None:
        """Set the node's position of all pods anew from ``index``, after nodes changed."""
        self._close_up()
        nodes = [index.get(pods[uid].node, -1) for uid in self._number]
        self._columns["node"][: self._used] = nodes

    def sums(self, nodes: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return the number of pods of each node, (nodes,), and three sums of their amounts.

        The sums, each (nodes, resources), are of requests, requests with kube-scheduler's defaults,
        and limits. A limit counts as at least the request.
        """
        self._close_up()
        node, amounts = self._columns["node"][: self._used], self._amounts[:, : self._used]
        on = node >= 0
        by_kind = np.zeros((_KINDS, nodes, len(self.resources)), dtype=np.int64)
        shown = amounts[:, on]
        shown[2] = np.maximum(shown[2], shown[0])
        for kind in range(_KINDS):
            np.add.at(by_kind[kind], node[on], shown[kind])
        return np.bincount(node[on], minlength=nodes), by_kind[0], by_kind[1], by_kind[2]

    def placed(self) -> Placed:
        """Return the pods on known nodes."""
        at = self._shown()
        return Placed(
            node=self._columns["node"][at],
            time_ms=self._columns["time_ms"][at],
            request=self._amounts[0][at],
            limit=self._amounts[2][at],
            service=ServiceNames(self._columns["service"][at]),
        )

    def peers(self, nodes: int) -> Peers:
        """Return an object that counts pods by service and node."""
        at = self._shown()
        return _Counted(self._columns["node"][at], self._columns["kind"][at], self._kinds, nodes)

    def _shown(self) -> slice | BoolArray:
        """The rows of pods on known nodes."""
        self._close_up()
        on: BoolArray = self._columns["node"][: self._used] >= 0
        if on.all():
            return slice(self._used)
        return np.concatenate([on, np.zeros(self._amounts.shape[1] - self._used, np.bool_)])

    def _close_up(self) -> None:
        """Remove the rows of pods that left."""
        if self._left:
            at = np.flatnonzero(~self._columns["left"][: self._used])
            for column in self._columns.values():
                column[: len(at)] = column[at]
            self._amounts[:, : len(at)] = self._amounts[:, at]
            self._used, self._left = len(at), 0

    def _lengthen(self) -> None:
        """Double the length of the arrays; services without pods lose their number."""
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
    """Counts of running pods, computed at each request."""

    def __init__(
        self, node: IntArray, kind: IntArray, kinds: Mapping[str, int], nodes: int
    ) -> None:
        super().__init__((), nodes)
        self._node, self._kind, self._kinds, self._many = node, kind, kinds, nodes

    def on_nodes(self, service: str) -> IntArray:
        """Return how many of a service run on every node, shape (nodes,)."""
        of_it = self._kind == self._kinds.get(service, -1)
        return np.bincount(self._node[of_it], minlength=self._many)


#: The most nodes that are kept of requests alone.
_MOST_LENT = 20_000


class Watching(Reader, Protocol):
    """The type of a policy that says which parts of a snapshot it needs."""

    @property
    def reads(self) -> frozenset[Reads]:
        """The parts of a snapshot that the reader needs."""


class State:
    """The nodes, pods and measured use of a live cluster, from which a policy gets snapshots.

    Attributes
    ----------
    nodes : dict of str to Node
    pods : dict of str to LivePod
        By uid; also pods without a node.
    use : Use
        The measured use of nodes.
    names : tuple of str
        The nodes in the order of a snapshot's rows; the same object until the order changes.
    on_bound : callable
        Called with a pod that has just got its node.
    """

    def __init__(self, use: Use | None = None) -> None:
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, LivePod] = {}
        self.use = use or Use()
        self.on_bound: Callable[[LivePod], None] = lambda _: None
        self._lent: set[str] = set()
        self._requested: set[str] = {PODS}
        self.names: tuple[str, ...] = ()
        self._index: dict[str, int] = {}
        self._table = Names()
        self._rows = PodRows(())
        self._cluster: Cluster | None = None

    def set_node(self, node: Node) -> None:
        """Add or change a node."""
        self._lent.discard(node.name)
        if self.nodes.get(node.name) != node:
            self.nodes[node.name] = node
            self._cluster = None

    def lend_node(self, node: Node) -> None:
        """Add or change a node that came with a request for scores.

        If the state has ``_MOST_LENT`` such nodes, a new one first drops all of them.
        """
        if node.name not in self.nodes:
            if len(self._lent) >= _MOST_LENT:
                for name in tuple(self._lent):
                    self.drop_node(name)
            self.set_node(node)
            self._lent.add(node.name)
        elif self.nodes[node.name] != node:
            self.nodes[node.name] = node
            self._cluster = None

    def drop_node(self, name: str) -> None:
        """Remove a node."""
        self._lent.discard(name)
        if self.nodes.pop(name, None) is not None:
            self._cluster = None

    def set_pod(self, pod: LivePod) -> None:
        """Add or change a pod."""
        before = self.pods.get(pod.uid)
        if before == pod:
            return
        self.drop_pod(pod.uid)
        self.pods[pod.uid] = pod
        self._add_columns(pod)
        if pod.node:
            node, amounts_of = self._put(pod)
            if node >= 0 and self._cluster is not None:
                request, nonzero, limit = amounts_of
                self._cluster.change(node, request, nonzero, np.maximum(limit, request), sign=1)
            if before is None or not before.node:
                self.on_bound(pod)

    def drop_pod(self, uid: str) -> None:
        """Remove a pod."""
        pod = self.pods.pop(uid, None)
        if pod is not None and pod.node:
            node, *amounts_of = self._rows.remove(uid)
            if node >= 0 and self._cluster is not None:
                self._cluster.change(node, *amounts_of, sign=-1)

    def find(self, listed: Any) -> Listed:
        """Return the position, a row of a snapshot, of each name in a JSON list of nodes."""
        self._built()
        return self._table.find(listed)

    def snapshot(self, policy: Watching, now_ms: int) -> Snapshot:
        """Return the state as the policy reads it. It is valid until the state changes."""
        cluster, reads, nodes = self._built(), policy.reads, self.names
        return cluster.snapshot(
            now_ms,
            usage=self.use.seen(policy, now_ms, nodes) if "usage" in reads else None,
            placed=self._rows.placed() if "placed" in reads else None,
            peers=self._rows.peers(len(nodes)) if "peers" in reads else None,
        )

    def container(self, pod: LivePod) -> Container:
        """Return a pod as a policy's Container, with amounts in a snapshot's columns."""
        self._add_columns(pod)
        resources, sizes = self._built().resources, pod.sizes
        request, nonzero, limit = _amounts(pod, resources)
        return Container(
            id=pod.name,
            service=pod.service,
            request=request,
            nonzero_request=nonzero,
            limit=limit,
            pod=sizes.pod,
        )

    def document(
        self, names: Sequence[str], pod: LivePod, policy: Watching, now_ms: int
    ) -> dict[str, Any]:
        """Return the input of ``tracekit score``: the state now, the pod, and nodes to score."""
        on: dict[str, list[LivePod]] = {name: [] for name in self.nodes}
        for one in self.pods.values():
            if one.node in on:
                on[one.node].append(one)
        return {
            "time_ms": now_ms,
            "resources": list(self._built().resources),
            "candidates": list(names),
            "nodes": [
                {**_document(node), "pods": [one.document() for one in on[node.name]]}
                for node in self.nodes.values()
            ],
            "pod": pod.document(),
            "use": self.use.document(policy, now_ms, self.names),
        }

    def _add_columns(self, pod: LivePod) -> None:
        """Give each new resource of a pod a column."""
        if not pod.sizes.request.keys() <= self._requested:
            self._requested.update(pod.sizes.request)
            self._cluster = None

    def _built(self) -> Cluster:
        if self._cluster is None:
            self._cluster = self._build()
        return self._cluster

    def _build(self) -> Cluster:
        """Build the arrays; rows of pods are kept while the columns are the same."""
        nodes = [_document(node) for node in self.nodes.values()]
        given = (name for node in nodes for name in (*node["allocatable"], *node["capacity"]))
        resources = column_order({*given, *self._requested})
        self.names = tuple(self.nodes)
        self._index = {name: at for at, name in enumerate(self.names)}
        self._table = Names(self.names)
        cluster = Cluster(
            resources=resources,
            capacity=rows_of(nodes, resources, "capacity").reshape(-1, len(resources)),
            allocatable=rows_of(nodes, resources, "allocatable").reshape(-1, len(resources)),
        )
        if resources == self._rows.resources:
            self._rows.follow(self.pods, self._index)
        else:
            self._rows = PodRows(resources)
            for pod in self.pods.values():
                if pod.node:
                    self._put(pod)
        counts, *sums = self._rows.sums(len(nodes))
        cluster.containers[:] = counts
        for kind, one in enumerate(sums, 1):
            cluster.amounts[kind] = one.T
        return cluster

    def _put(self, pod: LivePod) -> tuple[int, tuple[Any, Any, Any]]:
        """Add a row for a pod; the position of its node, and its amounts."""
        node, amounts_of = self._index.get(pod.node, -1), _amounts(pod, self._rows.resources)
        self._rows.add(pod, node, *amounts_of)
        return node, amounts_of


def _document(node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "capacity": dict(node.capacity),
        "allocatable": dict(node.allocatable),
    }


def _amounts(pod: LivePod, resources: tuple[str, ...]) -> tuple[Any, Any, Any]:
    """A pod's request, request with defaults, and limit, by column; a pod takes one place."""
    sizes, place = pod.sizes, {PODS: 1}
    return (
        amounts(resources, {**sizes.request, **place}),
        amounts(resources, {**sizes.nonzero, **place}),
        amounts(resources, sizes.limit),
    )
