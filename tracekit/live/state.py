"""The cluster as it is now: nodes, and what runs on them, kept from event to event."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from tracekit.cluster.resources import PODS, amounts, column_order
from tracekit.live.names import Found, Names
from tracekit.live.objects import LivePod, Node
from tracekit.live.rows import PodRows
from tracekit.live.use import Use
from tracekit.policy.placement import Reads
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.snapshot import Container, Snapshot
from tracekit.policy.view.usage import Reader
from tracekit.replay.cases.case import rows_of

#: So many nodes that only requests spoke of are remembered.
_MOST_LENT = 20_000


class Watching(Reader, Protocol):
    """A policy, or another reader of the state."""

    @property
    def reads(self) -> frozenset[Reads]:
        """The data that it is shown."""


class State:
    """Nodes and pods, as a policy sees them.

    Attributes
    ----------
    nodes : dict of str to Node
    pods : dict of str to LivePod
        By uid; those without a node too.
    use : Use
        What is measured.
    names : tuple of str
        The nodes in the order of a snapshot's rows; the same object until that changes.
    on_bound : callable
        Called with a pod that has got its node.
    """

    def __init__(self, use: Use | None = None) -> None:
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, LivePod] = {}
        self.use = use or Use()
        self.on_bound: Callable[[LivePod], None] = lambda _: None
        self._lent: set[str] = set()
        self._asked: set[str] = {PODS}
        self.names: tuple[str, ...] = ()
        self._index: dict[str, int] = {}
        self._table = Names()
        self._rows = PodRows(())
        self._cluster: Cluster | None = None

    def set_node(self, node: Node) -> None:
        """A node is there, or has changed."""
        self._lent.discard(node.name)
        if self.nodes.get(node.name) != node:
            self.nodes[node.name] = node
            self._cluster = None

    def lend_node(self, node: Node) -> None:
        """A request speaks of a node: it is remembered, as long as not too many are."""
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
        """A node is gone."""
        self._lent.discard(name)
        if self.nodes.pop(name, None) is not None:
            self._cluster = None

    def set_pod(self, pod: LivePod) -> None:
        """A pod is there, or has changed."""
        before = self.pods.get(pod.uid)
        if before == pod:
            return
        self.drop_pod(pod.uid)
        self.pods[pod.uid] = pod
        self._ask(pod)
        if pod.node:
            node, amounts_of = self._put(pod)
            if node >= 0 and self._cluster is not None:
                request, nonzero, limit = amounts_of
                self._cluster.change(node, request, nonzero, np.maximum(limit, request), sign=1)
            if before is None or not before.node:
                self.on_bound(pod)

    def drop_pod(self, uid: str) -> None:
        """A pod is gone, or has ended."""
        pod = self.pods.pop(uid, None)
        if pod is not None and pod.node:
            node, *amounts_of = self._rows.remove(uid)
            if node >= 0 and self._cluster is not None:
                self._cluster.change(node, *amounts_of, sign=-1)

    def find(self, listed: Any) -> Found:
        """The nodes of a list of names in JSON; each one's position is its row in a snapshot."""
        self._built()
        return self._table.find(listed)

    def snapshot(self, policy: Watching, now_ms: int) -> Snapshot:
        """What a policy is shown; valid until the next event."""
        cluster, reads, nodes = self._built(), policy.reads, self.names
        return cluster.snapshot(
            now_ms,
            usage=self.use.seen(policy, now_ms, nodes) if "usage" in reads else None,
            placed=self._rows.placed() if "placed" in reads else None,
            peers=self._rows.peers(len(nodes)) if "peers" in reads else None,
        )

    def container(self, pod: LivePod) -> Container:
        """A pod that waits, with its amounts in the columns of the snapshot."""
        self._ask(pod)
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
        """The inputs of a recorded case with the state as it is, and the nodes to be scored."""
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

    def _ask(self, pod: LivePod) -> None:
        """A resource that nobody has asked for before gets a column."""
        if not pod.sizes.request.keys() <= self._asked:
            self._asked.update(pod.sizes.request)
            self._cluster = None

    def _built(self) -> Cluster:
        if self._cluster is None:
            self._cluster = self._build()
        return self._cluster

    def _build(self) -> Cluster:
        """The arrays anew; rows of pods are kept as long as the columns are the same."""
        nodes = [_document(node) for node in self.nodes.values()]
        given = (name for node in nodes for name in (*node["allocatable"], *node["capacity"]))
        resources = column_order({*given, *self._asked})
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
        """A row for a pod; the position of its node, and its amounts."""
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
    """Request, request with defaults, and limit in columns; a pod takes one place."""
    sizes, place = pod.sizes, {PODS: 1}
    return (
        amounts(resources, {**sizes.request, **place}),
        amounts(resources, {**sizes.nonzero, **place}),
        amounts(resources, sizes.limit),
    )
