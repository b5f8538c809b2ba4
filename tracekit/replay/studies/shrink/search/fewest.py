"""The fewest nodes on which a workload runs under a policy within limits, by replays on fewer.

Nodes go in one of two stated orders, of which the one that ends with fewer nodes is taken, or,
where what nodes cost is to be least, in one of three, of which the one is taken that ends cheapest:

- ``least_asked``: the policy is replayed on all nodes, and those on which it put least go first.
  Least is by the requests of the containers it put there, over time, as a share of the node's
  capacity, of the resource where that is largest; of equal nodes the last goes first.
- ``smallest``: by capacity as a share of the largest node's, the mean over resources; of equal
  nodes the one goes first that ``least_asked`` takes first.
- ``dearest``: by price as a share of what the node has, as ``smallest`` measures it; only for the
  least cost.

A further order is searched where it holds with fewer nodes, or at less cost, than the best so far.

Of the nodes that stay then, more go in two ways:

- ``sorted_anew``: those first on which the policy puts least now, as in ``least_asked``. A node
  that cannot be used, or that is of no use, goes so. It is repeated while it ends with fewer.
- ``one_by_one``: of up to ``ONE_BY_ONE`` nodes each goes by itself, until none can, or ``_TRIED``
  in a row could not; those that are asked for least first, or for the least cost the dearest.

Where nodes are of few kinds, how many of each kind stay is then chosen anew: see ``by_kind``.

How many nodes can go is found by bisection between the lower bound and all, in the order of arrival
as given. Other orders of arrival are searched around that number, outwards from it, as they seldom
end far away; the answer is the least number, from the largest of these on, that holds in all. So it
holds, and with one node fewer a limit breaks in some order, or the bound is reached. That fewer
still would hold again, or another choice of so many nodes, is not ruled out.
"""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.policy.entrant import Entrant
from tracekit.replay.studies.shrink.search.bisection import fewest, fewest_around, fewest_from
from tracekit.replay.studies.shrink.search.by_kind import lighter
from tracekit.replay.studies.shrink.search.few_nodes import Ask
from tracekit.replay.studies.shrink.search.least_nodes import least_nodes
from tracekit.replay.studies.shrink.search.limits import Limits
from tracekit.replay.studies.shrink.search.trials import COST, LESS, NODES, Trial, Trials
from tracekit.replay.workload.workload import Workload

#: Of more nodes than these none is tried by itself: each costs a replay.
ONE_BY_ONE = 50
#: So many nodes in a row that cannot go end the search.
_TRIED = 24


#: Instead of a node that further ones are like: they are like several, evenly over the sizes.
MIXED = -1


@dataclass(frozen=True)
class Option:
    """So many more nodes like one that is there, at a position, or ``MIXED``, are enough."""

    like: int
    nodes: int


@dataclass(frozen=True, kw_only=True)
class Fewest:
    """The answer for one policy.

    Parameters
    ----------
    cheapest : float, optional
        No placement within the limits gets by with nodes that cost less per hour; None where prices
        are not known.
    bound : int, optional
        No placement within the limits gets by with fewer nodes; None where nothing is proven.
    least : int
        Fewer are not tried: the bound, and the nodes that never go.
    left : int
        So many of all these numbers are nodes that are gone by the end.
    by_order : tuple of int
        The fewest for each order of arrival by itself, on nodes that go in the same order, or
        ``nodes``, where that is less.
    going : str
        In which order nodes went.
    place : int64, shape (nodes,)
        Positions of the nodes; those that stay longest first.
    put : float64, shape (nodes,)
        Share of each node that was asked for over time, on all nodes.
    trials : tuple of Trial
        All that were replayed in this order, on all nodes first, then by number of nodes.
    asked : float64, shape (nodes,)
        The same where only those are left that stay, in the order of arrival as given; NaN for
        the others.
    peak : float64, shape (2, nodes)
        The highest use of CPU and memory of each node that stays, as a share of what it has, in
        the order of arrival as given; NaN for those that go.
    kind : int
        Where all nodes are too few: the node that all further ones are like in kind, or ``MIXED``.
    options : tuple of Option
        How many others would be enough instead.
    like : int64, shape (more,)
        Where all nodes are too few: which node each further one is like. They come after all
        others in every array.
    waits_with_all : int, optional
        Where containers wait with all nodes already, how many never find a node, in the worst
        order: no more of them do on those that stay. None where nothing waits.
    left_with_all : int
        How many never find a node with all nodes, in the worst order of those replayed there.
    waiting : mapping
        Who they are and why, in the order of arrival as given: see ``runs.waiting.waiting_on``.
    """

    nodes: int
    bound: int | None
    cheapest: float | None
    least: int
    left: int
    by_order: tuple[int, ...]
    going: str
    place: IntArray
    put: FloatArray
    asked: FloatArray
    trials: tuple[Trial, ...]
    peak: FloatArray
    kind: int = MIXED
    options: tuple[Option, ...] = ()
    like: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    waits_with_all: int | None = None
    left_with_all: int = 0
    waiting: Mapping[str, Any] = field(default_factory=dict)

    def at(self, nodes: int) -> list[Trial]:
        """The replays on so many nodes, by order of arrival."""
        return [one for one in self.trials if one.nodes == nodes]


def fewest_nodes(
    load: Workload,
    policy: Entrant,
    limits: Limits,
    *,
    seed: int,
    repeats: int,
    by: str = NODES,
    ask: Ask | None = None,
    beside: int = 1,
) -> Fewest:
    """Search for one policy.

    Parameters
    ----------
    by : {'nodes', 'cost'}
        Whether the number of nodes is to be least, or what they cost.
    ask : callable, optional
        Who replays; this process if not given.
    beside : int
        How many replays it may be asked for at a time. What is found does not depend on it.

    Raises
    ------
    TracekitError
        Where a limit breaks on all nodes; the message says by how much. Where one on what fewer
        nodes bring down breaks on the fewest that the others allow.
    """
    tried = Trials(load, policy, limits, seed, ask)
    orders = range(repeats)
    tried.check_all_nodes(0)
    bound = least_nodes(load, policy, limits)
    found = _searched(tried, orders, bound, beside)
    paid = tried.weight(by)[found.nodes - 1]
    others = [tried.smallest_first(), *([tried.dearest_first()] if by == COST else [])]
    for other in others:
        weight = other.weight(by)
        less = int((weight < paid * LESS).sum())
        if less < found.least or not other.hold_all(less, orders):
            continue
        again = _searched(other, orders, bound, beside)
        if weight[again.nodes - 1] < paid:
            found, paid = again, weight[again.nodes - 1]
    dear = tried.price if by == COST else np.zeros(load.nodes)
    found = _one_by_one(tried, _sorted_anew(tried, found, orders), orders, dear)
    stay = found.place[: found.nodes]
    better = lighter(tried, stay, orders, by) if found.nodes > found.least else None
    if better is not None:
        trial, nodes = better
        found = found_on(trial, nodes, bound, [min(one, nodes) for one in found.by_order])
        found = _one_by_one(tried, _tried_fewer(trial, found, orders), orders, dear)
    tried.check_at_the_end(found.at(found.nodes), by)
    # only then all orders were replayed on all nodes
    known = orders if limits.speak_of("base", str(policy)) else orders[:1]
    left = max(map(tried.left_with_all, known))
    return replace(found, waiting=tried.waiting(), left_with_all=left)


def _searched(tried: Trials, orders: Sequence[int], bound: int | None, beside: int) -> Fewest:
    """The fewest nodes in the order in which they go."""
    every, low = len(tried.place), max(bound or 1, tried.fixed)
    first = fewest(functools.partial(tried.holds, 0), low, every)

    def search(order: int) -> int:
        found = fewest_around(functools.partial(tried.holds, order), first, low, every)
        if found is None:
            tried.check_all_nodes(order)
        return every if found is None else found

    by_order = [first, *_each(search, orders[1:], beside)]
    nodes = max(by_order)
    held = fewest_from(lambda some: tried.hold_all(some, orders), nodes, every)
    nodes = every if held is None else held
    for order in orders if held is None else ():
        tried.check_all_nodes(order)
    return found_on(tried, nodes, bound, by_order)


def _sorted_anew(tried: Trials, found: Fewest, orders: Sequence[int]) -> Fewest:
    """Fewer, by what is asked of the nodes that stay, as long as that ends with fewer."""
    while True:
        place = np.argsort(-np.nan_to_num(found.asked, nan=-1.0), kind="stable")
        gone = found.place[found.nodes :]
        place[found.nodes :] = gone
        again = _fewer(tried.in_order(place, "sorted_anew"), found, orders)
        if again is None:
            return found
        found = again


def _tried_fewer(tried: Trials, found: Fewest, orders: Sequence[int]) -> Fewest:
    """The same, with what one node fewer of the same order comes to."""
    if found.nodes > found.least:
        tried.hold_all(found.nodes - 1, orders)
    return replace(found, trials=tried.trials())


def _one_by_one(tried: Trials, found: Fewest, orders: Sequence[int], dear: FloatArray) -> Fewest:
    """Fewer, where single nodes can go that go late in the other orders; else as found.

    The dearest are tried first, of equal ones those that are asked for least.
    """
    failed, first = 0, list(orders)
    stay = found.place[: found.nodes]
    never = stay[: tried.fixed]
    for node in itertools.cycle(stay[np.lexsort((found.asked[stay], -dear[stay]))]):
        few = len(stay) <= found.least or len(stay) > ONE_BY_ONE
        if few or failed == min(_TRIED, len(stay) - tried.fixed):
            break
        if node not in stay or node in never:
            continue
        left, gone = stay[stay != node], found.place[len(stay) :]
        trial = tried.in_order(np.concatenate([left, [node], gone]), "one_by_one")
        breaks = next((order for order in first if not trial.holds(order, len(left))), None)
        if breaks is not None:
            failed += 1
            # what breaks one order is likely to break it again
            first.sort(key=breaks.__ne__)
            continue
        found = _fewer(trial, found, first) or found
        failed, stay = 0, found.place[: found.nodes]
    return found


def _fewer(tried: Trials, found: Fewest, orders: Sequence[int]) -> Fewest | None:
    """The answer where nodes go in another order; None where that is not fewer."""
    low = found.least
    holds = functools.partial(tried.hold_all, orders=orders)
    if found.nodes == low or not holds(found.nodes - 1):
        return None
    nodes = fewest_around(holds, found.nodes - 1, low, found.nodes - 1) or found.nodes - 1
    return found_on(tried, nodes, found.bound, [min(one, nodes) for one in found.by_order])


def found_on(tried: Trials, nodes: int, bound: int | None, by_order: Sequence[int]) -> Fewest:
    """The answer where so many nodes of an order are enough."""
    return Fewest(
        nodes=nodes,
        bound=bound,
        cheapest=tried.cheapest,
        least=max(bound or 1, tried.fixed),
        left=tried.left,
        by_order=tuple(by_order),
        going=tried.going,
        place=tried.place,
        put=tried.put,
        asked=tried.asked(nodes),
        trials=tried.trials(),
        peak=tried.peak(nodes),
    )


def _each(search: Callable[[int], int], orders: Sequence[int], beside: int) -> list[int]:
    """The search of each order of arrival; several at a time where others do the replays."""
    if beside == 1:
        return [search(order) for order in orders]
    with ThreadPoolExecutor(max(len(orders), 1)) as pool:
        return list(pool.map(search, orders))
