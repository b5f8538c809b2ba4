"""How many more nodes are enough where all there are are too few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tracekit.answer.fewest.few_nodes import Ask
from tracekit.answer.fewest.found import NODES, Found
from tracekit.answer.fewest.limits import CPU, Margin
from tracekit.answer.fewest.over_orderings import Search
from tracekit.answer.fewest.trials import Trials, worst
from tracekit.answer.fewest.zones import evened
from tracekit.answer.followed import LARGEST_ONCE
from tracekit.base.arrays import IntArray
from tracekit.cluster.changed.more_nodes import like_nodes, sizes_of, with_more
from tracekit.cluster.series import settled_steps
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrant
from tracekit.policy.view.over_time import rank_of

#: So many times the nodes are tried.
_TIMES = (2, 4, 8, 16)
#: A value that moves by less than this share is no nearer.
_LITTLE = 0.01


def enough_more(
    tried: Trials, policy: Entrant, broken: Margin, asks: Callable[[Workload], Ask]
) -> Found | None:
    """All nodes and as few more as are enough; None where more do not help.

    No number of nodes like these helps a container that is too large for each. No more are tried
    than a count is searched for.
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
            asks(larger),
            tried.orders,
            tried.beside,
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
    """Which nodes further ones are like, the first to come first; zones grow alike if any count."""
    load, zone = tried.load, tried.zone
    like = like_nodes(load, count)
    if zone is None:
        return like
    every = np.concatenate([np.arange(load.nodes.count), like])
    rank = (np.arange(len(every)) >= load.nodes.count).astype(np.int64)
    return np.asarray(every[evened(zone[every], sizes_of(load)[every], rank)][load.nodes.count :])


def _fewest_more(more: Trials, policy: Entrant, like: IntArray) -> Found:
    """The answer where all nodes of ``more`` are enough, and all but those ``like`` others stay."""
    every = more.load.nodes.count
    stays = np.arange(every) < every - len(like)
    search = Search(
        replace(more, load=replace(more.load, nodes=replace(more.load.nodes, stays=stays))),
        policy,
        NODES,
    )
    search.low = max(search.low, int(stays.sum()) + 1)
    place = np.arange(every)
    found = search.found("added", place, *search.joint(place, every))
    added = found.nodes - int(stays.sum())
    return replace(
        found,
        place=place[: found.nodes],
        asked=found.asked[: found.nodes],
        fullest=found.fullest[:, : found.nodes],
        like=like[:added],
    )


def _nearer(before: Margin, now: Margin) -> bool:
    """Whether another limit breaks now, or the value moved."""
    if before.measure != now.measure or before.value is None or now.value is None:
        return True
    return abs(now.value - before.value) > _LITTLE * abs(before.value)


def too_busy(load: Workload, broken: Margin) -> str:
    """The container that by itself uses more than a limit on use allows, on the largest node.

    Empty where none does, or the limit is not on the use of a node.
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
    who = np.flatnonzero(above > spare)
    return load.containers.ids[who[0]] if len(who) else ""
