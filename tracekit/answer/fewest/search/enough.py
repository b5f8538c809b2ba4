"""How many nodes are enough: of those there are, or with further ones like them."""

import contextlib
import functools
from collections.abc import Callable
from dataclasses import replace

from tracekit.answer.fewest.search.added import Adding
from tracekit.answer.fewest.search.at_the_mean import at_the_mean
from tracekit.answer.fewest.search.broken_limit import Broken
from tracekit.answer.fewest.search.few_nodes import Ask
from tracekit.answer.fewest.search.fewest import fewest_nodes
from tracekit.answer.fewest.search.found import Fewest
from tracekit.answer.fewest.search.least_nodes import least_nodes
from tracekit.answer.fewest.search.limits import Limits
from tracekit.answer.fewest.search.too_few import TooFewError
from tracekit.answer.fewest.search.trials import NODES, Trials
from tracekit.replay.policy.entrant import Entrant
from tracekit.replay.runs.may_wait import most_waiting
from tracekit.replay.workload.changed.more_nodes import like_nodes
from tracekit.replay.workload.changed.pinned import recorded_over_capacity
from tracekit.replay.workload.workload import Workload

#: So many times the nodes are tried at most.
MOST = 16
_TIMES = (2, 4, 8, MOST)
_WORDS = {2: "twice", 4: "four times", 8: "eight times", MOST: "sixteen times"}
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
    may_wait: bool = False,
    as_a_run: bool = False,
    further: bool = True,
) -> Fewest:
    """As ``fewest_nodes``; where all nodes are too few, how many more like them are enough.

    Two, four and more times as many are tried, up to ``MOST`` times, as long as that brings the
    broken limit nearer. Nodes that are added may let others go: a node with what was lacking makes
    ordinary ones free.

    Parameters
    ----------
    may_wait : bool
        Whether as many containers may wait on all nodes as ``runs.may_wait`` allows; then as many
        may on fewer, order by order.
    as_a_run : bool
        Whether limits are those by which a run chooses policies, at the mean of its orders.
    further : bool
        Whether more nodes are searched for where all there are are too few.
    by : {'nodes', 'cost'}
        What is to be least, where nodes can go.
    asks : callable, optional
        Who replays a workload; this process if not given.

    Raises
    ------
    TracekitError
        Where more nodes do not help, or are not searched for; the message says by how much a limit
        breaks on all there are.
    """
    ask = None if asks is None else asks(load)
    search = functools.partial(
        fewest_nodes, policy=policy, seed=seed, repeats=repeats, by=by, beside=beside
    )
    here = functools.partial(search, load, ask=ask)
    try:
        return here(limits=limits, on_fewer=not as_a_run)
    except TooFewError as error:
        if may_wait:
            nodes = int(limits.observed["nodes_used_max"])
            error.where_production_placed_all(nodes, recorded_over_capacity(load))
        most = most_waiting(load) if may_wait and error.only_waits else 0
        if most:
            found = _with_some_waiting(here, load, policy, limits, most)
            if found is not None:
                return found
        if as_a_run and repeats > 1:
            rows = Trials(load, policy, limits, seed, ask).on_all_nodes(range(repeats))
            as_far = at_the_mean(limits, rows)
            if as_far is not None:
                with contextlib.suppress(TooFewError):
                    return here(limits=as_far)
        if not further:
            raise
        if as_a_run:
            with contextlib.suppress(TooFewError):
                return here(limits=limits)

        adding = Adding(load, policy, limits, by, seed, repeats, search, asks)
        found = _with_more(adding, error, limits.nobody_waits(str(policy)))
        return replace(found, too_few="" if error.broken is None else error.broken.measure)


def _with_some_waiting(
    search: Callable[..., Fewest], load: Workload, policy: Entrant, limits: Limits, most: int
) -> Fewest | None:
    """The answer where containers wait with all nodes, too; None where more wait than ``most``."""
    steps = len(load.times_ms)
    try:
        found = search(limits=limits.as_with_all(most, steps))
    except TooFewError:
        return None
    # known now is how many are left out at most, and no order leaves more on fewer nodes
    waits = found.left_with_all
    bound = least_nodes(load, policy, limits.as_with_all(waits, steps))
    return replace(found, waits_with_all=waits, bound=bound)


def _with_more(adding: Adding, problem: TooFewError, nobody_waits: bool) -> Fewest:
    """All nodes and as few more as are enough; the problem is raised where more do not help.

    No number of nodes like these helps a container that is too large for each, or brings more use.
    """
    load, orders = adding.load, adding.orders
    too_little = problem.broken is not None and problem.broken.too_little
    if too_little or problem.alone or (nobody_waits and len(load.too_large())):
        raise problem
    before = problem.broken
    for times in _TIMES:
        like = like_nodes(load, (times - 1) * load.nodes)
        if not len(like):
            raise problem
        tried = adding.begin(like)
        every = load.nodes + len(like)
        broken = next(filter(None, (tried.broken_by(order, every) for order in orders)), None)
        if broken is None:
            break
        if times == MOST or not _nearer(before, broken):
            # with few of one kind it may hold, where with many of all kinds it does not
            found = adding.of_one_kind(like[: load.nodes], tried)
            if found is not None:
                return found
            raise problem.with_more(_WORDS[times], broken)
        before = broken
    found = adding.least(like, tried)
    if found is None:
        raise problem
    return found


def _nearer(before: Broken | None, now: Broken) -> bool:
    """Whether more nodes brought about something: another limit breaks, or the value moved."""
    if before is None or before.measure != now.measure or before.value is None or now.value is None:
        return True
    return abs(now.value - before.value) > _LITTLE * abs(before.value)
