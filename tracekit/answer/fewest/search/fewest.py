"""The fewest nodes on which a workload runs under a policy within limits, by replays on fewer.

Nodes are taken away in several orders, and the order that ends with the fewest nodes wins. Where
cost is to be least, the order that ends cheapest wins. An order is searched further only where it
holds with fewer nodes, or at less cost, than the best so far. The orders are:

- ``least_asked``: the policy is replayed on all nodes, and the node on which it put least goes
  first. What it put on a node is the sum of requests over time, as a share of the node's capacity,
  of the resource with the largest share. Of equal nodes the last goes first.
- ``smallest``: the node with the smallest capacity goes first. Capacity is a share of the largest
  node's, as a mean over resources. Equal nodes go in the order of ``least_asked``.
- ``dearest``: the node with the highest price for its capacity goes first; only for the least cost.
- ``fullest``: the node with the highest use of CPU or memory goes first; only where a limit breaks
  on all nodes.

Then more of the nodes that stay are taken away, in two ways:

- ``sorted_anew``: the nodes are sorted as in ``least_asked`` by the newest replay, and the search
  starts again. This removes nodes that no container can use. It is repeated while it helps.
- ``one_by_one``: each of up to ``ONE_BY_ONE`` nodes is tried by itself, the least asked or the
  dearest first. This ends where none can go, or where ``_TRIED`` in a row could not.

Where nodes are of few kinds, the number of each kind is then chosen anew: see ``by_kind``.

Bisection between the lower bound and all nodes finds the number, in the order of arrival as given.
Each other order of arrival is searched outwards from that number, as it seldom ends far away. The
answer is the least number that holds in all of them, searched upwards from the largest. Where
limits hold at the mean of the orders, it is searched outwards from the middle one instead. With one
node fewer a limit breaks in some order or at the mean, or the bound is reached. It is not proven
that no smaller number holds, or no other choice of nodes.

Where cost is to be least, the fewest nodes are searched for, too: they may be the cheapest.
"""

import contextlib
import functools
import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from tracekit.answer.fewest.search.bisection import fewest, fewest_around, fewest_from
from tracekit.answer.fewest.search.by_kind import lighter
from tracekit.answer.fewest.search.few_nodes import Ask
from tracekit.answer.fewest.search.found import Fewest, again_on, found_on
from tracekit.answer.fewest.search.least_nodes import least_nodes
from tracekit.answer.fewest.search.limits import Limits
from tracekit.answer.fewest.search.on_fewer import fullest_first, held_on_fewer
from tracekit.answer.fewest.search.too_few import TooFewError
from tracekit.answer.fewest.search.trials import COST, LESS, NODES, ONE_BY_ONE, Trials
from tracekit.arrays import FloatArray
from tracekit.replay.policy.entrant import Entrant
from tracekit.replay.workload.workload import Workload

#: So many nodes in a row that cannot go end the search.
_TRIED = 24


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
    on_fewer: bool = True,
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
    on_fewer : bool
        Whether fewer nodes are tried where a limit breaks on all: see ``search.on_fewer``.

    Raises
    ------
    TracekitError
        Where a limit breaks on all nodes, and on fewer; the message says by how much. Where one on
        what fewer nodes bring down breaks on the fewest that the others allow.
    """
    tried = Trials(load, policy, limits, seed, ask, repeats=repeats)
    orders = range(repeats)
    found = _found(tried, orders, beside, by=by, on_fewer=on_fewer)
    if by == COST:
        # by number fewer orders of nodes are tried: where a limit breaks on all, none may hold
        with contextlib.suppress(TooFewError):
            found = _cheaper(tried, found, _found(tried, orders, beside, by=NODES), orders)
    tried.check_at_the_end(found.at(found.nodes), found.place, by)
    # only then all orders were replayed on all nodes
    known = orders if limits.speak_of("base", str(policy)) else orders[:1]
    left = max(map(tried.left_with_all, known))
    return replace(found, waiting=tried.waiting(), left_with_all=left)


def _cheaper(tried: Trials, found: Fewest, plain: Fewest, orders: Sequence[int]) -> Fewest:
    """The cheaper of what was found by cost and by number; and what is cheaper still by kinds."""

    def paid(one: Fewest) -> float:
        return float(tried.price[one.place[: one.nodes]].sum())

    if not paid(plain) < paid(found) * LESS:
        return found
    better = lighter(tried, plain.place[: plain.nodes], orders, COST)
    return plain if better is None else _again(*better, plain, orders, tried.price)


def _found(
    tried: Trials, orders: Sequence[int], beside: int, *, by: str, on_fewer: bool = True
) -> Fewest:
    """The fewest nodes, or the cheapest, in all the ways there are."""
    load = tried.load
    bound = least_nodes(load, tried.policy, tried.limits)
    others = [tried.smallest_first(), *([tried.dearest_first()] if by == COST else [])]
    try:
        tried.check_all_nodes(0)
        found = _searched(tried, orders, bound, beside, load.nodes)
    except TooFewError as error:
        if not (error.alone or error.only_waits):
            error.broken = tried.worst_on_all_nodes(orders)
        if not on_fewer:
            raise
        found = _on_fewer([fullest_first(tried), tried, *others], orders, bound, error, by)
    paid = tried.in_order(found.place, found.going).weight(by)[found.nodes - 1]
    for other in others:
        weight = other.weight(by)
        less = int((weight < paid * LESS).sum())
        if less < found.least or not other.hold_all(less, orders):
            continue
        again = _searched(other, orders, bound, beside, less)
        if weight[again.nodes - 1] < paid:
            found = replace(again, broken_with_all=found.broken_with_all)
            paid = weight[again.nodes - 1]
    dear = tried.price if by == COST else np.zeros(load.nodes)
    found = _one_by_one(tried, _sorted_anew(tried, found, orders), orders, dear)
    stay = found.place[: found.nodes]
    # as few as may be need not be the cheapest
    fewer = by == COST or found.nodes > found.least
    better = lighter(tried, stay, orders, by) if fewer else None
    return found if better is None else _again(*better, found, orders, dear)


def _again(
    trial: Trials, nodes: int, found: Fewest, orders: Sequence[int], dear: FloatArray
) -> Fewest:
    """The answer on so many nodes of another order, and fewer where single ones can go."""
    found = again_on(found, trial, nodes)
    return _one_by_one(trial, _tried_fewer(trial, found, orders), orders, dear)


def _searched(
    tried: Trials, orders: Sequence[int], bound: int | None, beside: int, every: int
) -> Fewest:
    """The fewest nodes in the order in which they go, of the first of these."""
    low = max(bound or 1, tried.fixed)
    first = fewest(functools.partial(tried.holds_alone, 0), low, every)

    def search(order: int) -> int:
        found = fewest_around(functools.partial(tried.holds_alone, order), first, low, every)
        if found is None:
            tried.check_all_nodes(order)
        return every if found is None else found

    by_order = [first, *_each(search, orders[1:], beside)]
    holds = functools.partial(tried.hold_all, orders=orders)
    if tried.limits.at_mean:
        held = fewest_around(holds, sorted(by_order)[len(by_order) // 2], low, every)
    else:
        held = fewest_from(holds, max(by_order), every)
    nodes = every if held is None else held
    for order in orders if held is None else ():
        tried.check_all_nodes(order)
    return found_on(tried, nodes, bound, by_order)


def _on_fewer(
    choices: Sequence[Trials],
    orders: Sequence[int],
    bound: int | None,
    error: TooFewError,
    by: str,
) -> Fewest:
    """The fewest nodes where a limit breaks on all; raises the error where fewer do not help."""
    if error.alone or error.only_waits:
        raise error
    first = choices[0]
    least = max(bound or 1, first.fixed)
    held = held_on_fewer(choices, orders, least)
    if held is None and first.load.nodes <= ONE_BY_ONE:
        held = lighter(first, first.place, orders, by)
    if held is None:
        error.nearer = first.nearest(error.broken, orders)
        raise error
    tried, most = held
    holds = functools.partial(tried.hold_all, orders=orders)
    nodes = fewest_around(holds, most, least, most) or most
    found = found_on(tried, nodes, bound, [nodes for _ in orders])
    return replace(found, broken_with_all=error.broken)


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
        again = _fewer(trial, found, first) if breaks is None else None
        if again is None:
            failed += 1
            # what breaks one order is likely to break it again
            first.sort(key=lambda order: order != breaks)
            continue
        found, failed, stay = again, 0, again.place[: again.nodes]
    return found


def _fewer(tried: Trials, found: Fewest, orders: Sequence[int]) -> Fewest | None:
    """The answer where nodes go in another order; None where that is not fewer."""
    low = found.least
    holds = functools.partial(tried.hold_all, orders=orders)
    if found.nodes == low or not holds(found.nodes - 1):
        return None
    nodes = fewest_around(holds, found.nodes - 1, low, found.nodes - 1) or found.nodes - 1
    return again_on(found, tried, nodes)


def _each(search: Callable[[int], int], orders: Sequence[int], beside: int) -> list[int]:
    """The search of each order of arrival; several at a time where others do the replays."""
    if beside == 1:
        return [search(order) for order in orders]
    with ThreadPoolExecutor(max(len(orders), 1)) as pool:
        return list(pool.map(search, orders))
