"""The fewest nodes on which a workload runs under a policy within limits, by replays on fewer.

Nodes go in an order, and bisection finds how many stay: for each order of arrival by itself, then
for all of them together on one and the same nodes. The orders of nodes are in ``orderings``; that
one wins which ends with the fewest nodes, or the cheapest where cost is to be least. With one node
fewer of that order a limit breaks, or the bound is reached. It is not proven that no smaller number
holds, or no other choice of nodes.

Where a limit breaks on all nodes, fewer are tried, of which the fullest go first; then more, spread
evenly over the sizes that there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tracekit.answer.admissible import WAITING
from tracekit.answer.fewest.few_nodes import Ask
from tracekit.answer.fewest.found import COST, NODES, Found, TooFewError
from tracekit.answer.fewest.limits import Limits, Margin
from tracekit.answer.fewest.more import enough_more, too_busy
from tracekit.answer.fewest.orderings import (
    Ordering,
    dearest,
    least_requested,
    placed,
    smallest,
)
from tracekit.answer.fewest.over_orderings import Search
from tracekit.answer.fewest.special import left_nodes
from tracekit.answer.fewest.trials import Trials, worst
from tracekit.answer.fewest.zones import bound_to_zones
from tracekit.base.errors import TracekitError
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrant
from tracekit.replay.measures import COST_PER_HOUR
from tracekit.replay.runs.may_wait import most_waiting


def fewest_nodes(
    load: Workload,
    policy: Entrant,
    limits: Limits,
    *,
    repeats: int,
    asks: Callable[[Workload], Ask],
    by: str = NODES,
    beside: int = 1,
    may_wait: bool = False,
    further: bool = True,
    survive: bool = False,
) -> Found:
    """Search for one policy.

    Parameters
    ----------
    load : Workload
        ``stays`` marks nodes that do not go.
    asks : function(Workload) -> Ask
        Who replays a workload.
    may_wait : bool
        Whether as many containers may wait on all nodes as ``runs.may_wait`` allows; then as many
        may on fewer, order by order.
    further : bool
        Whether more nodes are searched for where all there are are too few.
    survive : bool
        Whether the limits have to hold, too, once any one zone is lost. Who may run there alone
        may wait then.

    Raises
    ------
    TooFewError
        Where a limit breaks on all nodes, and neither fewer nor more help.
    TracekitError
        Where a limit on what fewer nodes bring down breaks on the fewest that the others allow.
    """
    bound = bound_to_zones(load) if survive else {}
    tried = Trials(load, str(policy), limits, asks(load), range(repeats), beside, survive, bound)
    broken, waits = _on_all_nodes(tried, may_wait=may_wait)
    orderings = _orderings(by)
    found: Found | None = None
    if broken is None:
        found = Search(tried, policy, by).over(orderings)
    elif not tried.limits.of_waiting(broken):
        found = Search(tried, policy, by).on_fewer(broken, orderings)
    if found is None and broken is not None and further:
        found = enough_more(tried, policy, broken, asks)
    if found is None:
        assert broken is not None  # noqa: S101 - with none broken there is an answer
        nodes = load.nodes.count - len(left_nodes(load))
        raise TooFewError(broken, nodes, too_busy(load, broken))
    return _checked(replace(found, waits_with_all=waits), tried)


def enough(
    tried: Trials, policy: Entrant, counts: Sequence[int], *, by: str, may_wait: bool
) -> list[bool]:
    """Whether so many nodes are enough for a policy, for each order of arrival its count.

    Each order of nodes is tried at that count alone: a few replays, where a search takes a hundred.
    """
    broken, _ = _on_all_nodes(tried, may_wait=may_wait)
    if broken is not None:
        return [False for _ in tried.orders]
    search = Search(tried, policy, by)
    places = [placed(search.nodes, ordering) for ordering in _orderings(by)]
    return [
        count >= search.low and any(tried.holds(order, place[:count]) for place in places)
        for order, count in zip(tried.orders, counts, strict=True)
    ]


def _on_all_nodes(tried: Trials, *, may_wait: bool) -> tuple[Margin | None, int | None]:
    """The limit that breaks on all nodes, and how many containers wait there, if they may.

    Where they may, the limits of ``tried`` are those that allow it from then on.
    """
    broken = worst(tried.on_all_nodes())
    if not (broken and may_wait and not broken.lost and tried.limits.of_waiting(broken)):
        return broken, None
    waits = int(max(one.row[WAITING[0]] for one in tried.on_all_nodes()))
    load = tried.load
    tried.limits = tried.limits.as_with_all(most_waiting(load), len(load.use.times_ms))
    return worst(tried.on_all_nodes()), waits


def _orderings(by: str) -> list[Ordering]:
    return [least_requested, smallest, *([dearest] if by == COST else [])]


def _checked(found: Found, tried: Trials) -> Found:
    """The answer; raises TracekitError where a limit on what fewer nodes bring down breaks."""
    price = tried.load.nodes.price_per_hour
    for one in found.held:
        row, base = one.row, tried.base(one.repeat)
        if price is not None and row.get(COST_PER_HOUR) is not None:
            # each node that is kept is paid for, used or not
            paid = np.append(price, price[found.like])
            row = {**row, COST_PER_HOUR: float(paid[found.kept].sum())}
            base = {**base, COST_PER_HOUR: float(price.sum())}
        for margin in tried.limits.broken_at_the_end(tried.policy, base, row):
            raise TracekitError(
                f"{margin.measure} is {margin.value:,.4g} on the {len(found.kept):,} nodes that the"
                f" other limits need, at most {margin.allowed:,.4g} is allowed",
                hint=f"--least {COST} looks for cheaper nodes",
            )
    return found
