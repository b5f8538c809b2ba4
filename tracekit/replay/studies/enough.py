"""How many nodes are enough: of those there are, or with further ones like them."""

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tracekit.replay.policy.entrant import Entrant
from tracekit.replay.studies.few_nodes import Ask
from tracekit.replay.studies.fewest import Fewest, fewest_from, fewest_nodes, found_on
from tracekit.replay.studies.least_nodes import least_nodes
from tracekit.replay.studies.limits import Limits
from tracekit.replay.studies.trials import TooFewError, Trials
from tracekit.replay.workload.more_nodes import like_nodes, with_more
from tracekit.replay.workload.workload import Workload


def enough_nodes(
    load: Workload,
    policy: Entrant,
    limits: Limits,
    *,
    seed: int,
    repeats: int,
    asks: Callable[[Workload], Ask] | None = None,
    beside: int = 1,
) -> Fewest:
    """As ``fewest_nodes``; where all nodes are too few, how many more like them are enough.

    Up to twice as many nodes are tried.

    Parameters
    ----------
    asks : callable, optional
        Who replays a workload; this process if not given.

    Raises
    ------
    TracekitError
        Where a limit breaks on twice as many nodes; the message says by how much on all there are.
    """
    ask = None if asks is None else asks(load)
    try:
        return fewest_nodes(
            load, policy, limits, seed=seed, repeats=repeats, ask=ask, beside=beside
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
    """All nodes and as few more as are enough; the problem is raised where twice as many are not.

    No number of nodes like these helps a container that is too large for each.
    """
    like = like_nodes(load, load.nodes)
    if not len(like) or (len(load.too_large()) and limits.nobody_waits(str(policy))):
        raise problem
    larger, orders = with_more(load, like), range(repeats)
    tried = Trials(larger, policy, limits, seed, None if asks is None else asks(larger))
    if not tried.hold_all(larger.nodes, orders):
        raise problem.though("twice as many nodes do not help")
    tried.start(np.arange(larger.nodes), "added")
    low, by_order = load.nodes, []
    for order in orders:
        enough = fewest_from(functools.partial(tried.holds, order), low, larger.nodes)
        by_order.append(larger.nodes if enough is None else enough)
    nodes = fewest_from(lambda some: tried.hold_all(some, orders), max(by_order), larger.nodes)
    found = found_on(tried, nodes or larger.nodes, least_nodes(larger, policy, limits), by_order)
    more = found.nodes - load.nodes
    return replace(found, place=found.place[: found.nodes], like=like[:more])
