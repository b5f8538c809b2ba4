"""Replays of one policy on some of the nodes of a workload, each done once."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tracekit.answer.fewest.search.ahead import begin
from tracekit.answer.fewest.search.broken_limit import Broken
from tracekit.answer.fewest.search.few_nodes import Ask, Here
from tracekit.answer.fewest.search.least_nodes import least_cost
from tracekit.answer.fewest.search.limits import Limits
from tracekit.answer.fewest.search.staying import fixed_nodes, left_nodes
from tracekit.answer.fewest.search.too_few import already_broken
from tracekit.answer.fewest.search.trial import Trial, asked_over_time, mean_row
from tracekit.answer.left_waiting import WAITING
from tracekit.arrays import FloatArray, IntArray
from tracekit.errors import TracekitError
from tracekit.replay.measures import COST_PER_HOUR
from tracekit.replay.policy.entrant import Entrant
from tracekit.replay.runs.node_use import highest_use
from tracekit.replay.runs.room_left import in_their_way
from tracekit.replay.runs.waiting import waiting_on
from tracekit.replay.workload.changed.more_nodes import sizes_of
from tracekit.replay.workload.changed.on_nodes import on_nodes
from tracekit.replay.workload.workload import Workload
from tracekit.words import counted

#: What is to be least: how many nodes stay, or what they cost.
NODES, COST = "nodes", "cost"
#: What is said of a limit that does not hold for each order.
AT_MEAN = "at the mean of the orders of arrival"
LESS = 1 - 1e-9  # what is less by rounding alone is not less
#: Of more nodes than these none is tried by itself: each costs a replay.
ONE_BY_ONE = 50


class Trials:
    """Replays of one policy on the first nodes of its order.

    ``place`` has the positions of nodes, those that stay longest first. ``put`` is what was asked
    of each on all nodes, and ``going`` the name of the order. ``left`` nodes are gone by the end:
    they are there as long as production had them, and are not counted. They and the nodes of the
    control plane are the ``fixed`` ones that ``never`` go. ``open`` nodes may stay by choice.
    """

    def __init__(
        self,
        load: Workload,
        policy: Entrant,
        limits: Limits,
        seed: int,
        ask: Ask | None = None,
        *,
        repeats: int = 1,
    ) -> None:
        self.load, self.policy, self.limits = load, policy, limits
        self._repeats = repeats
        self._ask = ask or Here(load, policy, seed)
        self.never = fixed = fixed_nodes(load)
        self.left, self.fixed, self.open = len(left_nodes(load)), int(fixed.sum()), ~fixed
        self._rank = np.where(fixed, 1, 2)
        if load.cordoned is not None:
            # who takes nothing new goes first
            self._rank[load.cordoned & ~fixed] = 3
            self.open = ~fixed & ~load.cordoned
        self._rank[left_nodes(load)] = 0
        self.cheapest = least_cost(load, policy, limits)
        self._done: dict[tuple[int, int], Trial] = {}
        # of all orders of nodes: by limit, the least value that breaks it on fewer, and where
        self._nearest: dict[str, tuple[float, int, Trials]] = {}
        whole = self._ask(0, None)
        assert whole.node is not None  # noqa: S101 - it is the order as given
        self._base: dict[int, dict[str, Any]] = {0: whole.row}
        self._placed = {load.nodes: whole.node}
        self.put = asked_over_time(load, whole.node)
        self.start(np.argsort(-self.put, kind="stable"), "least_asked")

    def smallest_first(self) -> Trials:
        """The same where the smallest nodes go first; replays on all nodes are known."""
        return self.in_order(np.lexsort((-self.put, -sizes_of(self.load))), "smallest")

    def dearest_first(self) -> Trials:
        """The same, where the nodes with the highest price for their size go first."""
        dear = self.price / np.maximum(sizes_of(self.load), 1e-12)
        return self.in_order(np.lexsort((-self.put, dear)), "dearest")

    def in_order(self, place: IntArray, going: str) -> Trials:
        """The same where nodes go in another order; replays on all nodes are known."""
        other = copy.copy(self)
        other.start(place, going)
        return other

    def start(self, place: IntArray, going: str) -> None:
        """Begin with another order of nodes; of earlier replays those on all nodes stay known."""
        every = self.load.nodes
        # where nodes are added none goes: one that takes nothing new is no later than they are
        rank = np.minimum(self._rank, 2) if going == "added" else self._rank
        self.place, self.going = place[np.argsort(rank[place], kind="stable")], going
        self._done = {key: one for key, one in self._done.items() if one.nodes == every}
        self._placed = {every: self._placed[every]}

    def check_all_nodes(self, order: int) -> None:
        """Raise TooFewError where a limit breaks on all nodes in this order of arrival."""
        if not self.holds(order, self.load.nodes):
            trial = self._done[order, self.load.nodes]
            broken = self.limits.broken(str(self.policy), self._base_of(order), trial.row)
            aside = self.limits.falling | self.limits.at_mean
            counted = [one for one in broken if one.limit not in aside]
            most = self.limits.most_use(str(self.policy))
            raise already_broken(trial, counted, self.load, most, self.load.nodes - self.left)

    def on_all_nodes(self, orders: Iterable[int]) -> list[dict[str, Any]]:
        """What the policy comes to on all nodes, a row of the summary for each order."""
        return [self._base_of(order) for order in self._ahead(orders, self.load.nodes)]

    def worst_on_all_nodes(self, orders: Iterable[int]) -> Broken | None:
        """The limit that breaks on all nodes, where it breaks farthest of these orders."""
        every = self.load.nodes
        met = tuple(orders)
        tried = (self.broken_by(order, every) for order in self._ahead(met, every))
        broken = [one for one in tried if one is not None]
        first = next(iter(broken), None)
        same = [one for one in broken if first is not None and one.limit == first.limit]
        room = [self._done[order, every].room for order in met]
        if first is None or any(first.limit not in one for one in room):
            return first
        return max(same, key=lambda one: one.value or 0.0)

    def hold_all(self, nodes: int, orders: Iterable[int]) -> bool:
        """Whether all limits hold on so many nodes in every order of arrival, and at their mean."""
        met = tuple(orders)
        if not all(self.holds(order, nodes) for order in self._ahead(met, nodes)):
            return False
        if not self.limits.at_mean:
            return True
        name, base = str(self.policy), self._mean_of_base()
        row = mean_row([self._done[order, nodes].row for order in met])
        broken = self.limits.broken_at_mean(name, base, row)
        if broken is not None and len(met) > 1:
            broken = replace(broken, how=f"{broken.how} {AT_MEAN}")
        room = self.limits.room(name, base, row, at_mean=True)
        for key in ((order, nodes) for order in met):
            one = self._done[key]
            self._done[key] = replace(one, at_mean=broken, room={**one.room, **room})
        return broken is None

    def holds(self, order: int, nodes: int) -> bool:
        """Whether all limits that hold in each order hold on so many nodes, in this order."""
        return self.broken_by(order, nodes) is None

    def _ahead(self, orders: Iterable[int], nodes: int) -> Iterator[int]:
        """These orders; the replay of the one that comes next is begun before it is its turn."""
        met, every = tuple(orders), nodes == self.load.nodes
        for at, order in enumerate(met):
            known = self._base if every else {one for one, on in self._done if on == nodes}
            begin(self._ask, ((new, self._kept(nodes)) for new in met[at:] if new not in known))
            yield order

    def _kept(self, nodes: int) -> IntArray | None:
        """The nodes that stay, ascending; None for all."""
        return None if nodes == self.load.nodes else np.sort(self.place[:nodes])

    def holds_alone(self, order: int, nodes: int) -> bool:
        """The same of all limits: those at the mean hold for this order by itself."""
        if not self.holds(order, nodes):
            return False
        if not self.limits.at_mean:
            return True
        row = self._done[order, nodes].row
        return self.limits.broken_at_mean(str(self.policy), self._mean_of_base(), row) is None

    def broken_by(self, order: int, nodes: int) -> Broken | None:
        """The first limit that breaks on so many nodes, in this order of arrival; None for none."""
        known = self._done.get((order, nodes))
        if known is None:
            known = self._done[order, nodes] = self._trial(order, nodes)
        return known.broken

    def check_at_the_end(self, known: Iterable[Trial], place: IntArray, by: str) -> None:
        """Raise TracekitError where a limit on what fewer nodes bring down breaks even so.

        ``known`` are the replays on the nodes that all other limits need, the first of ``place``.
        """
        for one in known:
            base = self._paid(self._base_of(one.repeat), place[self.left :])
            row = self._paid(one.row, place[self.left : one.nodes])
            broken = self.limits.at_the_end(str(self.policy), base, row)
            if broken is not None:
                nodes = counted(one.nodes - self.left, "node")
                best = "cheapest" if by == COST else "fewest"
                of_cost = broken.measure == COST_PER_HOUR
                paid, cheaper = ", each paid for" * of_cost, of_cost and by == NODES
                raise TracekitError(
                    f"on the {best} nodes found for the other limits ({nodes}{paid}) {broken}",
                    hint=f"--least {COST} looks for cheaper nodes"
                    if cheaper
                    else "loosen one of the limits, or try another policy",
                )

    def _paid(self, row: dict[str, Any], kept: IntArray) -> dict[str, Any]:
        """The row where each node that is kept is paid for, used or not."""
        if row.get(COST_PER_HOUR) is None:
            return row
        return {**row, COST_PER_HOUR: float(self.price[kept].sum())}

    @property
    def price(self) -> FloatArray:
        """What each node costs per hour, (nodes,); 0 where that is not known."""
        known = self.load.price_per_hour
        return np.zeros(self.load.nodes) if known is None else np.nan_to_num(known)

    def weight(self, by: str) -> FloatArray:
        """What the first nodes of this order come to together, by their number, (nodes,).

        ``nodes`` each counts 1; by ``cost`` its price per hour.
        """
        each = np.ones(self.load.nodes) if by == NODES else self.price
        return np.asarray(each[self.place].cumsum())

    def trials(self) -> tuple[Trial, ...]:
        """All replays, on most nodes first."""
        return tuple(sorted(self._done.values(), key=lambda one: (-one.nodes, one.repeat)))

    def nearest(self, broken: Broken | None, orders: Iterable[int]) -> tuple[int, float] | None:
        """The fewer nodes on which a limit that breaks on all came nearest, and its worst value.

        Over all orders of arrival; None where it is no nearer than on all nodes, or others break.
        """
        if broken is None or broken.value is None or broken.too_little:
            return None
        if broken.limit not in self._nearest:
            return None
        _, nodes, tried = self._nearest[broken.limit]
        found = {tried.broken_by(order, nodes) for order in orders} - {None}
        worst = max((one.value or 0.0 for one in found if one is not None), default=0.0)
        same = all(one is not None and one.limit == broken.limit for one in found)
        return (nodes - self.left, worst) if same and worst < broken.value else None

    def waiting(self) -> dict[str, Any]:
        """Who finds no node on all of them, in the order of arrival as given."""
        return waiting_on(self.load, self._placed[self.load.nodes])

    def peak(self, nodes: int) -> FloatArray:
        """The highest use of each node, shape (2, nodes), where so many stay; NaN for others."""
        kept = np.sort(self.place[:nodes])
        peak = np.full((2, self.load.nodes), np.nan)
        peak[:, kept] = highest_use(on_nodes(self.load, kept), self._placed[nodes])
        return peak

    def asked(self, nodes: int) -> FloatArray:
        """What is asked of each node over time where so many stay, (nodes,); NaN for others."""
        kept = np.sort(self.place[:nodes])
        asked = np.full(self.load.nodes, np.nan)
        asked[kept] = asked_over_time(on_nodes(self.load, kept), self._placed[nodes])
        return asked

    def _trial(self, order: int, nodes: int) -> Trial:
        row = self._row(order, nodes)
        name = str(self.policy)
        base = self._base_of(order) if self.limits.speak_of("base", name) else row
        broken = self.limits.first_broken(name, base, row)
        if broken is not None and broken.value is not None and nodes < self.load.nodes:
            here = broken.value, nodes, self
            best = self._nearest.get(broken.limit, here)
            self._nearest[broken.limit] = min(best, here, key=lambda one: one[:2])
        stops = self._stops(order, nodes, broken)
        return Trial(order, nodes, row, broken, self.limits.room(name, base, row), stops)

    def _stops(self, order: int, nodes: int, broken: Broken | None) -> str:
        if order or broken is None or broken.measure not in WAITING:
            return ""
        kept = np.sort(self.place[:nodes])
        return in_their_way(waiting_on(on_nodes(self.load, kept), self._placed[nodes]))

    def _row(self, order: int, nodes: int) -> dict[str, Any]:
        if nodes == self.load.nodes:
            return self._base_of(order)
        found = self._ask(order, self._kept(nodes))
        if found.node is not None:
            self._placed[nodes] = found.node
        return found.row

    def left_with_all(self, order: int) -> int:
        """How many containers never find a node with all nodes, in this order of arrival."""
        return int(self._base_of(order)[WAITING[0]])

    def _mean_of_base(self) -> dict[str, Any]:
        return mean_row(self.on_all_nodes(range(self._repeats)))

    def _base_of(self, order: int) -> dict[str, Any]:
        """The policy's own row on all nodes."""
        if order not in self._base:
            self._base[order] = self._ask(order, None).row
        return self._base[order]
