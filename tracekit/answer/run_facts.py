"""The facts of a run and of its decision, the most important first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tracekit.answer.caveats import assumed_use, caveats
from tracekit.answer.counts import (
    FULLEST,
    REQUESTS_AS,
    RESOURCE,
    Count,
    Fullest,
    detail_facts,
    fullest_fact,
    needed_fact,
    saving_fact,
)
from tracekit.answer.decide import (
    WEEK_MS,
    Choice,
    Evidence,
    acted_on,
    can_go,
    mean_of,
)
from tracekit.answer.fewest.cluster import ZONE
from tracekit.answer.intervals import COMPARED
from tracekit.answer.nodes import anew_facts, sure_facts
from tracekit.answer.production import broken_facts, ceiling_facts, facts_of_use
from tracekit.answer.standings import Difference, difference, standings
from tracekit.base.facts import Answer, Fact, Followup, Scalar, Verdict, answer_of
from tracekit.policy.entrant import USUAL
from tracekit.replay.chance import FEWEST
from tracekit.replay.measures import Measure
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.run_folder import MOVES, REBALANCES


def answer_run(e: Evidence) -> Answer:
    """Return the answer of a run."""
    facts = [
        verdict(e),
        *e.first,
        *_lacks(e),
        *facts_of_use(e.use_over_requested),
        *_counted(e),
        *_money(e),
        _scheduler(e.choice, e.in_use, acted_on(e)[1]),
        *_sure(e),
        *e.facts,
        *facts_of_choice(e.results, e.choice),
    ]
    return answer_of(facts, _next(e))


def answer_replays(results: Results, choice: Choice, in_use: str = USUAL) -> Answer:
    """Return the answer of replays alone, without counts of nodes."""
    keeps_policy = choice.because in ("in_use", "no_production", "few_orders")
    because = {"few_orders": "too_few_orders", "no_production": "named_best"}.get(choice.because)
    first = Fact(
        kind="verdict",
        subject=choice.policy,
        measure=choice.measure,
        value=choice.value,
        unit=unit_of(results.measures.get(choice.measure)),
        because=because or ("keep_policy" if keeps_policy else "other_policy"),
        about={
            "of": int(results.manifest.get("workload", {}).get("nodes") or 0),
            "gain": _gain(choice),
            "orders": choice.orders,
            "needed": FEWEST,
        },
    )
    return answer_of(
        [
            first,
            *assumed_use(results),
            _scheduler(choice, in_use),
            *facts_of_choice(results, choice),
        ]
    )


def verdict(e: Evidence) -> Fact:
    """Return the verdict of a run; its ``because`` is the key that ``acted_on`` returns."""
    because, count = acted_on(e)
    of = int(str(e.load.get("nodes") or 0))
    about: dict[str, Scalar] = {"of": of if count is None else count.of}
    if count is not None:
        about |= {"case": count.case, "requests": count.requests, "added": count.added or None}
    first = e.requests_first
    if first is not None:
        about |= {
            "resource": RESOURCE[first[0]],
            "direction": "raised" if first[1] == "above" else "lowered",
        }
    if count is not None and count.policy != e.in_use:
        about["other_policy"] = count.policy
    about |= {
        "broken": len(e.broken) or None,
        "orders": e.choice.orders,
        "needed": FEWEST,
        "gain": _gain(e.choice),
    }
    sized = {name: one.nodes for name, one in e.counts.items() if name.endswith("size")}
    about |= {f"{name}_nodes": many for name, many in sized.items()}
    sizes = [many for many in sized.values() if many]
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


def _lacks(e: Evidence) -> Iterator[Fact]:
    """Facts before all counts: the ceiling, assumed sizes and use, nodes above the ceiling."""
    yield from ceiling_facts(e.ceiling)
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
    yield from assumed_use(e.results)
    yield from broken_facts(e.broken, e.today, e.ceiling, int(str(e.load.get("nodes") or 0)))


def _resource(one: Fullest) -> str:
    return next(name for name, measure in FULLEST.items() if measure == one.measure)


def _counted(e: Evidence) -> Iterator[Fact]:
    """The facts of today's nodes and of the count of each case."""
    of = int(str(e.load.get("nodes") or 0))
    for one in e.today:
        yield fullest_fact(one, "today", "recorded")
    if e.cost_per_hour is not None:
        yield _cost(e, e.cost_per_hour, "today", "recorded")
    for case, count in e.counts.items():
        yield needed_fact(count)
        if count.nodes is None:
            continue
        for one in count.fullest:
            yield fullest_fact(one, case, count.requests)
        if count.cost_per_hour is not None:
            yield _cost(e, count.cost_per_hour, case, count.requests)
        yield from detail_facts(count)
    counted = [one for one in e.counts.values() if one.bound is not None]
    if counted:
        acted = acted_on(e)[1] or counted[0]
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
                "requests_as": REQUESTS_AS[acted.requests],
            },
        )


def _cost(e: Evidence, amount: float, case: str, requests: str) -> Fact:
    return Fact(
        kind="cost",
        value=amount,
        unit="per_hour",
        about={"case": case, "requests": requests, "currency": e.currency or None},
    )


def _money(e: Evidence) -> Iterator[Fact]:
    """The saving, or the fact that prices are unknown; nothing where no node can go."""
    count = acted_on(e)[1]
    if e.assumed or count is None or not can_go(count):
        return
    because, types = "some" if e.unpriced else "", ", ".join(e.unpriced) or None
    unknown = Fact(kind="price_unknown", because=because, about={"types": types})
    yield saving_fact(count, e.cost_per_hour, e.currency) or unknown


def _scheduler(choice: Choice, in_use: str, count: Count | None = None) -> Fact:
    """The policy to run: that of the count that is acted on, else the choice of the replays."""
    about: dict[str, Scalar] = {"orders": choice.orders, "needed": FEWEST, "in_use": in_use}
    if count is not None and count.policy != in_use:
        return Fact(
            kind="recommended_policy",
            subject=count.policy,
            value=count.nodes,
            unit="nodes",
            because="fewer_nodes",
            about=about,
        )
    because = "alike" if count is not None and choice.because == "no_production" else choice.because
    if count is not None and count.as_random is not None and because in ("in_use", "alike"):
        because, (other, nodes) = "as_random", count.as_random
        about |= {"other": other, "other_nodes": nodes, "requests_as": REQUESTS_AS[count.requests]}
    return Fact(
        kind="recommended_policy",
        subject=choice.policy,
        measure=choice.measure,
        value=choice.value,
        against=choice.against,
        because=because,
        about=about,
    )


def _sure(e: Evidence) -> Iterator[Fact]:
    count, load = acted_on(e)[1], e.load
    yield from sure_facts(count, varying=e.varying, assumed=e.assumed)
    yield from anew_facts(count)
    span_ms = _span_ms(load)
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


def facts_of_choice(results: Results, choice: Choice) -> Iterator[Fact]:
    """Yield facts on a run's policies.

    They are caveats, the containers that rebalancing moved, the policies that may not be
    recommended, and each policy's value of each compared measure.
    """
    yield from caveats(results)
    yield from _moved(results)
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
        if measure not in results.measures:
            continue
        unit = unit_of(results.measures[measure])
        for row in standings(results, measure).rows:
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
                yield from _against_production(results, policy, measure, unit)


def _moved(results: Results) -> Iterator[Fact]:
    """The moves of each policy's rebalancer in the first order of arrival."""
    of = {one["policy"] for one in results.manifest.get("policies", ()) if one.get(REBALANCES)}
    for row in (one for one in results.summary.to_dicts() if one["policy"] in of):
        yield Fact(
            kind="moved",
            subject=row["policy"],
            value=row["moves"],
            unit="moves",
            because="" if row["moves"] else "nothing",
            about={"again": row["moved_again"], "file": f"{MOVES}.parquet"},
        )


def _against_production(results: Results, policy: str, measure: str, unit: str) -> Iterator[Fact]:
    if OBSERVED not in results.policies or policy == OBSERVED:
        return
    gap = difference(results, policy, OBSERVED, measure)
    if gap is None:
        return
    value, usual = mean_of(results, policy, measure), mean_of(results, OBSERVED, measure)
    yield Fact(
        kind="policy_against",
        subject=policy,
        measure=measure,
        value=value,
        against=usual,
        unit=unit,
        verdict=_verdict(gap, results.measures[measure]),
        about={
            "other": OBSERVED,
            "difference": gap.mean,
            "difference_low": gap.low,
            "difference_high": gap.high,
        },
    )


def _verdict(gap: Difference, measure: Measure) -> Verdict:
    if gap.low is None:
        return "cannot_tell"
    if gap.mean == 0 or gap.slight:
        return "same"
    if not gap.apart or measure.better is None:
        return "cannot_tell"
    return "better" if (gap.mean < 0) == (measure.better == "low") else "worse"


def _next(e: Evidence) -> Iterator[Followup]:
    """At most three commands, the most useful first."""
    steps: list[Followup] = []
    count = acted_on(e)[1]
    if e.requests_first is not None:
        steps.append(
            Followup(question="requests", command="requests", arguments={"STORE": e.store})
        )
    if count is not None and can_go(count):
        sized = [f"requests=sized:{e.run}/studies/requests"]
        assume = [*e.assume, *(sized if count.case == "recommended" else [])]
        arguments: dict[str, Scalar | list[str]] = {
            "STORE": e.store,
            "policy": count.policy,
            **({"assume": assume} if assume else {}),
        }
        steps.append(Followup(question="drain", command="nodes", arguments=arguments))
    if e.few_orders:
        steps.append(
            Followup(
                question="orders",
                command="run",
                arguments={"SRC": e.store, "out": e.run, "repeat": FEWEST},
            )
        )
    elif e.assumed:
        steps.append(
            Followup(question="sensitivity", command="sensitivity", arguments={"STORE": e.store})
        )
    elif e.cost_per_hour is None:
        steps.append(
            Followup(
                question="prices",
                command="run",
                arguments={"SRC": e.store, "out": e.run, "price": f"{_a_type(e)}=AMOUNT"},
            )
        )
    if count is not None and int(str(e.load.get("zones") or 0)) > 1:
        lost = {"STORE": e.store, "policy": count.policy, "survive": ZONE}
        steps.append(Followup(question="zone_loss", command="nodes", arguments=lost))
    yield from steps[:3]


def _a_type(e: Evidence) -> str:
    """An instance type that has no price."""
    return next(iter(e.unpriced), "TYPE")


def _gain(choice: Choice) -> float | None:
    if choice.value is None or choice.against is None:
        return None
    return choice.against - choice.value


def unit_of(measure: Measure | None) -> str:
    """Return the unit of a measure's values in facts: ``fraction``, or empty for other measures."""
    return "fraction" if measure is not None and measure.share else ""
