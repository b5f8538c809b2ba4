"""How many nodes are enough: of those there are, or with further ones like them."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tracekit.arrays import IntArray
from tracekit.replay.policy.entrant import Entrant
from tracekit.replay.studies.shrink.few_nodes import Ask
from tracekit.replay.studies.shrink.fewest import (
    Alone,
    Fewest,
    fewest_around,
    fewest_from,
    fewest_nodes,
    found_on,
)
from tracekit.replay.studies.shrink.least_nodes import least_nodes
from tracekit.replay.studies.shrink.limits import Broken, Limits
from tracekit.replay.studies.shrink.trials import NODES, TooFewError, Trials
from tracekit.replay.workload.changed.more_nodes import kinds_of, like_nodes, spread_over, with_more
from tracekit.replay.workload.workload import Workload

#: So many times the nodes are tried at most.
MOST = 16
_TIMES = (2, 4, 8, MOST)
_WORDS = {2: "twice", 4: "four times", 8: "eight times", MOST: "sixteen times"}
#: So many kinds of nodes are asked about by themselves.
_KINDS = 3
#: A limit that moves by less is not nearer.
_LITTLE = 0.01


def enough_nodes(
    load: Workload,
    policy: Entrant,
    limits: Limits,
    *,
    seed: int,
    repeats: int,
    by: str = NODES,
    asks: Callable[[Workload], Ask] | None = None,
    beside: int = 1,
) -> Fewest:
    """As ``fewest_nodes``; where all nodes are too few, how many more like them are enough.

    Twice as many are tried, four times and so on up to ``MOST`` times, as long as that brings the
    limit that breaks nearer.

    Parameters
    ----------
    by : {'nodes', 'cost'}
        What is to be least, where nodes can go.
    asks : callable, optional
        Who replays a workload; this process if not given.

    Raises
    ------
    TracekitError
        Where more nodes do not help; the message says by how much a limit breaks on all there are.
    """
    ask = None if asks is None else asks(load)
    try:
        return fewest_nodes(
            load, policy, limits, seed=seed, repeats=repeats, by=by, ask=ask, beside=beside
        )
    except TooFewError as error:
        return _with_more(load, policy, limits, error, seed=seed, repeats=repeats, asks=asks)


def _with_more(
    load: Workload,
    policy: Entrant,
    limits: Limits,
    problem: TooFewError,
    *,
    seed: int,
    repeats: int,
    asks: Callable[[Workload], Ask] | None,
) -> Fewest:
    """All nodes and as few more as are enough; the problem is raised where more do not help.

    No number of nodes like these helps a container that is too large for each.
    """
    if problem.alone or (len(load.too_large()) and limits.nobody_waits(str(policy))):
        raise problem
    orders, before = range(repeats), problem.broken
    for times in _TIMES:
        like = like_nodes(load, (times - 1) * load.nodes)
        if not len(like):
            raise problem
        larger = with_more(load, like)
        tried = Trials(larger, policy, limits, seed, None if asks is None else asks(larger))
        broken = next(
            filter(None, (tried.broken_by(order, larger.nodes) for order in orders)), None
        )
        if broken is None:
            break
        if times == MOST or not _nearer(before, broken):
            raise problem.though(f"{_WORDS[times]} as many nodes do not help")
        before = broken
    tried.start(np.arange(larger.nodes), "added")
    low, by_order = load.nodes, []
    for order in orders:
        enough = fewest_from(functools.partial(tried.holds, order), low, larger.nodes)
        by_order.append(larger.nodes if enough is None else enough)
    nodes = fewest_from(lambda some: tried.hold_all(some, orders), max(by_order), larger.nodes)
    found = found_on(tried, nodes or larger.nodes, least_nodes(larger, policy, limits), by_order)
    tried.check_at_the_end(found.at(found.nodes))
    more = found.nodes - load.nodes

    def begin(others: IntArray) -> Trials:
        """Replays on all nodes and ever more of others."""
        made = with_more(load, others)
        begun = Trials(made, policy, limits, seed, None if asks is None else asks(made))
        begun.start(np.arange(made.nodes), "added")
        return begun

    alone = of_one_kind(load, like[:more], begin, orders)
    return replace(found, place=found.place[: found.nodes], like=like[:more], alone=alone)


def of_one_kind(
    load: Workload,
    like: IntArray,
    begin: Callable[[IntArray], Trials],
    orders: Sequence[int],
) -> tuple[Alone, ...]:
    """How many more of each kind of node alone are enough; empty where there is one kind.

    The kinds that most nodes are of are asked about. One that is not enough with twice the room
    that a mix takes is left out.

    Parameters
    ----------
    like : int64, shape (more,)
        The nodes of several kinds that are enough.
    """
    kinds = kinds_of(load)
    if len(kinds) < 2:
        return ()
    size = (load.capacity / np.maximum(load.capacity.max(axis=0), 1)).mean(axis=1)
    room, found = float(size[like].sum()), []
    for kind in kinds[:_KINDS]:
        guess = max(int(np.ceil(room / max(float(size[kind[0]]), 1e-9))), 1)
        others = spread_over(kind, 2 * guess)
        tried = begin(others)
        holds = functools.partial(tried.hold_all, orders=orders)
        enough = fewest_around(holds, load.nodes + guess, load.nodes + 1, load.nodes + len(others))
        if enough is not None:
            found.append(Alone(int(kind[0]), enough - load.nodes))
    return tuple(sorted(found, key=lambda one: one.nodes))


def _nearer(before: Broken | None, now: Broken) -> bool:
    """Whether more nodes brought about something: another limit breaks, or the value moved."""
    if before is None or before.measure != now.measure or before.value is None or now.value is None:
        return True
    return abs(now.value - before.value) > _LITTLE * abs(before.value)
