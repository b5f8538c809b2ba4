"""How many nodes are in use at least, and what these cost, pool by pool.

A pool is a set of nodes that some containers may not leave: selectors and taints close all others
to them, or no other node has what they ask for. Of pools without a common node each needs its own
nodes, so that the sum of what each needs at least is a bound. Containers that may be in several
pools are left out of it.
"""

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.workload import Workload
from tracekit.replay.bounds.nodes import volume_bounds
from tracekit.replay.bounds.requests import least_cost, summed_at

#: Kinds of containers times nodes; what is larger is bounded by volume alone.
_MOST_OPEN = 20_000_000


def pool_bounds(load: Workload, room: IntArray) -> IntArray:
    """A lower bound on nodes in use at every step, shape (steps,); 0 where no pool is found.

    Parameters
    ----------
    room : int64, shape (nodes, resources)
        What requests may take of each node.
    """
    found = _added(load, room, lambda asked, pool: volume_bounds(asked, room[pool]))
    return found.astype(np.int64)


def pool_costs(load: Workload, room: IntArray, price: FloatArray) -> FloatArray:
    """The same of what nodes in use cost, shape (steps,); ``price`` is of each node."""
    return _added(load, room, lambda asked, pool: least_cost(asked, room[pool], price[pool]))


#: What the nodes of a pool need at every step, by sums of requests and the pool.
_Least = Callable[[IntArray, BoolArray], IntArray | FloatArray]


def _added(load: Workload, room: IntArray, least: _Least) -> FloatArray:
    """The sum over pools, of the choice of pools where it is largest."""
    nothing = np.zeros(len(load.use.times_ms))
    counted = np.ones(load.containers.count, dtype=np.bool_)
    # who is put on its node is there whatever is closed
    for put in (load.rules.daemon, None if load.rules.pinned is None else load.rules.pinned >= 0):
        counted &= True if put is None else ~put
    at = np.flatnonzero(counted)
    if load.rules.constraints is None or not len(at):
        return nothing
    found = _open_to(load, load.rules.constraints, room, at)
    if found is None:
        return nothing
    opened, kind = found
    # who ran where the rules of now bar it may be left there: it is in no pool
    ran = load.containers.recorded_node[at]
    kept = (ran < 0) | opened[kind, ran]
    at, kind = at[kept], kind[kept]
    choices = {tuple(map(bytes, pools)): pools for pools in (_joined(opened), _smallest(opened))}
    bounds = [nothing]
    for pools in choices.values():
        # containers side by side that are of one pool, those of none first
        of = _pool_of(opened, pools)[kind]
        order = np.argsort(of, kind="stable")
        ends = np.searchsorted(of[order], np.arange(len(pools) + 1))
        parts = zip(pools, itertools.pairwise(ends.tolist()), strict=True)
        alone = [
            least(summed_at(load, at[order[first:last]]), pool) for pool, (first, last) in parts
        ]
        bounds.append(np.sum([nothing, *alone], axis=0))
    return np.asarray(np.max(bounds, axis=0))


def _open_to(
    load: Workload, constraints: Constraints, room: IntArray, at: IntArray
) -> tuple[BoolArray, IntArray] | None:
    """The nodes open to each kind of container, (kinds, nodes), and the kind of each at ``at``.

    None where all nodes are open to all, or there are too many kinds.
    """
    parts = tuple(part for part in constraints.parts if part.fixed)
    fixed = Constraints(parts=parts).fixed if parts else np.zeros(load.containers.count, np.int64)
    rows = np.column_stack([fixed, load.containers.request > 0])[at]
    _, first, kind = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    if len(first) * load.nodes.count > _MOST_OPEN:
        return None
    opened = np.ones((len(first), load.nodes.count), dtype=np.bool_)
    keeper = Constraints(parts=parts).keeper(load.nodes.count)
    for row, one in enumerate(at[first].tolist()):
        asked = load.containers.request[one] > 0
        opened[row] = (room[:, asked] > 0).all(axis=1)
        mask = keeper.open(one)
        opened[row] &= True if mask is None else mask
    return None if opened.all() else (opened, kind.reshape(-1))


def _joined(opened: BoolArray) -> list[BoolArray]:
    """Sets of nodes, those with a common one joined, until none have any."""
    pools: list[BoolArray] = []
    for mask in np.unique(opened, axis=0):
        near = [pool for pool in pools if (pool & mask).any()]
        pools = [pool for pool in pools if not (pool & mask).any()]
        pools.append(np.any([mask, *near], axis=0))
    return pools


def _smallest(opened: BoolArray) -> list[BoolArray]:
    """The smallest sets of nodes of which none has a common one with another."""
    pools: list[BoolArray] = []
    masks = np.unique(opened, axis=0)
    for mask in masks[np.argsort(masks.sum(axis=1), kind="stable")]:
        if mask.any() and not any((pool & mask).any() for pool in pools):
            pools.append(mask)
    return pools


def _pool_of(opened: BoolArray, pools: Sequence[BoolArray]) -> IntArray:
    """The pool that holds all nodes open to each kind of container, (kinds,); -1 where none does.

    ``pools`` have no common node.
    """
    pool = np.full(opened.shape[1], -1, dtype=np.int64)
    for number, mask in enumerate(pools):
        pool[mask] = number
    first = pool[opened.argmax(axis=1)]
    one = opened.any(axis=1) & ~(opened & (pool != first[:, None])).any(axis=1)
    return np.where(one, first, -1)
