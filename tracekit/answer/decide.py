"""The decision: one rule, read by ``run``, ``nodes``, ``requests`` and the report.

1. A node is full at the ceiling (``replay.measures.ceiling``). Where production itself is above it,
   that is said first, and nodes are counted relative to production, too.
2. Requests come first: where mean use is above what is requested, or below half of it, nodes are
   counted with recommended requests, and that count is the answer.
3. Only policies of a scheduler, or that the user named, are recommended; never a yardstick, and
   none that overloads nodes or lets containers wait more than production (``admissible``).
4. The objective is cost where all prices are known, else nodes, at the ceiling; without a count it
   is the CPU of the fullest node. Another policy than the one in use is recommended only if it is
   better by 1 % or more beyond chance, and better than ``random`` by the same.
5. Special nodes stay. 6. The answer is one verdict, one condition, one confidence, and money.
7. The same question has the same answer, whichever command asks it.
8. Where something is missing, that is the first fact.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tracekit.answer.admissible import Barred, barred
from tracekit.answer.counts import FULLEST, RESOURCE, Count, Fullest
from tracekit.answer.facts import Answer, Fact, Followup, Verdict, answer_of
from tracekit.answer.standings import Difference, difference, standings
from tracekit.replay.chance.material import MATERIAL
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import NODES, Measure
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED, USUAL
from tracekit.units import MS_PER_DAY

#: Requests come first where use is above, or below, these shares of what is requested.
ABOVE, BELOW = 1.0, 0.5
#: So many policies of ``common`` are counted beside the one in use and those that were named.
MOST_COMMON = 2
#: A shorter record shows no weekend.
WEEK_MS = 7 * MS_PER_DAY
#: The hours of a month of money.
HOURS_A_MONTH = 730
#: The policy that any other has to beat.
RANDOM = "random"
#: By which measures policies are compared; the first that a run has decides.
COMPARED = (*FULLEST.values(), NODES, "cost_per_hour", "overloaded_node_steps", "pending")
_AS = {"recorded": "as they are", "recommended": "as recommended"}


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The policy that a run recommends with all nodes.

    Parameters
    ----------
    policy : str
        The one in use where no other is better.
    because : {'in_use', 'better', 'named', 'few_orders', 'no_production'}
    measure : str
        By which it is better, or by which policies were compared.
    value, against : float, optional
        What it comes to, and what production does.
    barred : tuple of Barred
        Policies that may not be recommended.
    may : tuple of str
        Those that may, the fewest nodes used in the first order of arrival first.
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
    """All that the decision of a run reads.

    Parameters
    ----------
    results : Results
        The replays on all nodes.
    choice : Choice
        What they recommend.
    counts : mapping of case to Count
        The count to act on in each case that was searched.
    today : tuple of Fullest
        The fullest nodes in production; empty where its placement is not recorded.
    ceiling : mapping of resource to float
        From which share on a node is full.
    broken : tuple of str
        Nodes that are above the ceiling in production.
    use_over_requested : mapping of resource to float
        Empty where sizes are assumed, or use is not recorded.
    cost_per_hour : float, optional
        Of all nodes; None where a price is unknown.
    unpriced : tuple of str
        Instance types without a price, where others have one.
    currency : str
        Printed behind amounts of money.
    facts : tuple of Fact
        Of others: special nodes, requests, the record.
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
    facts: tuple[Fact, ...] = ()
    store: str = "STORE"
    run: str = "RUN"
    in_use: str = USUAL

    @property
    def load(self) -> Mapping[str, object]:
        """What the manifest says of the workload."""
        return dict(self.results.manifest.get("workload", {}))

    @property
    def assumed(self) -> bool:
        """Whether sizes of nodes or requests are assumed."""
        known = dict(self.results.manifest.get("workload", {})).get("quantities", {})
        return "assumed" in (known.get("requests"), known.get("node sizes"))

    @property
    def few_orders(self) -> bool:
        """Whether there are too few orders of arrival to tell chance, though they differ."""
        return self.choice.because == "few_orders"

    @property
    def requests_first(self) -> tuple[str, str] | None:
        """The resource whose requests come first, and why; None where requests fit."""
        for resource, share in self.use_over_requested.items():
            if share > ABOVE:
                return resource, "above"
        for resource, share in self.use_over_requested.items():
            if share < BELOW:
                return resource, "below_half"
        return None


def choose(found: Results, *, named: Collection[str] = (), in_use: str = USUAL) -> Choice:
    """The policy that a run recommends with all nodes.

    Parameters
    ----------
    named : collection of str
        Policies that the user spelled; ``all`` and ``common`` name nobody.
    in_use : str
        The policy that stands for production's scheduler.
    """
    reasons = {one: barred(found, one, named=named) for one in found.policies if one != OBSERVED}
    may = _by_nodes(found, [one for one, why in reasons.items() if why is None])
    measure = next((one for one in COMPARED if one in found.measures), "")
    orders = found.most_orders
    kept = in_use if in_use in found.policies or OBSERVED in found.policies else ""
    because = "in_use" if OBSERVED in found.policies else "no_production"
    policy = kept or next(iter(may), "")
    if orders < FEWEST and not found.manifest.get("repeats_none"):
        because = "few_orders"
    elif measure:
        rivals = [one for one in (OBSERVED, kept, RANDOM) if one in found.policies]
        better = [
            one
            for one in may
            if one != in_use and all(is_better(found, one, r, measure) for r in rivals)
        ]
        if better and rivals:
            policy, because = _first(found, better, measure), "better"
        elif OBSERVED not in found.policies and may:
            policy = _first(found, may, measure)
    beside = OBSERVED if OBSERVED in found.policies else kept
    return Choice(
        policy=policy,
        because=because,
        measure=measure,
        value=_mean(found, policy, measure),
        against=_mean(found, beside, measure) if beside != policy else None,
        barred=tuple(why for why in reasons.values() if why is not None),
        may=tuple(may),
        orders=orders,
    )


def to_count(choice: Choice, *, named: Collection[str], in_use: str) -> list[str]:
    """The policies whose nodes are counted: the one in use, those named, two of ``common``."""
    common = [one for one in choice.may if one not in named and one != in_use][:MOST_COMMON]
    mine = [one for one in named if one in choice.may]
    return list(dict.fromkeys([in_use, *mine, *common]))


def is_better(found: Results, policy: str, other: str, measure: str) -> bool:
    """Whether a policy is better than another beyond chance and by 1 % or more."""
    if policy == other:
        return True
    told = difference(found, policy, other, measure)
    if told is None or not told.apart or told.slight:
        return False
    return (told.mean < 0) == (found.measures[measure].first == "low")


def decide(e: Evidence) -> Answer:
    """The answer of a run."""
    facts = [
        verdict(e),
        *_lacks(e),
        *_requests(e),
        *_counted(e),
        *_money(e),
        _scheduler(e.choice, e.in_use, counted=bool(e.counts)),
        *_sure(e),
        *e.facts,
        *facts_of_choice(e.results, e.choice),
    ]
    return answer_of(facts, _next(e))


def decide_replays(found: Results, choice: Choice, in_use: str = USUAL) -> Answer:
    """The answer of replays alone, without counts of nodes."""
    kept = choice.because in ("in_use", "no_production", "few_orders")
    because = {"few_orders": "cannot_tell", "no_production": "named_best"}.get(choice.because)
    first = Fact(
        kind="verdict",
        subject=choice.policy,
        measure=choice.measure,
        value=choice.value,
        unit=unit_of(found.measures.get(choice.measure)),
        because=because or ("keep" if kept else "other_policy"),
        about={
            "of": int(found.manifest.get("workload", {}).get("nodes") or 0),
            "gain": _gain(choice),
            "missing": f"{choice.orders} of {FEWEST} orders of arrival",
        },
    )
    return answer_of(
        [first, _scheduler(choice, in_use, counted=False), *facts_of_choice(found, choice)]
    )


def verdict(e: Evidence) -> Fact:
    """The verdict, its condition in ``because``."""
    because, count = _acted_on(e)
    of = int(str(e.load.get("nodes") or 0))
    about: dict[str, str | int | float | None] = {"of": of if count is None else count.of}
    if count is not None:
        about |= {"case": count.case, "requests": count.requests, "added": count.added or None}
    first = e.requests_first
    if first is not None:
        about |= {
            "resource": RESOURCE[first[0]],
            "direction": "raised" if first[1] == "above" else "lowered",
        }
    about |= {
        "broken": len(e.broken) or None,
        "orders": e.choice.orders,
        "gain": _gain(e.choice),
        "missing": "no policy was counted",
    }
    sizes = [one.nodes for name, one in e.counts.items() if name.endswith("size") and one.nodes]
    low, high = (min(sizes), max(sizes)) if because == "assumed" and sizes else (None, None)
    nodes = None if count is None else count.nodes
    return Fact(
        kind="verdict",
        subject=e.choice.policy if count is None else count.policy,
        measure=e.choice.measure if because in ("other_policy", "named_best") else "",
        value=nodes if because not in ("keep", "requests_only", "above_ceiling") else of,
        unit="nodes",
        low=low if low is not None else nodes,
        high=high if high is not None else nodes,
        because=because,
        about=about,
    )


def _acted_on(e: Evidence) -> tuple[str, Count | None]:
    """The key of the verdict, and the count that it speaks of."""
    now, then = e.counts.get("recorded"), e.counts.get("recommended")
    relative = e.counts.get("no_more_often")
    with_fitting = then if e.requests_first and _holds(then) else now
    production = OBSERVED in e.results.policies
    rules: tuple[tuple[bool, str, Count | None], ...] = (
        (e.assumed and _holds(now), "assumed", now),
        (e.assumed, "assumed_none", None),
        (e.few_orders and _holds(with_fitting), "few_orders", with_fitting),
        (e.few_orders, "cannot_tell", None),
        (with_fitting is then and _goes(then), "fewer_nodes_after_requests", then),
        (_goes(now), "fewer_nodes" if production else "needs_fewest", now),
        (bool(e.broken) and not _holds(now) and _goes(relative), "above_ceiling_fewer", relative),
        (bool(e.broken) and not _holds(now), "above_ceiling", None),
        (e.requests_first is not None, "requests_only", None),
        (e.choice.because == "better", "other_policy", None),
        (now is not None and now.added > 0, "more_nodes", now),
        (bool(e.counts), "keep", now),
    )
    return next(((key, one) for applies, key, one in rules if applies), ("cannot_tell", None))


def _holds(count: Count | None) -> bool:
    return count is not None and count.nodes is not None and not count.added


def _goes(count: Count | None) -> bool:
    """Whether at least one node and 1 % of all can go."""
    if count is None or count.nodes is None or count.added:
        return False
    less = count.of - count.nodes
    return less >= 1 and less >= MATERIAL * count.of


def _lacks(e: Evidence) -> Iterator[Fact]:
    """What is missing, or comes before all counts."""
    for resource, share in e.ceiling.items():
        yield Fact(
            kind="ceiling",
            measure=FULLEST[resource],
            value=share,
            unit="fraction",
            about={"resource": RESOURCE[resource]},
        )
    if e.assumed:
        given = dict(e.results.manifest.get("workload", {})).get("assumptions", {})
        yield Fact(
            kind="sizes_assumed",
            subject="trace",
            about={
                "node_cpu_cores": given.get("node_cpu_cores"),
                "node_memory_bytes": given.get("node_memory_bytes"),
            },
        )
    if e.broken and e.today:
        over = max(e.today, key=lambda one: one.value / e.ceiling.get(_resource(one), 1.0))
        yield Fact(
            kind="ceiling_broken",
            subject=over.node,
            measure=over.measure,
            value=len(e.broken),
            high=over.value,
            against=e.ceiling[_resource(over)],
            unit="nodes",
            about={
                "of": int(str(e.load.get("nodes") or 0)),
                "resource": RESOURCE[_resource(over)],
                "reaches_fraction": over.value,
                "full_fraction": e.ceiling[_resource(over)],
            },
        )


def _resource(one: Fullest) -> str:
    return next(name for name, measure in FULLEST.items() if measure == one.measure)


def _requests(e: Evidence) -> Iterator[Fact]:
    for resource, share in e.use_over_requested.items():
        because = "above" if share > ABOVE else "below_half" if share < BELOW else ""
        yield Fact(
            kind="use_over_requested",
            subject="trace",
            measure=resource,
            value=share,
            unit="fraction",
            because=because,
            rank=1 if because else 2,
            about={"resource": RESOURCE[resource]},
        )


def _counted(e: Evidence) -> Iterator[Fact]:
    """The facts of each case, production first."""
    of = int(str(e.load.get("nodes") or 0))
    for one in e.today:
        yield _fullest(one, "today", "recorded")
    if e.cost_per_hour is not None:
        yield _cost(e, e.cost_per_hour, "today", "recorded")
    for case, count in e.counts.items():
        yield needed(count)
        if count.nodes is None:
            continue
        for one in count.fullest:
            yield _fullest(one, case, count.requests)
        if count.cost_per_hour is not None:
            yield _cost(e, count.cost_per_hour, case, count.requests)
        yield from details(count)
    counted = [one for one in e.counts.values() if one.bound is not None]
    if counted:
        acted = _acted_on(e)[1] or counted[0]
        bound = acted.bound if acted.bound is not None else counted[0].bound
        yield Fact(
            kind="lower_bound",
            subject=acted.policy,
            value=bound,
            unit="nodes",
            about={
                "of": of,
                "case": "bound",
                "requests": acted.requests,
                "requests_as": _AS[acted.requests],
            },
        )


def needed(count: Count) -> Fact:
    """How many nodes a count came to."""
    because = "no_more_often" if count.case == "no_more_often" else ""
    if count.nodes is None:
        because = "none_holds"
    elif count.added:
        because = "more"
    return Fact(
        kind="nodes_needed",
        subject=count.policy,
        measure=count.breaks.measure if count.breaks is not None else "",
        value=count.nodes,
        unit="nodes",
        low=min(count.by_order, default=None),
        high=max(count.by_order, default=None),
        against=count.of,
        because=because,
        about={
            "of": count.of,
            "bound": count.bound,
            "orders": len(count.by_order) or None,
            "added": count.added or None,
            "case": count.case,
            "requests": count.requests,
            "requests_as": _AS[count.requests],
            "breaks_at_fraction": None if count.breaks is None else count.breaks.value,
        },
    )


def details(count: Count) -> Iterator[Fact]:
    """What a count rests on: orders that disagree, the nearest limit, who restarts."""
    about = {"case": count.case, "requests": count.requests}
    if count.joint_is_more:
        yield Fact(
            kind="joint_count",
            subject=count.policy,
            value=count.nodes,
            unit="nodes",
            low=min(count.by_order),
            high=max(count.by_order),
            about=about,
        )
    for kind, one in (("limit_nearest", count.nearest), ("one_node_fewer", count.fewer)):
        if one is not None:
            yield Fact(
                kind=kind,
                subject=count.policy,
                measure=one.measure,
                value=one.value,
                against=one.allowed,
                about=about,
            )
    if count.restarted is not None:
        yield Fact(
            kind="pods_restarted",
            subject=count.policy,
            value=count.restarted,
            unit="containers",
            about=about,
        )


def _fullest(one: Fullest, case: str, requests: str) -> Fact:
    return Fact(
        kind="fullest_node",
        subject=one.node,
        measure=one.measure,
        value=one.value,
        unit="fraction",
        about={"case": case, "requests": requests},
    )


def _cost(e: Evidence, amount: float, case: str, requests: str) -> Fact:
    return Fact(
        kind="cost",
        value=amount,
        unit="per_hour",
        about={"case": case, "requests": requests, "currency": e.currency or None},
    )


def _money(e: Evidence) -> Iterator[Fact]:
    """What the nodes that can go cost, or what is lacking to say so."""
    count = _acted_on(e)[1]
    if e.assumed or count is None or not _goes(count):
        return
    if e.cost_per_hour is None or count.cost_per_hour is None:
        yield Fact(
            kind="price_unknown",
            because="some" if e.unpriced else "",
            about={"types": ", ".join(e.unpriced) or None},
        )
        return
    saved = e.cost_per_hour - count.cost_per_hour
    yield Fact(
        kind="saving",
        value=saved,
        unit="per_hour",
        about={
            "case": count.case,
            "share_fraction": saved / e.cost_per_hour if e.cost_per_hour else None,
            "a_month_per_month": saved * HOURS_A_MONTH,
            "currency": e.currency or None,
        },
    )


def _scheduler(choice: Choice, in_use: str, *, counted: bool) -> Fact:
    because = "alike" if counted and choice.because == "no_production" else choice.because
    return Fact(
        kind="recommended_policy",
        subject=choice.policy,
        measure=choice.measure,
        value=choice.value,
        against=choice.against,
        because=because,
        about={"orders": choice.orders, "needed": FEWEST, "in_use": in_use},
    )


def _sure(e: Evidence) -> Iterator[Fact]:
    count = _acted_on(e)[1]
    if count is not None and count.nodes is not None:
        orders = len(count.by_order)
        because = "assumed" if e.assumed else "few_orders" if 1 < orders < FEWEST else ""
        yield Fact(
            kind="confidence",
            subject=count.policy,
            value=count.nodes,
            unit="nodes",
            because="one_order" if orders == 1 and not e.assumed else because,
            about={"held": orders, "orders": orders, "needed": FEWEST},
        )
    span_ms = _span_ms(e.load)
    yield Fact(
        kind="not_covered",
        subject="trace",
        value=span_ms,
        unit="ms",
        because="short_record" if span_ms < WEEK_MS else "",
    )


def _span_ms(load: Mapping[str, object]) -> int:
    first, last, step = (
        int(str(load.get(f"{one}_ms") or 0)) for one in ("time_min", "time_max", "step")
    )
    return last - first + step


def facts_of_choice(found: Results, choice: Choice) -> Iterator[Fact]:
    """The policies of a run by the measures that matter, and who may not be chosen."""
    for one in choice.barred:
        yield Fact(
            kind="policy_barred",
            subject=one.policy,
            measure=one.measure,
            value=one.value,
            against=one.allowed,
            because=one.because,
            rank=3 if one.because in ("paper", "yardstick") else 2,
        )
    for measure in COMPARED:
        if measure not in found.measures:
            continue
        unit = unit_of(found.measures[measure])
        for row in standings(found, measure).rows:
            for policy in row.names:
                yield Fact(
                    kind="policy_value",
                    subject=policy,
                    measure=measure,
                    value=row.mean,
                    unit=unit,
                    low=row.low,
                    high=row.high,
                    about={"orders": row.orders},
                )
                yield from _against_production(found, policy, measure, unit)


def _against_production(found: Results, policy: str, measure: str, unit: str) -> Iterator[Fact]:
    if OBSERVED not in found.policies or policy == OBSERVED:
        return
    told = difference(found, policy, OBSERVED, measure)
    if told is None:
        return
    value, usual = _mean(found, policy, measure), _mean(found, OBSERVED, measure)
    yield Fact(
        kind="policy_against",
        subject=policy,
        measure=measure,
        value=value,
        against=usual,
        unit=unit,
        verdict=_verdict(told, found.measures[measure]),
        about={
            "other": OBSERVED,
            "difference": told.mean,
            "difference_low": told.low,
            "difference_high": told.high,
        },
    )


def _verdict(told: Difference, measure: Measure) -> Verdict:
    if told.low is None:
        return "cannot_tell"
    if told.mean == 0 or told.slight:
        return "same"
    if not told.apart or measure.better is None:
        return "cannot_tell"
    return "better" if (told.mean < 0) == (measure.better == "low") else "worse"


def _next(e: Evidence) -> Iterator[Followup]:
    """At most three commands, the most useful first."""
    said: list[Followup] = []
    count = _acted_on(e)[1]
    if e.requests_first is not None:
        said.append(Followup(question="requests", command="requests", arguments={"STORE": e.store}))
    if count is not None:
        assume = {"assume": "requests=sized:" + f"{e.run}/studies/requests"}
        said.append(
            Followup(
                question="nodes",
                command="nodes",
                arguments={
                    "STORE": e.store,
                    "policy": count.policy,
                    **(assume if count.case == "recommended" else {}),
                    "scale": 1.2,
                },
            )
        )
    if e.few_orders:
        said.append(
            Followup(
                question="orders",
                command="run",
                arguments={"SRC": e.store, "out": e.run, "repeat": FEWEST},
            )
        )
    elif e.assumed:
        said.append(
            Followup(question="sensitivity", command="sensitivity", arguments={"STORE": e.store})
        )
    elif e.cost_per_hour is None:
        said.append(
            Followup(
                question="prices",
                command="run",
                arguments={"SRC": e.store, "out": e.run, "price": "TYPE=AMOUNT"},
            )
        )
    yield from said[:3]


def _by_nodes(found: Results, names: Sequence[str]) -> list[str]:
    """Policies by the nodes that they used in the first order of arrival, the fewest first."""

    def used(name: str) -> float:
        return float(found.of(name, NODES)[0]) if found.known(name, NODES) else float("inf")

    return sorted(names, key=lambda name: (used(name), name != USUAL, name))


def _first(found: Results, names: Sequence[str], measure: str) -> str:
    """Of policies that chance does not tell apart: a scheduler's own, else the best mean."""
    rows = [row for row in standings(found, measure).rows if set(row.names) & set(names)]
    top = [one for row in rows if not row.apart_from_best for one in row.names if one in names]
    mine = top or [one for row in rows for one in row.names if one in names]
    return USUAL if USUAL in mine else mine[0]


def _mean(found: Results, policy: str, measure: str) -> float | None:
    if not policy or not measure or not found.known(policy, measure):
        return None
    return float(found.of(policy, measure).mean())


def _gain(choice: Choice) -> float | None:
    if choice.value is None or choice.against is None:
        return None
    return choice.against - choice.value


def unit_of(measure: Measure | None) -> str:
    """The unit of a measure's values in facts."""
    return "fraction" if measure is not None and measure.share else ""
