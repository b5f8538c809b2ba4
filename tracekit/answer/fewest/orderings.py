"""Orders in which nodes go: each gives positions of nodes, those that stay longest first."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tracekit.answer.fewest.zones import evened
from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.cluster.changed.more_nodes import sizes_of
from tracekit.cluster.workload import Workload

#: The rank of a node that may go.
FREE = 2


@dataclass(frozen=True)
class Nodes:
    """What orders go by, shape (nodes,) each.

    Parameters
    ----------
    asked : float64
        What is requested of each node over time, the mean over all orders of arrival.
    size, price : float64
        A share of the largest node, and what the node costs per hour; 0 where that is unknown.
    fullness : float64
        How full the node gets, as a share of the ceiling.
    rank : int64
        Those of a lower rank stay longer in every order.
    zone : int64, optional
        Where any one zone may be lost, so that as much of each stays.
    """

    asked: FloatArray
    size: FloatArray
    price: FloatArray
    fullness: FloatArray
    rank: IntArray
    zone: IntArray | None = None


Ordering = Callable[[Nodes], IntArray]


def least_requested(nodes: Nodes) -> IntArray:
    """The node goes first of which least is requested; of equals the last."""
    return np.argsort(-nodes.asked, kind="stable")


def smallest(nodes: Nodes) -> IntArray:
    """The smallest node goes first, of equals that of which least is requested."""
    return np.lexsort((-nodes.asked, -nodes.size))


def dearest(nodes: Nodes) -> IntArray:
    """The node with the highest price for its size goes first."""
    return np.lexsort((-nodes.asked, nodes.price / np.maximum(nodes.size, 1e-12)))


def fullest(nodes: Nodes) -> IntArray:
    """The fullest node goes first: a small one may break a limit that others keep."""
    return np.argsort(nodes.fullness, kind="stable")


def placed(nodes: Nodes, ordering: Ordering) -> IntArray:
    """The order, with those of a lower rank in front, shape (nodes,)."""
    place = ordering(nodes)
    place = np.asarray(place[np.argsort(nodes.rank[place], kind="stable")])
    if nodes.zone is None:
        return place
    return np.asarray(place[evened(nodes.zone[place], nodes.size[place], nodes.rank[place])])


def rank_of(load: Workload, fixed: BoolArray, gone: IntArray) -> IntArray:
    """The rank of each node: gone by the end, fixed, free, and free but taking nothing new."""
    rank = np.where(fixed, 1, FREE)
    if load.nodes.cordoned is not None:
        rank[load.nodes.cordoned & ~fixed] = FREE + 1
    rank[gone] = 0
    return rank


def nodes_of(
    load: Workload,
    asked: FloatArray,
    fullest: FloatArray,
    rank: IntArray,
    zone: IntArray | None,
) -> Nodes:
    """What orders go by, of nodes that are as ``fullest`` on all of them, shape (3, nodes)."""
    price = load.nodes.price_per_hour
    cpu, memory = load.rules.ceiling.cpu_fraction, load.rules.ceiling.memory_fraction
    return Nodes(
        asked=asked,
        size=sizes_of(load),
        price=np.zeros(load.nodes.count) if price is None else np.nan_to_num(price),
        fullness=np.maximum(fullest[0] / cpu, fullest[2] / memory),
        rank=rank,
        zone=zone,
    )
