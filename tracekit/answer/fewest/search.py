"""The search for the fewest nodes on which a workload runs under a policy within limits.

Nodes go in an order, and bisection finds how many stay: first for each order of arrival alone, then
for all orders of arrival together. Several orders of nodes are tried (``orderings``). The result is
of the order that ends with the fewest nodes, or with the cheapest ones where cost is the objective.
With one node fewer of that order a limit breaks, or the bound is reached. A smaller number, or
another choice of nodes, may hold all the same.

Where a limit breaks on all nodes, fewer nodes are tried, and the fullest go first. Then copies of
nodes are added, spread evenly over the sizes of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tracekit.answer.admissible import WAITING
from tracekit.answer.fewest.cluster import bound_to_zones, evened, left_nodes
from tracekit.answer.fewest.limits import CPU, Limits, Margin
from tracekit.answer.fewest.orderings import (
    Ordering,
    dearest,
    least_requested,
    ordered_nodes,
    smallest,
)
from tracekit.answer.fewest.outcome import COST, NODES, Outcome, TooFewError
from tracekit.answer.fewest.over_orderings import Search
from tracekit.answer.fewest.replays import ReplayOn
from tracekit.answer.fewest.trials import Trials, worst
from tracekit.answer.repeat import LARGEST_ONCE
from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.enlarged import like_nodes, sizes_of, with_more
from tracekit.cluster.series import settled_steps
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrant
from tracekit.policy.view.usage import rank_of
from tracekit.replay.measures import COST_PER_HOUR
from tracekit.replay.runs.waiting import most_waiting

#: The multiples of the nodes that are tried.
_TIMES = (2, 4, 8, 16)
#: A value that moves by less than this share makes no progress.
_LITTLE = 0.01


def fewest_nodes(
    load: Workload,
    policy: Entrant,
    limits: Limits,
    *,
    repeats: int,
    replaying: Callable[[Workload], ReplayOn],
    by: str = NODES,
    beside: int = 1,
    may_wait: bool = False,
    further: bool = True,
    survive: bool = False,
) -> Outcome:
    """Search the fewest nodes on which the limits hold under one policy.

    Parameters
    ----------
    load : Workload
        The workload, whose ``nodes.never_removed`` marks nodes that cannot be removed.
    repeats : int
        The number of orders of arrival.
    replaying : function(Workload) -> ReplayOn
        Makes the function that replays a workload.
    by : {'nodes', 'cost'}
        Whether the number of nodes or their cost is made least.
    beside : int
        How many replays may run at a time.
    may_wait : bool
        Whether a few containers (``runs.waiting.most_waiting``) may wait even on all nodes. Then as
        many may wait on fewer nodes in the same order of arrival.
    further : bool
        Whether nodes are added where all nodes are too few.
    survive : bool
        Whether the limits also have to hold when any one zone is lost. Containers that can run only
        in the lost zone may wait then.

    Raises
    ------
    TooFewError
        Where a limit breaks on all nodes, on fewer, and on more.
    TracekitError
        Where the result breaks a limit on a measure that falls with the number of nodes.
    """
    bound = bound_to_zones(load) if survive else {}
    tried = Trials(
        load, str(policy), limits, replaying(load), range(repeats), beside, survive, bound
    )
    broken, waits = _on_all_nodes(tried, may_wait=may_wait)
    orderings = _orderings(by)
    outcome: Outcome | None = None
    if broken is None:
        outcome = Search(tried, policy, by).over(orderings)
    elif not tried.limits.of_waiting(broken):
        outcome = Search(tried, policy, by).on_fewer(broken, orderings)
    if outcome is None and broken is not None and further:
        outcome = enough_more(tried, policy, broken, replaying)
    if outcome is None:
        assert broken is not None  # noqa: S101 - with none broken there is an answer
        nodes = load.nodes.count - len(left_nodes(load))
        raise TooFewError(broken, nodes, too_busy(load, broken))
    return _checked(replace(outcome, waits_with_all=waits), tried)


def enough(
    tried: Trials, policy: Entrant, counts: Sequence[int], *, by: str, may_wait: bool
) -> list[bool]:
    """Return for each order of arrival whether its count of nodes is enough for a policy.

    Only that count is tried, which takes a few replays where a search takes a hundred.
    """
    broken, _ = _on_all_nodes(tried, may_wait=may_wait)
    if broken is not None:
        return [False for _ in tried.orders]
    search = Search(tried, policy, by)
    places = [ordered_nodes(search.nodes, ordering) for ordering in _orderings(by)]
    return [
        count >= search.low and any(tried.holds(order, place[:count]) for place in places)
        for order, count in zip(tried.orders, counts, strict=True)
    ]


def _on_all_nodes(tried: Trials, *, may_wait: bool) -> tuple[Margin | None, int | None]:
    """The limit that breaks on all nodes, and how many containers wait there; None for none.

    With ``may_wait`` the limits of ``tried`` are replaced by limits that let as many wait.
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


def _checked(outcome: Outcome, tried: Trials) -> Outcome:
    """The result; raises TracekitError where it breaks a limit that falls with the nodes."""
    price = tried.load.nodes.price_per_hour
    for one in outcome.held:
        row, base = one.row, tried.base(one.repeat)
        if price is not None and row.get(COST_PER_HOUR) is not None:
            # each node that is kept is paid for, used or not
            paid = np.append(price, price[outcome.like])
            row = {**row, COST_PER_HOUR: float(paid[outcome.staying].sum())}
            base = {**base, COST_PER_HOUR: float(price.sum())}
        for margin in tried.limits.broken_at_the_end(tried.policy, base, row):
            raise TracekitError(
                f"{margin.measure} is {margin.value:,.4g} on the {len(outcome.staying):,} nodes"
                f" that the other limits need, at most {margin.allowed:,.4g} is allowed",
                hint=f"--least {COST} looks for cheaper nodes",
            )
    return outcome


def enough_more(
    tried: Trials, policy: Entrant, broken: Margin, replaying: Callable[[Workload], ReplayOn]
) -> Outcome | None:
    """Return the result with the fewest added nodes; None where added nodes do not help.

    Copies of nodes do not help a container that is too large for every node. Nor are nodes added if
    nodes times containers would exceed ``LARGEST_ONCE``.

    Parameters
    ----------
    broken : Margin
        The limit that breaks on the cluster's own nodes.
    replaying : function(Workload) -> ReplayOn
        Makes the function that replays a workload.
    """
    load, before = tried.load, broken
    if broken.limit.floors or too_busy(load, broken) or load.too_large().size:
        return None
    candidates = _like(tried, (_TIMES[-1] - 1) * load.nodes.count)
    if not len(candidates):
        return None
    for times in _TIMES:
        if times * load.nodes.count * load.containers.count > LARGEST_ONCE:
            return None
        like = candidates[: (times - 1) * load.nodes.count]
        larger = with_more(load, like)
        more = Trials(
            larger,
            tried.policy,
            tried.limits,
            replaying(larger),
            tried.orders,
            tried.parallel,
            tried.survive,
            tried.bound,
        )
        now = worst(more.on_all_nodes())
        if now is None:
            return replace(_fewest_more(more, policy, like), breaks=broken)
        if not _nearer(before, now):
            return None
        before = now
    return None


def _like(tried: Trials, count: int) -> IntArray:
    """The positions of the nodes that added nodes copy, in order; zones grow alike."""
    load, zone = tried.load, tried.zone
    like = like_nodes(load, count)
    if zone is None:
        return like
    every = np.concatenate([np.arange(load.nodes.count), like])
    rank = (np.arange(len(every)) >= load.nodes.count).astype(np.int64)
    return np.asarray(every[evened(zone[every], sizes_of(load)[every], rank)][load.nodes.count :])


def _fewest_more(more: Trials, policy: Entrant, like: IntArray) -> Outcome:
    """The result where all nodes of ``more`` are enough; the added nodes copy those at ``like``."""
    every = more.load.nodes.count
    must_stay = np.arange(every) < every - len(like)
    search = Search(
        replace(
            more, load=replace(more.load, nodes=replace(more.load.nodes, never_removed=must_stay))
        ),
        policy,
        NODES,
    )
    search.low = max(search.low, int(must_stay.sum()) + 1)
    place = np.arange(every)
    outcome = search.outcome("added", place, *search.joint(place, every))
    added = outcome.nodes - int(must_stay.sum())
    return replace(
        outcome,
        place=place[: outcome.nodes],
        requested=outcome.requested[: outcome.nodes],
        fullest=outcome.fullest[:, : outcome.nodes],
        like=like[:added],
    )


def _nearer(before: Margin, now: Margin) -> bool:
    """Whether another limit breaks than before, or the value moved."""
    if before.measure != now.measure or before.value is None or now.value is None:
        return True
    return abs(now.value - before.value) > _LITTLE * abs(before.value)


def too_busy(load: Workload, broken: Margin) -> str:
    """Return the id of a container that alone breaks a limit on use, even on the largest node.

    Empty where there is none, or the limit is not on the use of a node.
    """
    resources = {CPU: 0, "cpu_max_fraction": 0, "memory_max_fraction": 1}
    at = resources.get(broken.measure)
    if at is None or broken.allowed is None or not load.containers.count:
        return ""
    steps = settled_steps(load.use.times_ms, load.use.settled_ms)
    spare = len(steps) - rank_of(len(steps)) - 1 if broken.measure == CPU else 0
    largest = float(load.nodes.capacity[:, at].max(initial=1))
    above = np.zeros(load.containers.count, np.int64)
    for step in steps.tolist():
        above += load.present(step) & (load.use.at(step)[at] > broken.allowed * largest)
    too_large = np.flatnonzero(above > spare)
    return load.containers.ids[too_large[0]] if len(too_large) else ""
