"""The decision: one rule for ``run``, ``nodes``, ``requests`` and the report.

1. A node is full at the ceiling (``replay.measures.ceiling``). Where production itself is above it,
   that is said first, and nodes are counted relative to production, too.
2. Requests come first: where mean use is above the requests, or below half of them, nodes are
   counted with recommended requests, and that count is the answer.
3. Only a scheduler's policies, and policies that the user named, are recommended. A yardstick never
   is, nor a policy that overloads nodes or lets containers wait more than production does
   (``admissible``).
4. The objective at the ceiling is cost where all prices are known, else nodes. Without a count it
   is the CPU of the fullest node. A policy other than the one in use is recommended only if it is
   better than that one, and than ``random``, by 1 % or more beyond chance.
5. Special nodes stay. 6. The answer is one verdict, one condition, one confidence, and money.
7. The same question has the same answer, whichever command asks it.
8. Where something is missing, that is the first fact.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tracekit.answer.admissible import Barred, barred
from tracekit.answer.counts import Count, Fullest
from tracekit.answer.intervals import COMPARED, RANDOM
from tracekit.answer.production import ABOVE, BELOW
from tracekit.answer.standings import difference, standings
from tracekit.base.constants import MATERIAL
from tracekit.base.facts import Fact
from tracekit.base.units import MS_PER_DAY
from tracekit.policy.entrant import USUAL
from tracekit.replay.chance import FEWEST
from tracekit.replay.measures import NODES
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED

#: The number of policies of ``common`` that are counted, beside the one in use and named ones.
MOST_COMMON = 2
#: The shortest record that shows a weekend.
WEEK_MS = 7 * MS_PER_DAY


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The policy that a run recommends with all nodes, and why.

    Parameters
    ----------
    policy : str
        The policy in use, unless another one is better.
    because : {'in_use', 'better', 'few_orders', 'no_production'}
        ``better`` if the policy beats production, the policy in use and random placement,
        ``in_use`` if none does. With too few orders of arrival, or where production is not
        recorded, this cannot be judged.
    measure : str
        The measure by which policies are compared.
    value, against : float, optional
        The measure under the policy, and in production (or under the policy in use).
    barred : tuple of Barred
        Policies that may not be recommended.
    may : tuple of str
        Policies that may be recommended, sorted by the nodes used in the first order of arrival.
    orders : int
        The number of orders of arrival.
    """

    policy: str
    because: str
    measure: str
    value: float | None
    against: float | None
    barred: tuple[Barred, ...]
    may: tuple[str, ...]
    orders: int


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The input of a run's decision: replays, counts of nodes, and facts about production.

    Parameters
    ----------
    results : Results
        The replays on all nodes.
    choice : Choice
        The policy that the replays recommend.
    counts : mapping of case to Count
        The count to act on in each case that was searched.
    today : tuple of Fullest
        The fullest nodes in production; empty where its placement is not recorded.
    ceiling : mapping of resource to float
        The used fraction from which on a node is full.
    broken : tuple of str
        The nodes above the ceiling in production.
    use_over_requested : mapping of resource to float
        Mean use over requests; empty where sizes are assumed, or use is not recorded.
    cost_per_hour : float, optional
        The cost of all nodes; None where a price is unknown.
    unpriced : tuple of str
        Instance types without a price; empty where no type has one.
    currency : str
        Printed behind amounts of money.
    first : tuple of Fact
        Facts to show with the verdict, such as that it is a first answer.
    facts : tuple of Fact
        Further facts: of special nodes, requests and the record.
    varying : bool
        Whether orders of arrival differ.
    assume : tuple of str
        The assumptions and prices that were given, as ``--assume`` takes them.
    store, run : str
        Folders as commands name them.
    in_use : str
        The policy that stands for production's scheduler.
    """

    results: Results
    choice: Choice
    counts: Mapping[str, Count]
    today: tuple[Fullest, ...] = ()
    ceiling: Mapping[str, float] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    use_over_requested: Mapping[str, float] = field(default_factory=dict)
    cost_per_hour: float | None = None
    unpriced: tuple[str, ...] = ()
    currency: str = ""
    first: tuple[Fact, ...] = ()
    facts: tuple[Fact, ...] = ()
    assume: tuple[str, ...] = ()
    varying: bool = True
    store: str = "STORE"
    run: str = "RUN"
    in_use: str = USUAL

    @property
    def load(self) -> Mapping[str, object]:
        """The manifest's entry on the workload."""
        return dict(self.results.manifest.get("workload", {}))

    @property
    def assumed(self) -> bool:
        """Whether sizes of nodes or requests are assumed."""
        origins = dict(self.results.manifest.get("workload", {})).get("quantities", {})
        return "assumed" in (origins.get("requests"), origins.get("node sizes"))

    @property
    def few_orders(self) -> bool:
        """Whether there are too few orders of arrival for an interval."""
        return self.choice.because == "few_orders"

    @property
    def requests_first(self) -> tuple[str, str] | None:
        """The resource whose requests to change first, and whether use is above them or below half.

        None where requests fit use.
        """
        return requests_first(self.use_over_requested)


def choose(results: Results, *, named: Collection[str] = (), in_use: str = USUAL) -> Choice:
    """Return the policy that a run recommends while all nodes stay.

    Parameters
    ----------
    named : collection of str
        Policies that the user wrote by name, without those that ``all`` or ``common`` add.
    in_use : str
        The policy that stands for production's scheduler.
    """
    reasons = {
        one: barred(results, one, named=named) for one in results.policies if one != OBSERVED
    }
    may = _by_nodes(results, [one for one, why in reasons.items() if why is None])
    measure = next((one for one in COMPARED if one in results.measures), "")
    orders = results.most_orders
    fallback = in_use if in_use in results.policies or OBSERVED in results.policies else ""
    because = "in_use" if OBSERVED in results.policies else "no_production"
    policy = fallback or next(iter(may), "")
    if orders < FEWEST and not results.manifest.get("repeats_none"):
        because = "few_orders"
    elif measure:
        rivals = [one for one in (OBSERVED, fallback, RANDOM) if one in results.policies]
        better = [
            one
            for one in may
            if one != in_use and all(is_better(results, one, r, measure) for r in rivals)
        ]
        if better and rivals:
            policy, because = _first(results, better, measure), "better"
        elif OBSERVED not in results.policies and may:
            policy = _first(results, may, measure)
    beside = OBSERVED if OBSERVED in results.policies else fallback
    return Choice(
        policy=policy,
        because=because,
        measure=measure,
        value=mean_of(results, policy, measure),
        against=mean_of(results, beside, measure) if beside != policy else None,
        barred=tuple(why for why in reasons.values() if why is not None),
        may=tuple(may),
        orders=orders,
    )


def to_count(choice: Choice, *, named: Collection[str], in_use: str) -> list[str]:
    """Return the policies for which the fewest nodes are searched, the policy in use first.

    The others are the policy that is better on all nodes, the named policies, and the two that used
    the fewest nodes.
    """
    common = [one for one in choice.may if one not in named and one != in_use][:MOST_COMMON]
    mine = [one for one in named if one in choice.may]
    better = [choice.policy] if choice.because == "better" else []
    return list(dict.fromkeys([in_use, *better, *mine, *common]))


def is_better(results: Results, policy: str, other: str, measure: str) -> bool:
    """Return whether a policy is better than another beyond chance and by 1 % or more."""
    if policy == other:
        return True
    gap = difference(results, policy, other, measure)
    if gap is None or not gap.apart or gap.slight:
        return False
    return (gap.mean < 0) == (results.measures[measure].first == "low")


def requests_first(use_over_requested: Mapping[str, float]) -> tuple[str, str] | None:
    """Return the resource whose requests to change first, and how its use compares with them.

    This is ``above`` if use exceeds the requests, and ``below_half`` if use is less than half of
    them. None where requests fit use.

    Parameters
    ----------
    use_over_requested : mapping of str to float
        By resource, mean use as a share of requests.
    """
    for resource, share in use_over_requested.items():
        if share > ABOVE:
            return resource, "above"
    for resource, share in use_over_requested.items():
        if share < BELOW:
            return resource, "below_half"
    return None


def acted_on(e: Evidence) -> tuple[str, Count | None]:
    """Return what a run advises, and the count of nodes that the advice is about.

    The advice is a key, such as ``fewer_nodes`` or ``keep``. The count is None where the advice is
    about no number of nodes.
    """
    now, then = e.counts.get("recorded"), e.counts.get("recommended")
    relative = e.counts.get("no_more_often")
    raised = e.requests_first is not None and e.requests_first[1] == "above"
    with_fitting = then if e.requests_first and enough(then) else now
    production = OBSERVED in e.results.policies
    rules: tuple[tuple[bool, str, Count | None], ...] = (
        (e.assumed and enough(now), "assumed", now),
        (e.assumed, "assumed_none", None),
        (e.few_orders and enough(with_fitting), "few_orders", with_fitting),
        (with_fitting is then and can_go(then), "fewer_nodes_after_requests", then),
        (raised and then is not None and then.added > 0, "more_nodes_after_requests", then),
        (raised and then is not None, "requests_only", None),
        (can_go(now), "fewer_nodes" if production else "needs_fewest", now),
        (bool(e.broken) and not enough(now) and can_go(relative), "above_ceiling_fewer", relative),
        (bool(e.broken) and not enough(now), "above_ceiling", None),
        (e.requests_first is not None, "requests_only", None),
        (e.choice.because == "better", "other_policy", None),
        (now is not None and now.added > 0, "more_nodes", now),
        (e.few_orders, "too_few_orders", None),
        (bool(e.counts), "keep", now),
    )
    return next(((key, one) for applies, key, one in rules if applies), ("cannot_tell", None))


def enough(count: Count | None) -> bool:
    """Return whether the cluster's own nodes are enough; False without a count."""
    return count is not None and count.nodes is not None and not count.added


def can_go(count: Count | None) -> bool:
    """Return whether nodes can be removed: at least one, and at least 1 % of all."""
    if count is None or count.nodes is None or count.added:
        return False
    less = count.of - count.nodes
    return less >= 1 and less >= MATERIAL * count.of


def _by_nodes(results: Results, names: Sequence[str]) -> list[str]:
    """Policies sorted by the nodes used in the first order of arrival."""

    def used(name: str) -> float:
        return float(results.of(name, NODES)[0]) if results.has_value(name, NODES) else float("inf")

    return sorted(names, key=lambda name: (used(name), name != USUAL, name))


def _first(results: Results, names: Sequence[str], measure: str) -> str:
    """The usual scheduler's policy if it is among the best, else the policy with the best mean.

    The best are the policies that chance does not tell apart from the first.
    """
    rows = [row for row in standings(results, measure).rows if set(row.names) & set(names)]
    top = [one for row in rows if not row.apart_from_best for one in row.names if one in names]
    mine = top or [one for row in rows for one in row.names if one in names]
    return USUAL if USUAL in mine else mine[0]


def mean_of(results: Results, policy: str, measure: str) -> float | None:
    """Return the mean of a measure over a policy's orders of arrival; None where it is unknown."""
    if not policy or not measure or not results.has_value(policy, measure):
        return None
    return float(results.of(policy, measure).mean())
