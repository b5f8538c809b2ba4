"""Sums of products of changes, node by node: all that a regression needs of the data."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from tracekit.analysis.inference.changes import NodeChanges
from tracekit.base.arrays import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class NodeSums:
    """One node and one resource: containers' changes against each other and against the node's.

    Parameters
    ----------
    services : int64, shape (containers,)
        Service of each container, as a column of the regression.
    gram : float64, shape (containers, containers)
    cross : float64, shape (containers,)
    square : float
        Sum of the squared changes of the node.
    steps : int
        Changes of the node that are known.
    """

    services: IntArray
    gram: FloatArray
    cross: FloatArray
    square: float
    steps: int


@dataclass
class Sums:
    """All nodes of one resource.

    ``services`` are the keys of the regression's columns, ``containers`` and ``nodes`` how many
    there are of each.
    """

    services: IntArray
    containers: IntArray
    nodes: list[NodeSums] = field(default_factory=list)

    def normal_equations(self) -> tuple[FloatArray, FloatArray]:
        """Gram matrix, (services, services), and cross products, (services,), over all nodes."""
        count = len(self.services)
        gram, cross = np.zeros((count, count)), np.zeros(count)
        for node in self.nodes:
            np.add.at(gram, (node.services[:, None], node.services[None, :]), node.gram)
            np.add.at(cross, node.services, node.cross)
        return gram, cross

    def hosts(self) -> IntArray:
        """Nodes that each service has containers on, shape (services,)."""
        each = [np.unique(node.services) for node in self.nodes]
        flat = np.concatenate(each) if each else np.zeros(0, dtype=np.int64)
        return np.bincount(flat, minlength=len(self.services))


def sums_of(nodes: Iterable[NodeChanges], resources: Iterable[str]) -> dict[str, Sums]:
    """The sums of each resource, from one pass over the nodes."""
    names = list(resources)
    kept = [(node.services, {name: _node_sums(node, name) for name in names}) for node in nodes]
    keys = np.concatenate([services for services, _ in kept]) if kept else np.zeros(0, np.int64)
    services, containers = np.unique(keys, return_counts=True)
    found = {name: Sums(services=services, containers=containers) for name in names}
    for _, by_resource in kept:
        for name, sums in by_resource.items():
            columns = np.searchsorted(services, sums.services)
            found[name].nodes.append(dataclasses.replace(sums, services=columns))
    return found


def _node_sums(node: NodeChanges, resource: str) -> NodeSums:
    theirs, own = node.containers[resource], node.node[resource]
    return NodeSums(
        services=node.services,
        gram=theirs @ theirs.T,
        cross=theirs @ own,
        square=float(own @ own),
        steps=node.steps[resource],
    )
