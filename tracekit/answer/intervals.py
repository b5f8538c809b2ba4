"""The intervals of a run: of each policy's means, and of the differences between policies."""

import dataclasses
import functools
import itertools
from collections.abc import Sequence

import numpy as np

from tracekit.answer.admissible import barred
from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.replay.chance import FEWEST, Compared, Means, apart, compare, means
from tracekit.replay.measures import COST_PER_HOUR, NODES, OVERLOAD, SHARES
from tracekit.replay.runs.one import SEED
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import BOUND, OBSERVED
from tracekit.replay.runs.run_folder import FILTERED

#: The measures by which a decision compares policies; the first one that a run has decides.
COMPARED = (
    "cpu_p99_over_time_fraction",
    "memory_max_fraction",
    NODES,
    COST_PER_HOUR,
    OVERLOAD,
    "pending",
)
#: The policy that a recommended policy has to beat.
RANDOM = "random"
#: The end of names of measures that are a share of a whole.
_OF_A_WHOLE = "_share"


@functools.lru_cache(maxsize=4)
def differences_of(results: Results) -> tuple[dict[tuple[str, str], int], Compared]:
    """Return the tested differences of every pair of policies by every measure.

    They are corrected for multiple tests. Policies with equal placements count as one. The
    comparisons of a decision are corrected apart from the others; see ``decisive``.

    Returns
    -------
    dict of (str, str) to int, Compared
        The number of each pair, from 0 on, and the differences: one column for each measure of the
        first pair, then for each measure of the second pair, and so on.
    """
    most = max((results.orders(names[0]) for names in results.groups), default=0)
    names = [group[0] for group in results.groups if results.orders(group[0]) == most]
    pairs = list(itertools.combinations(names, 2))
    apart_by = [_testable(results, *pair) for pair in pairs]
    table = np.concatenate(apart_by, axis=1) if apart_by else np.zeros((most, 0))
    with_it = [any(_is_production(results, name) for name in pair) for pair in pairs]
    once = np.repeat(with_it, len(results.measures))
    tested = compare(
        table,
        first=decisive(results, pairs),
        once=once,
        looks=results.looks,
        left_out=_left_out(results),
    )
    return {pair: at for at, pair in enumerate(pairs)}, _within_reach(results, pairs, tested)


def _left_out(results: Results) -> tuple[int, int]:
    """How many comparisons were given up on the way: those of a decision, and all others."""
    left = set(results.left_out)
    names = [group[0] for group in results.groups]
    pairs = [pair for pair in itertools.combinations(names, 2) if left & set(pair)]
    read = sum(name in COMPARED for name in results.measures) * len(pairs)
    return read, len(results.measures) * len(pairs) - read


def decisive(results: Results, pairs: Sequence[tuple[str, str]]) -> BoolArray:
    """Return which comparisons a decision reads, bool, shape (pairs times measures,), pair by pair.

    They are corrected for multiple tests apart from the thousands of other comparisons. Among those
    hardly any difference would remain beyond chance.
    """
    every = results.policies
    fit = {one for one in every if barred(results, one, named=every) is None} | {OBSERVED, RANDOM}
    read = np.array([name in COMPARED for name in results.measures], dtype=np.bool_)
    rows = [read & (set(pair) <= fit) for pair in pairs]
    return np.concatenate(rows) if rows else np.zeros(0, dtype=np.bool_)


def _within_reach(results: Results, pairs: Sequence[tuple[str, str]], tested: Compared) -> Compared:
    """Differences with their intervals cut off at possible values.

    No value is below 0 or below a proven bound. The bound does not hold of production, whose nodes
    may hold more than was requested. A difference has no interval where each policy has the same
    value in every order.
    """
    if not pairs:
        return tested
    most = {name: _most(results, name) for pair in pairs for name in pair}
    highest, lowest = (np.concatenate([most[pair[at]] for pair in pairs]) for at in (0, 1))
    bound = _least(results)
    floor = {name: 0.0 * bound if _is_production(results, name) else bound for name in most}
    floors = [np.concatenate([floor[pair[at]] for pair in pairs]) for at in (0, 1)]
    low = np.maximum(tested.low, np.minimum(tested.mean, floors[0] - lowest))
    high = np.minimum(tested.high, np.maximum(tested.mean, highest - floors[1]))
    still = np.concatenate([_still(results, *pair) for pair in pairs]) & tested.separated
    return dataclasses.replace(
        tested,
        low=np.where(still, tested.mean, low),
        high=np.where(still, tested.mean, high),
    )


def _is_production(results: Results, policy: str) -> bool:
    """Whether a policy is production, or places as production did."""
    return any(OBSERVED in names and policy in names for names in results.groups)


def _still(results: Results, one: str, other: str) -> BoolArray:
    """Which measures have one value in all orders, under each of two policies; (measures,)."""
    parts = [np.ptp(results.values[name], axis=0) == 0 for name in (one, other)]
    return np.asarray(parts[0] & parts[1])


def _least(results: Results) -> FloatArray:
    """The lowest possible value of each measure: the proven bound, else 0; (measures,)."""
    bound = results.summary.filter(policy=BOUND)
    measured = [
        bound[name].item() if bound.height and name in bound.columns else None
        for name in results.measures
    ]
    low = [one.better == "low" for one in results.measures.values()]
    pairs = zip(measured, low, strict=True)
    return np.array([value if value is not None and is_low else 0.0 for value, is_low in pairs])


def _most(results: Results, policy: str) -> FloatArray:
    """The upper end of each mean's interval; infinite for measures that may be below 0."""
    below = np.any([(values < 0).any(axis=0) for values in results.values.values()], axis=0)
    high = interval_of(results, policy).high
    return np.where(below | np.isnan(high), np.inf, high)


def _testable(results: Results, one: str, other: str) -> FloatArray:
    """Differences order by order; NaN where repeats cannot differ, which would look certain."""
    values = apart(results.values[one], results.values[other])
    if results.covers != (SEED,):
        return values
    # nothing but the seed differed, and neither of the two draws
    same = np.ptp(results.values[one], axis=0) + np.ptp(results.values[other], axis=0) == 0
    return np.where(same & (values != 0).any(axis=0), np.nan, values)


@functools.lru_cache(maxsize=256)
def interval_of(results: Results, policy: str) -> Means:
    """Return a policy's means by every measure, with intervals that hold for all policies together.

    The intervals are NaN where the policy met fewer orders than an interval needs.
    """
    middle = means(results.values[policy], comparisons=together(results))
    if results.orders(policy) < FEWEST:
        nothing = np.full(len(middle.mean), np.nan)
        return Means(mean=middle.mean, low=nothing, high=nothing)
    return dataclasses.replace(middle, high=np.minimum(middle.high, _ceilings(results)))


def together(results: Results) -> int:
    """Return how many confidence intervals of one measure must all be right together.

    It is the number of policies with different placements, times the number of times that results
    are tested. Each interval is widened for this number.
    """
    return len(results.groups) * results.looks


def ceiling(results: Results, measure: str) -> float:
    """Return the highest possible value of a measure; infinite where there is none."""
    return float(_ceilings(results)[list(results.measures).index(measure)])


@functools.lru_cache(maxsize=4)
def _ceilings(results: Results) -> FloatArray:
    """The highest possible value of each measure, (measures,): 1 for a share of a whole, else inf.

    Where requests stand for use and are respected, every share has this limit.
    """
    most = np.max([values.max(axis=0) for values in results.values.values()], axis=0)
    ending = SHARES if _requests_are_use(results) else (_OF_A_WHOLE,)
    whole = np.array([name.endswith(ending) for name in results.measures])
    return np.where(whole & (most <= 1.0), 1.0, np.inf)


def any_apart(results: Results, measure: str, names: Sequence[str]) -> bool:
    """Return whether any two of these policies differ beyond chance by a measure."""
    pairs, tested = differences_of(results)
    at = list(results.measures).index(measure)
    apart = tested.separated[at :: len(results.measures)]
    return any(apart[number] for pair, number in pairs.items() if set(pair) <= set(names))


def _requests_are_use(results: Results) -> bool:
    """Whether requests stand for the use of all containers, and policies respect requests."""
    load = results.manifest.get("workload", {})
    stand_in = load.get("facts", {}).get("containers_with_request_as_use", 0)
    if not stand_in or stand_in < load["containers"]:
        return False
    # there is a bound on nodes used only where requests can be respected
    bound = results.summary.filter(policy=BOUND)
    gap = bound[NODES].drop_nulls() if NODES in bound.columns else ()
    others = (one for one in results.manifest["policies"] if one["policy"] != OBSERVED)
    return len(gap) > 0 and all(one.get(FILTERED, True) for one in others)
