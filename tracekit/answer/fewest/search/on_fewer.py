"""Where a limit breaks on all nodes: fewer on which it holds.

A policy that spreads load over all nodes may put more on a small node than a limit allows. Without
the small node it does not.
"""

from collections.abc import Sequence

import numpy as np

from tracekit.answer.fewest.search.trials import Trials

#: These shares of the nodes that may go are left out, one after the other.
_WITHOUT = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8, 1)
#: So many numbers that bring the limits no nearer end the search in one order of the nodes.
_FARTHER = 3


def fullest_first(tried: Trials) -> Trials:
    """The same, where the nodes that were fullest on all nodes go first."""
    most = np.nan_to_num(tried.peak(tried.load.nodes)).max(axis=0)
    return tried.in_order(np.argsort(most, kind="stable"), "fullest")


def held_on_fewer(
    orders_of_nodes: Sequence[Trials], orders: Sequence[int], least: int
) -> tuple[Trials, int] | None:
    """Replays in an order of which the first so many nodes hold all limits; None if none is found.

    Parameters
    ----------
    orders_of_nodes : sequence of Trials
        In each nodes go in another order.
    orders : sequence of int
        Orders of arrival: all limits hold in each.
    least : int
        Fewer are not tried.
    """
    for tried in orders_of_nodes:
        nodes = _held(tried, orders, least)
        if nodes is not None:
            return tried, nodes
    return None


def _held(tried: Trials, orders: Sequence[int], least: int) -> int | None:
    """The largest of a few numbers of nodes on which all limits hold in this order of nodes.

    Where a limit is on too little, as of mean use, nothing tells how near it is: all are tried.
    """
    every, farther = tried.load.nodes, 0
    nearest = _room(tried, every)
    gone = np.ceil(np.array(_WITHOUT) * (every - max(least, 1))).astype(np.int64)
    for nodes in (every - np.unique(gone[gone > 0])).tolist():
        if tried.hold_all(nodes, orders):
            return int(nodes)
        room = _room(tried, nodes)
        farther = farther + 1 if room < 0 and room <= nearest else 0
        nearest = max(nearest, room)
        if farther == _FARTHER:
            return None
    return None


def _room(tried: Trials, nodes: int) -> float:
    """How far the worst limit is from holding, in the order of arrival as given."""
    tried.holds(0, nodes)
    room = next(one.room for one in tried.trials() if (one.repeat, one.nodes) == (0, nodes))
    return min(room.values(), default=np.inf)
