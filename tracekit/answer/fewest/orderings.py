"""Orders in which nodes go, and choices of how many of each kind stay.

An order is an array of positions of nodes, the node that stays longest first. Where nodes are of
few kinds, choices of how many of each kind stay are tried, too. Choices without room for the load
are left out before a replay.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tracekit.answer.fewest.bound import keeps_requests, most_use
from tracekit.answer.fewest.cluster import evened
from tracekit.answer.fewest.trials import Trials
from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.cluster.enlarged import kinds_among, sizes_of
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrant
from tracekit.replay.bounds.demand import volumes

#: The rank of a node that may go.
FREE = 2


@dataclass(frozen=True)
class Nodes:
    """The properties by which nodes are sorted for removal, each of shape (nodes,).

    Parameters
    ----------
    requested : float64
        The requests on each node as a share of capacity; the mean over time and orders of arrival.
    size, price : float64
        The node's size as a share of the largest node, and its cost per hour (0: unknown).
    fullness : float64
        The node's use of CPU or memory as a share of the use from which on it counts as full; the
        larger of the two.
    rank : int64
        Nodes of a higher rank are removed before nodes of a lower rank.
    zone : int64, optional
        The zone of each node, where the loss of a zone has to be survived.
    """

    requested: FloatArray
    size: FloatArray
    price: FloatArray
    fullness: FloatArray
    rank: IntArray
    zone: IntArray | None = None


Ordering = Callable[[Nodes], IntArray]


def least_requested(nodes: Nodes) -> IntArray:
    """Return node indices such that the last, which is removed first, has the least requests."""
    return np.argsort(-nodes.requested, kind="stable")


def smallest(nodes: Nodes) -> IntArray:
    """Return node indices, the smallest last; of equal nodes that with the least requests."""
    return np.lexsort((-nodes.requested, -nodes.size))


def dearest(nodes: Nodes) -> IntArray:
    """Return node indices, that with the highest price for its size last."""
    return np.lexsort((-nodes.requested, nodes.price / np.maximum(nodes.size, 1e-12)))


def fullest(nodes: Nodes) -> IntArray:
    """Return node indices, the fullest last: such a node may break a limit that others keep."""
    return np.argsort(nodes.fullness, kind="stable")


def ordered_nodes(nodes: Nodes, ordering: Ordering) -> IntArray:
    """Return node indices, shape (nodes,), sorted by rank, and within a rank by an ordering.

    A search removes nodes from the end. Where the loss of a zone has to be survived, the nodes of a
    rank are spread over the zones.
    """
    place = ordering(nodes)
    place = np.asarray(place[np.argsort(nodes.rank[place], kind="stable")])
    if nodes.zone is None:
        return place
    return np.asarray(place[evened(nodes.zone[place], nodes.size[place], nodes.rank[place])])


def rank_of(load: Workload, fixed: BoolArray, gone: IntArray) -> IntArray:
    """Return each node's rank, shape (nodes,): nodes of a higher rank are removed first.

    The rank is 0 for nodes that are gone by the end of the record (the indices ``gone``), 1 for
    other nodes that must stay (``fixed``), 3 for cordoned nodes, and 2 for all others.
    """
    rank = np.where(fixed, 1, FREE)
    if load.nodes.cordoned is not None:
        rank[load.nodes.cordoned & ~fixed] = FREE + 1
    rank[gone] = 0
    return rank


def nodes_of(
    load: Workload,
    requested: FloatArray,
    fullest: FloatArray,
    rank: IntArray,
    zone: IntArray | None,
) -> Nodes:
    """Return the properties by which a workload's nodes are sorted.

    Parameters
    ----------
    requested : float64, shape (nodes,)
        The requests on each node over time.
    fullest : float64, shape (3, nodes)
        On all nodes: each node's CPU use at the 99th percentile over time, its highest CPU use and
        its highest memory use.
    """
    price = load.nodes.price_per_hour
    cpu, memory = load.rules.ceiling.cpu_fraction, load.rules.ceiling.memory_fraction
    return Nodes(
        requested=requested,
        size=sizes_of(load),
        price=np.zeros(load.nodes.count) if price is None else np.nan_to_num(price),
        fullness=np.maximum(fullest[0] / cpu, fullest[2] / memory),
        rank=rank,
        zone=zone,
    )


#: The most choices that are weighed, and the most choices of one weight that are replayed.
_CHOICES, _OF_A_WEIGHT = 300_000, 3
#: The number of lightest weights that are replayed before bisection.
_LIGHTEST = 4


def lighter(
    tried: Trials, policy: Entrant, fixed: BoolArray, each: FloatArray, below: float
) -> IntArray | None:
    """Return the lightest choice of nodes on which all limits hold, as node indices.

    None if no such choice weighs less than ``below``. Weights are bisected. Of the choices with one
    weight, those with most spare room are replayed.

    Parameters
    ----------
    fixed : bool, shape (nodes,)
        Nodes that stay in any case.
    each : float64, shape (nodes,)
        The weight of each node: 1, or its price.
    """
    load, free = tried.load, np.flatnonzero(~fixed)
    kinds = kinds_among(load, free, each)
    if tried.zone is not None:
        alike = [(kind, tried.zone[kind], np.zeros(len(kind), np.int64)) for kind in kinds]
        kinds = [kind[evened(zone, each[kind], none)] for kind, zone, none in alike]
    sizes = [len(kind) + 1 for kind in kinds]
    if len(kinds) < 2 or math.prod(sizes) > _CHOICES:
        return None
    grid = np.indices(sizes).reshape(len(kinds), -1).T
    weight = grid @ np.array([each[kind[0]] for kind in kinds]) + each[fixed].sum()
    spare = _spare(tried, policy, kinds, grid, fixed)
    levels = np.unique(weight[(weight < below) & (spare >= 0) & (grid.sum(axis=1) > 0)])

    def at(level: int) -> IntArray | None:
        here = np.flatnonzero((weight == levels[level]) & (spare >= 0))
        for one in here[np.argsort(-spare[here], kind="stable")][:_OF_A_WEIGHT]:
            chosen = [kind[:count] for kind, count in zip(kinds, grid[one].tolist(), strict=True)]
            staying = np.concatenate([np.flatnonzero(fixed), *chosen])
            if tried.hold_all(staying):
                return staying
        return None

    return next(_lightest(at, len(levels)), None)


def _lightest(at: Callable[[int], IntArray | None], levels: int) -> Iterator[IntArray]:
    """Nodes on which all limits hold, by weight.

    A heavier choice may break a limit that a lighter one keeps, so the lightest weights are tried
    one by one, and only the others by bisection.
    """
    low, high, best = min(_LIGHTEST, levels), levels, None
    yield from (staying for level in range(low) if (staying := at(level)) is not None)
    while low < high:
        middle = (low + high) // 2
        staying = at(middle)
        if staying is None:
            low = middle + 1
        else:
            high, best = middle, staying
    if best is not None:
        yield best


def _spare(
    tried: Trials, policy: Entrant, kinds: list[IntArray], grid: IntArray, fixed: BoolArray
) -> FloatArray:
    """The spare room of each choice as a share of the load; below 0 where there is too little."""
    load, limits = tried.load, tried.limits
    spare = np.full(len(grid), np.inf)
    waits = limits.nobody_waits(tried.policy)
    by_request = waits and keeps_requests(load, policy)
    for demand, rooms in volumes(load, most_use(load, limits, tried.policy))[
        : 2 if by_request else 1
    ]:
        most = demand.max(axis=0, initial=0).astype(np.float64)
        for column in np.flatnonzero(most > 0).tolist():
            room = rooms[:, column].astype(np.float64)
            capacity = grid @ np.array([room[kind[0]] for kind in kinds]) + room[fixed].sum()
            spare = np.minimum(spare, capacity / most[column] - 1)
    return spare if waits else np.maximum(spare, 0)
