"""Orders in which nodes go, and choices of how many of each kind stay.

An order gives positions of nodes, those that stay longest first. It leaves to itself of which kinds
nodes stay. Where there are few kinds, every choice of how many of each kind stay is weighed before
a replay. Choices without room for the load are left out.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tracekit.answer.fewest.bound import keeps_requests, most_use
from tracekit.answer.fewest.cluster import evened
from tracekit.answer.fewest.trials import Trials
from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.cluster.changed.more_nodes import kinds_among, sizes_of
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrant
from tracekit.replay.bounds.demand import volumes

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


#: So many choices are weighed at most, and of one weight so many replayed.
_CHOICES, _OF_A_WEIGHT = 300_000, 3
#: So many of the lightest weights are replayed before bisection.
_LIGHTEST = 4


def lighter(
    tried: Trials, policy: Entrant, fixed: BoolArray, each: FloatArray, below: float
) -> IntArray | None:
    """The lightest nodes on which all limits hold, of less weight than ``below``; None for none.

    The weight is bisected. At each weight the choices of nodes with most spare room are replayed.

    Parameters
    ----------
    fixed : bool, shape (nodes,)
        Nodes that stay in any case.
    each : float64, shape (nodes,)
        What each node weighs: 1, or its price.
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
            kept = np.concatenate([np.flatnonzero(fixed), *chosen])
            if tried.hold_all(kept):
                return kept
        return None

    return next(_lightest(at, len(levels)), None)


def _lightest(at: Callable[[int], IntArray | None], levels: int) -> Iterator[IntArray]:
    """What holds, the lightest first as far as that is replayed.

    What holds is not monotone in the weight, so that the lightest are tried one by one.
    """
    low, high, best = min(_LIGHTEST, levels), levels, None
    yield from (kept for level in range(low) if (kept := at(level)) is not None)
    while low < high:
        middle = (low + high) // 2
        kept = at(middle)
        if kept is None:
            low = middle + 1
        else:
            high, best = middle, kept
    if best is not None:
        yield best


def _spare(
    tried: Trials, policy: Entrant, kinds: list[IntArray], grid: IntArray, fixed: BoolArray
) -> FloatArray:
    """The room of each choice beyond the load, as a share of it; below 0 where it is too little."""
    load, limits = tried.load, tried.limits
    spare = np.full(len(grid), np.inf)
    waits = limits.nobody_waits(tried.policy)
    asks = waits and keeps_requests(load, policy)
    for demand, rooms in volumes(load, most_use(load, limits, tried.policy))[: 2 if asks else 1]:
        most = demand.max(axis=0, initial=0).astype(np.float64)
        for column in np.flatnonzero(most > 0).tolist():
            room = rooms[:, column].astype(np.float64)
            there = grid @ np.array([room[kind[0]] for kind in kinds]) + room[fixed].sum()
            spare = np.minimum(spare, there / most[column] - 1)
    return spare if waits else np.maximum(spare, 0)
