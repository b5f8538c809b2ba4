"""Evict from nodes one after the other while others have room: the descheduler's loop.

Source: evictPodsFromSourceNodes and its helpers, sigs.k8s.io/descheduler @7d2b28bf.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.policy.rebalance._turn import Refusal

#: Whether some destination and some other node would take a container: position, destinations.
Acceptance = Callable[[int, IntArray], bool]
#: Evicts a container, by its position, or says which limit keeps it.
Eviction = Callable[[int], Refusal | None]

NodeLimit = Annotated[
    int | None, About("The most that the evictor lets go from one node at a time.", minimum=0)
]


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """Containers that run, as the descheduler sees them; shape (containers,) unless said.

    Parameters
    ----------
    node : int64
    used : int64, shape (containers, resources), optional
        What an eviction takes off its node; None when the source of usage cannot tell.
    counted : bool
        Whether ``used`` is known; a container it is not known of is never evicted.
    removable : bool
        Whether the evictor may evict it at all.
    turn : int64
        Rank of its eviction: lowest priority first, then quality of service, then size.
    accepted, evict : callable
        Asked, and called, when its turn comes.
    """

    node: IntArray
    used: IntArray | None
    counted: BoolArray
    removable: BoolArray
    turn: IntArray
    accepted: Acceptance
    evict: Eviction


@dataclass(frozen=True, kw_only=True)
class View:
    """The cluster as a rebalance policy of the descheduler sees it.

    Parameters
    ----------
    resources : tuple of str
    used, capacity : float64, shape (nodes, resources)
        Whole amounts; capacity is NaN where a node lacks the resource.
    schedulable : bool, shape (nodes,)
    """

    resources: tuple[str, ...]
    used: FloatArray
    capacity: FloatArray
    schedulable: BoolArray
    containers: Candidates


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Which nodes give, which take, and when to stop.

    Parameters
    ----------
    sources, destinations : int64
        Node positions; sources in the order of their turn.
    target : float64, shape (nodes, resources)
        How far destinations may be filled.
    to_target : bool
        Whether a source is done once it is at or below the target in every resource.
    node_limit : int, optional
        The most that the policy evicts per node.
    eligible : bool, shape (containers,)
        Containers that the policy considers.
    """

    sources: IntArray
    destinations: IntArray
    target: FloatArray
    to_target: bool
    node_limit: int | None
    eligible: BoolArray


def target_amounts(capacity: FloatArray, percent: FloatArray) -> FloatArray:
    """Whole amount that a percentage of the capacity is, shape (nodes, resources).

    The full capacity where there is no percentage (NaN), 0 where a node lacks the resource.
    """
    known = np.nan_to_num(capacity, nan=0.0)
    share = np.trunc(np.nan_to_num(percent, nan=0.0) * 0.01 * known)
    return np.where(np.isnan(percent), known, share)


def evictions(view: View, plan: Plan) -> IntArray:
    """Positions of the containers to evict, in the order of their eviction."""
    taken = view.used[plan.destinations]
    budget = (plan.target[plan.destinations] - taken).sum(axis=0)
    pool = view.containers
    may = np.flatnonzero(pool.removable & plan.eligible)
    ordered = may[np.lexsort((pool.turn[may], pool.node[may]))]
    first = np.searchsorted(pool.node[ordered], np.arange(len(view.used) + 1))
    evicted: list[int] = []
    for node in plan.sources:
        queue = ordered[first[node] : first[node + 1]]
        some, refused = _from_node(view, plan, int(node), queue, budget)
        evicted += some
        if refused == "total":
            break
    return np.array(evicted, dtype=np.int64)


def _from_node(
    view: View, plan: Plan, node: int, queue: IntArray, budget: FloatArray
) -> tuple[list[int], Refusal | None]:
    """Evict from one node; what is evicted is taken off ``budget``. And the limit that ended it."""
    pool, used = view.containers, view.used[node].copy()
    evicted: list[int] = []
    if not _goes_on(plan, used, plan.target[node], budget):
        return [], None
    for index in queue.tolist():
        if plan.node_limit is not None and len(evicted) >= plan.node_limit:
            break
        if not pool.counted[index] or not pool.accepted(index, plan.destinations):
            continue
        refused = pool.evict(index)
        if refused in ("node", "total"):
            return evicted, refused
        if refused is not None:
            continue
        evicted.append(index)
        if pool.used is None:
            if plan.node_limit is None:
                break  # nothing says what one eviction brings, so one is all
            continue
        used -= pool.used[index]
        budget -= pool.used[index]
        if not _goes_on(plan, used, plan.target[node], budget):
            break
    return evicted, None


def _goes_on(
    plan: Plan,
    used: FloatArray,
    target: FloatArray,
    budget: FloatArray,
) -> bool:
    if plan.to_target and not (used > target).any():
        return False
    return bool((budget > 0).all())
