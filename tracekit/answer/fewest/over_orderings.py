"""Bisection over orders in which nodes go; see ``search``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracekit.answer.fewest.bound import least_cost, least_nodes
from tracekit.answer.fewest.cluster import fixed_nodes, least_beside_a_zone, left_nodes, pools_of
from tracekit.answer.fewest.limits import Margin
from tracekit.answer.fewest.orderings import (
    FREE,
    Ordering,
    fullest,
    least_requested,
    lighter,
    nodes_of,
    ordered_nodes,
    rank_of,
)
from tracekit.answer.fewest.outcome import COST, Outcome
from tracekit.answer.fewest.trials import Trial, Trials, lost_zones
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.policy.entrant import Entrant

#: Differences below this share are rounding.
LESS = 1 - 1e-9
#: The number of counts that are replayed for the curve.
GRID = 8
#: The number of lower counts that are tried in another order of nodes.
_TRIED = 5
#: The shares of the nodes that may go that are left out where a limit breaks on all nodes.
_WITHOUT = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8, 1)
#: The number of pools that shrink by themselves, the largest first.
_POOLS = 5
#: The search on fewer nodes ends after this many shares in a row without progress.
_FARTHER = 3


# Bisection for the least number at which something holds. ``ahead`` is called with the number that
# is tried next and with the likelier number after it, so that both may be tried side by side. The
# result does not depend on ``ahead``.

Holds = Callable[[int], bool]
Ahead = Callable[[int, int], object]


def alone(*_: int) -> None:
    """Do nothing: the default for a parameter ``ahead``, so that no count is replayed early."""


def fewest(holds: Holds, low: int, high: int, ahead: Ahead = alone) -> int:
    """Return the number in ``low``..``high`` at which ``holds`` becomes true, by bisection.

    ``high`` is taken to hold. ``ahead`` is told which numbers come next, to replay them early.
    """
    while low < high:
        middle = (low + high) // 2
        ahead(middle, (low + middle) // 2)
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return high


def fewest_around(
    holds: Holds, start: int, low: int, high: int, ahead: Ahead = alone
) -> int | None:
    """Return the number in ``low``..``high`` at which ``holds`` becomes true.

    The search begins at ``start``, and is quick if the result is near. None if ``high`` fails.
    """
    ahead(start, max(start - 1, low))
    if not holds(start):
        return fewest_from(holds, start, high, ahead)
    step, good = 1, start
    while good > low:
        less = max(good - step, low)
        ahead(less, max(less - 2 * step, low))
        if not holds(less):
            return fewest(holds, less + 1, good, ahead)
        good, step = less, step * 2
    return good


def fewest_from(holds: Holds, start: int, high: int, ahead: Ahead = alone) -> int | None:
    """Return the number in ``start``..``high`` at which ``holds`` becomes true.

    The search is quick if the result is near ``start``. None if ``high`` fails.
    """
    step, more, failed = 1, start, start - 1
    while not holds(more):
        if more == high:
            return None
        failed, more, step = more, min(more + step, high), step * 2
        ahead(more, min(more + step, high))
    return fewest(holds, failed + 1, more, ahead)


@dataclass
class Search:
    """A search for the fewest or the cheapest nodes on which one policy keeps all limits.

    ``by`` is ``nodes`` or ``cost``.
    """

    tried: Trials
    policy: Entrant
    by: str

    def __post_init__(self) -> None:
        tried, load = self.tried, self.tried.load
        fixed, self.left = fixed_nodes(load), left_nodes(load)
        every = np.arange(load.nodes.count)
        rank = rank_of(load, fixed, self.left)
        zone = tried.zone
        self.nodes = nodes_of(load, tried.requested(every), tried.fullest(every), rank, zone)
        self.bound = least_nodes(load, self.policy, tried.limits)
        if self.bound is not None and zone is not None and not tried.bound:
            self.bound = least_beside_a_zone(self.bound, zone)
        self.low = max(self.bound or 1, int(fixed.sum()), 1)

    def over(self, orderings: Sequence[Ordering]) -> Outcome:
        """Return the best result of removing nodes by each of several rules.

        The limits must hold on all nodes.
        """
        first, *others = orderings
        place = ordered_nodes(self.nodes, first)
        best = self.outcome(first.__name__, place, *self.joint(place, len(place)))
        return self._by_kind(self._by_pool(self._beaten(best, others)))

    def on_fewer(self, broken: Margin, orderings: Sequence[Ordering]) -> Outcome | None:
        """Return the best result where a limit breaks on all nodes but may hold on fewer.

        None if no smaller choice of nodes that was tried keeps the limits.
        """
        place = ordered_nodes(self.nodes, fullest)
        most = self._first_that_holds(place, broken)
        if most is not None:
            holds = functools.partial(self._hold_all, place)
            joint = fewest_around(holds, most, self.low, most, self._ahead(place)) or most
            outcome = self.outcome(fullest.__name__, place, self._same(joint), joint)
            outcome = self._by_kind(self._by_pool(self._beaten(outcome, orderings)))
        else:
            staying = self._lighter(float("inf"))
            if staying is None:
                return None
            outcome = self._outcome_on(staying, place)
        return replace(outcome, breaks=broken)

    def _beaten(self, best: Outcome, orderings: Sequence[Ordering]) -> Outcome:
        """The best of a result and the results of other orderings."""
        for ordering in orderings:
            place = ordered_nodes(self.nodes, ordering)
            most = int((self._each[place].cumsum() < self._paid(best) * LESS).sum())
            if not self._promising(place, most):
                continue
            outcome = self.outcome(ordering.__name__, place, *self.joint(place, len(place)))
            best = outcome if self._paid(outcome) < self._paid(best) else best
        return best

    def _promising(self, place: IntArray, most: int) -> bool:
        """Whether the limits hold at one of a few counts up to ``most``, in one order of arrival.

        Several counts are tried, as limits may break at one count and hold at a smaller one.
        """
        if most < self.low:
            return False
        counts = np.unique(np.linspace(self.low, most, _TRIED).round().astype(np.int64))
        given = self.tried.orders[0]
        return any(
            self._holds(place, given, nodes)
            for nodes in self._some_ahead(place, counts[::-1].tolist(), 1)
        )

    def _by_pool(self, outcome: Outcome) -> Outcome:
        """The better of a result and one in which pools shrink one after the other.

        In an order over all nodes the first pool that is too small ends the search for all pools.
        """
        pools = pools_of(self.tried.load)[:_POOLS]
        if len(pools) < 2 or outcome.nodes <= self.low:
            return outcome
        order = ordered_nodes(self.nodes, least_requested)
        for pool in pools:
            own = np.isin(order, pool) & (self.nodes.rank[order] >= FREE)
            order = np.concatenate([order[~own], order[own]])
            low = max(self.low, int((~own).sum()))
            holds, ahead = functools.partial(self._hold_all, order), self._ahead(order)
            order = order[: fewest(holds, low, len(order), ahead)]
        less = self._each[order].sum() < self._paid(outcome) * LESS
        if less and self.tried.hold_all(order):
            return self._outcome_on(order, outcome.place)
        return outcome

    def _by_kind(self, outcome: Outcome) -> Outcome:
        """The better of a result and one with another number of nodes of each kind."""
        while outcome.nodes > self.low or self.by == COST:
            staying = self._lighter(self._paid(outcome) * LESS)
            if staying is None:
                break
            outcome = self._outcome_on(staying, outcome.place)
        return outcome

    def _lighter(self, below: float) -> IntArray | None:
        fixed = self.nodes.rank < FREE
        return lighter(self.tried, self.policy, fixed, self._each, below)

    def _outcome_on(self, staying: IntArray, place: IntArray) -> Outcome:
        """The result in which exactly these nodes stay."""
        stay = staying[np.argsort(self.nodes.rank[staying], kind="stable")]
        others = place[~np.isin(place, staying)]
        return self.outcome(
            "by_kind", np.concatenate([stay, others]), self._same(len(staying)), len(staying)
        )

    def _same(self, nodes: int) -> tuple[int, ...]:
        return (nodes,) * len(self.tried.orders)

    def _paid(self, outcome: Outcome) -> float:
        return float(self._each[outcome.place[: outcome.nodes]].sum())

    @property
    def _each(self) -> FloatArray:
        """The weight of each node, (nodes,): 1, or its cost."""
        return self.nodes.price if self.by == COST else np.ones(self.tried.load.nodes.count)

    def _first_that_holds(self, place: IntArray, broken: Margin) -> int | None:
        """The largest of a few counts at which all limits hold; None where there is none."""
        every, farther, nearest = len(place), 0, broken.room
        gone = np.ceil(np.array(_WITHOUT) * (every - self.low)).astype(np.int64)
        for nodes in self._some_ahead(place, (every - np.unique(gone[gone > 0])).tolist()):
            if self._hold_all(place, nodes):
                return nodes
            tightest = self.tried.trial(0, place[:nodes]).tightest
            room = None if tightest is None else tightest.room
            if room is None or nearest is None:
                continue
            farther = farther + 1 if room < 0 and room <= nearest else 0
            nearest = max(nearest, room)
            if farther == _FARTHER:
                return None
        return None

    def joint(self, place: IntArray, most: int) -> tuple[tuple[int, ...], int]:
        """Return the fewest nodes in each order of arrival alone, and those enough in all orders.

        ``place`` is the order in which nodes stay; the first ``most`` nodes must be enough.
        """
        given, grid = self.tried.orders[0], [n for n in self.grid(len(place)) if n < most]
        self.tried.replay(given, [place[:nodes] for nodes in grid])
        held = functools.partial(self._holds, place, given)
        below = next((at for at, nodes in enumerate(grid) if held(nodes)), len(grid))
        low = grid[below - 1] + 1 if below else self.low
        first = fewest(held, low, [*grid, most][below], self._ahead(place, 1))

        def search(order: int) -> int:
            if order == given:
                return first
            holds = functools.partial(self._holds, place, order)
            return fewest_around(holds, first, self.low, most) or most

        by_order = tuple(self.tried.each(search))
        holds = functools.partial(self._hold_all, place)
        return by_order, fewest_from(holds, max(by_order), most, self._ahead(place)) or most

    def outcome(self, name: str, place: IntArray, by_order: tuple[int, ...], joint: int) -> Outcome:
        """Return the result of removing nodes by one rule.

        Parameters
        ----------
        name : str
            The name of the rule; see ``orderings``.
        place : int64, shape (nodes,)
            Node indices; nodes are removed from the end.
        by_order : tuple of int
            The fewest nodes in each order of arrival alone.
        joint : int
            A number of nodes that is enough in all orders; lower numbers are tried one by one.
        """
        while joint > self.low and self._hold_all(place, joint - 1):
            joint -= 1
        load, tried = self.tried.load, self.tried
        fewer = () if joint <= self.low else _until_broken(tried, place[: joint - 1])
        for nodes in self._some_ahead(place, self.grid(len(place)), 1):
            tried.trial(tried.orders[0], place[:nodes])
        return Outcome(
            nodes=joint,
            bound=self.bound,
            cheapest=least_cost(load, self.policy, tried.limits),
            gone_by_end=len(self.left),
            by_order=tuple(min(one, joint) for one in by_order),
            ordering=name,
            place=place,
            requested=self.nodes.requested,
            fullest=tried.fullest(place[:joint]),
            held=tuple(tried.each(lambda order: tried.trial(order, place[:joint]))),
            fewer=fewer,
            seen=tried.seen(place),
            zones=lost_zones(tried, place[:joint]),
        )

    def grid(self, every: int) -> list[int]:
        """Return some node counts, from a lower bound up to ``every``, evenly spaced.

        They are the points of a curve of measures by the number of nodes.
        """
        counts = np.linspace(self.low, every, GRID).round().astype(np.int64)
        return [int(one) for one in np.unique(counts)]

    def _ahead(self, place: IntArray, orders: int | None = None) -> Ahead:
        """A function that replays counts side by side where ``orders`` leave a process idle."""

        def ahead(*counts: int) -> None:
            if self.tried.parallel > (orders or len(self.tried.orders)):
                sets = [place[:nodes] for nodes in dict.fromkeys(counts)]
                self.tried.replay(self.tried.orders[0], sets)

        return ahead

    def _some_ahead(
        self, place: IntArray, counts: Sequence[int], orders: int | None = None
    ) -> Iterator[int]:
        """The counts one by one, with as many replayed ahead as may be under way."""
        for at in range(0, len(counts), self.tried.parallel):
            some = counts[at : at + self.tried.parallel]
            self._ahead(place, orders)(*some)
            yield from some

    def _holds(self, place: IntArray, order: int, nodes: int) -> bool:
        return self.tried.holds(order, place[:nodes])

    def _hold_all(self, place: IntArray, nodes: int) -> bool:
        return self.tried.hold_all(place[:nodes])


def _until_broken(tried: Trials, staying: IntArray) -> tuple[Trial, ...]:
    """The trials on these nodes, order by order, up to the first that breaks a limit."""
    trials = []
    for order in tried.orders:
        trials.append(tried.trial(order, staying))
        if trials[-1].broken:
            break
    return tuple(trials)
