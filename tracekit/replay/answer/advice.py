"""The answer of a run in one sentence, and what its measure means.

Terminal, display and report say the same sentence: what to use or to keep, and what it costs.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracekit.replay.answer.amounts import difference_text, standing_text, way
from tracekit.replay.answer.decision import Decision, runner_up
from tracekit.replay.answer.left_waiting import carries_less, leaves
from tracekit.replay.answer.may_answer import CONDITIONS, may_answer, may_be_chosen
from tracekit.replay.answer.preferred import NODES, USUAL
from tracekit.replay.answer.standings import Difference, Standing, difference, standings
from tracekit.replay.chance.material import too_near
from tracekit.replay.measures import Measure, find_measure, small
from tracekit.replay.runs.kept_back import background
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.words import count, counted, few, listed, spaced

#: So many names are told, and so many measures that get worse; others are counted.
_NAMED, _PRICES = 3, 2
#: What grows by more than this share beside production, of nodes and their cost, is told.
_MUCH_MORE = 0.1
#: What nodes that hold a container cost: no measure has a better end by it, and people pay it.
_COST = "cost_per_hour"
#: Where something gets better and something else worse; the reader alone knows what counts.
_WEIGH = "Keep the placement of production, unless this trade is worth it"
#: Measures whose titles alone say little: their names end so.
_UNTOLD = ("_stranded_share", "_debris_full_fraction")


def meaning(told: Decision) -> str:
    """The meaning of the answer's measure, where its title does not say it."""
    measure = find_measure(told.criterion)
    if measure is None or not told.chosen or not measure.name.endswith(_UNTOLD):
        return ""
    return f"{measure.title} is {measure.meaning.partition(';')[0]}."


def sentence(found: Results, told: Decision) -> str:
    """The answer; if nothing can be concluded, it says so, and why."""
    first, measure = next(iter(told.chosen), ""), find_measure(told.criterion)
    row = standings(found, told.criterion).row(first) if first and measure else None
    if row is None or measure is None:
        return spaced(f"{told.answer}{_waits(found, told.nearest)}")
    return f"{_use(found, told, measure, row)}{_waits(found, first)}{_blind(found, told)}"


def keeps_production(found: Results, told: Decision) -> bool:
    """Whether the answer is to keep production: nothing is better, or has a price to be weighed."""
    if OBSERVED not in found.policies:
        return False
    return bool(told.nearest) if not told.chosen else _price(found, told)[1]


def _waits(found: Results, policy: str) -> str:
    """That the policy leaves containers waiting that production placed, a sentence; or nothing."""
    clause = leaves(found, policy) if policy else ""
    return f" {policy} {clause}; production placed all." if clause else ""


def _use(found: Results, told: Decision, measure: Measure, row: Standing) -> str:
    """The policy to use, or to keep, beside production where it is known."""
    first = told.chosen[0]
    always = f" in each of {counted(row.orders, 'order')} of arrival" if row.reach == 0 else ""
    value = f"{standing_text(measure, row)}{always}"
    production = standings(found, told.criterion).row(OBSERVED)
    against = next(
        (one.against_production for one in told.measures if one.measure == told.criterion), None
    )
    title = small(measure.title)
    if production is None or against is None:
        if told.criterion in CONDITIONS and len(told.chosen) > 1:
            return _any_of(told)
        against_others = f"{_beside(found, told)}{_cost(found, told)}"
        return f"Use {first}: {title} {_verb(title)} {value}{against_others}."
    price, costs = _price(found, told)
    advice = f"{_WEIGH}: under {first}" if costs else f"Use {first}:"
    if against.apart:
        gained = f"{difference_text(measure, against)} against production{price}"
        return f"{advice} {title} {_verb(title)} {value}, {gained}."
    usual = standing_text(measure, production)
    gains = _gains(found, told)
    if gains:
        return (
            f"{advice} {listed(gains[:_NAMED])}, while {title} {_verb(title)} no different from"
            f" production's beyond chance ({value}; {usual} in production){price}."
        )
    do = "does" if len(told.chosen) == 1 else "do"
    return (
        f"Nothing better than production was found, beyond chance. {measure.title}: {usual} in"
        f" production, {standing_text(measure, row)}{always} under {first}."
        f" {few(told.chosen)} {do} as well as production."
    )


def _any_of(told: Decision) -> str:
    """A sentence if policies that hold the load tie, and others do not hold it."""
    first = told.chosen[0]
    why = "which clusters run already" if first == USUAL else "one of them"
    others = sum(len(one.names) for one in told.left_out)
    do = "does" if others == 1 else "do"
    return (
        f"No policy is better than another: {len(told.chosen)} of {len(told.chosen) + others} place"
        " every container without overloading nodes, and nothing that may decide tells these apart"
        f" beyond chance. Keep {first}, {why}."
        f" The other{'s' * (others != 1)} {do} not hold the load."
    )


def _beside(found: Results, told: Decision) -> str:
    """How far that is from the runner-up, a clause; empty where there is none."""
    rival, measure = runner_up(found, told), find_measure(told.criterion)
    if not rival or measure is None:
        return ""
    by = difference(found, told.chosen[0], rival, measure.name)
    if by is None or not by.apart:
        return f", within chance of {rival}"
    return f", {difference_text(measure, by)} against {rival}"


def alike(found: Results, told: Decision) -> str:
    """The policies that the orders do not separate from the first, with numbers; or nothing."""
    measure = find_measure(told.criterion)
    if measure is None or not told.chosen:
        return ""
    rows, first = standings(found, told.criterion), told.chosen[0]
    others = [(name, rows.row(name)) for name in told.chosen[1:]]
    ours = found.of(first, told.criterion)
    same = [name for name, _ in others if np.array_equal(found.of(name, told.criterion), ours)]
    named = [
        f"{name} ({standing_text(measure, row)})"
        for name, row in others
        if row and name not in same
    ]
    why = f"; it goes first, as {told.why_first}" if told.why_first else ""
    said = [f"Too few orders tell {first} from {few(named)}{why}."] if named else []
    if same:
        come = "comes" if len(same) == 1 else "come"
        said.append(f"{few(same)} {come} to the same by {small(measure.title)} in every order.")
    return " ".join(said)


def _price(found: Results, told: Decision) -> tuple[str, bool]:
    """By what the first of the chosen is worse than production, a clause; whether it is a trade.

    It is one where something is worse beyond chance or in each order: a correction for all
    comparisons guards against gains that are none, and shall not hide a cost that every order has.
    """
    costs = _beside_production(found, told, "worse")
    sure = [one for one in costs if one[1].apart]
    perhaps = [one for one in costs if not one[1].apart]
    always = [one for one in perhaps if _in_every_order(found, told.chosen[0], one[0])]
    rest = [one for one in perhaps if one not in always]
    said, left = [], _PRICES
    for how, some in (
        ("", sure),
        (f"in each of {found.most_orders} orders ", always),
        ("on average, within chance, ", rest),
    ):
        said += [f"{how}by {_named(some, left)}"] if some else []
        left = max(left - len(some), 0)
    worse = f"; it is worse {', and '.join(said)}" if said else ""
    paid = _more(found, told, _COST)
    # less overload is worth its price; what else costs something is for the reader to weigh
    trade = bool(sure or always or paid) and told.criterion not in CONDITIONS
    return f"{worse}{_more(found, told, NODES)}{paid}", trade


def _more(found: Results, told: Decision, name: str) -> str:
    """That it takes much more nodes, or that these cost much more, than in production; a clause."""
    first, measure = told.chosen[0], found.measures.get(name)
    by = difference(found, first, OBSERVED, name) if measure is not None else None
    free = not background(found.manifest.get("workload", {}))
    if measure is None or by is None or not (by.apart and free) or told.criterion == name:
        return ""
    usual = float(found.of(OBSERVED, name).mean())
    if by.mean <= _MUCH_MORE * usual:
        return ""
    row, title = standings(found, name).row(first), small(measure.title)
    much = "" if row is None else f" {standing_text(measure, row)},"
    return f"; {title} {_verb(title)}{much} {difference_text(measure, by)} against production"


def _in_every_order(found: Results, policy: str, measure: Measure) -> bool:
    """Whether it is worse than production in each order of arrival that it met."""
    usual = found.of(OBSERVED, measure.name).mean()
    more = found.of(policy, measure.name) - usual
    return bool((more > 0 if measure.first == "low" else more < 0).all())


def _named(costs: Sequence[tuple[Measure, Difference]], most: int) -> str:
    """The first of some measures with their differences; the others are counted."""
    said = [f"{small(one.title)} {difference_text(one, by)}" for one, by in costs[:most]]
    if len(costs) > most:
        said.append(count(len(costs) - most, "more measure" if said else "measure"))
    return listed(said)


def _cost(found: Results, told: Decision) -> str:
    """By what others that may be chosen are better than the first beyond chance, a clause; or "".

    Nodes count where those that hold no container are free: whoever pays for them wants to know.
    """
    first, costs = told.chosen[0], []
    rivals = [names[0] for names in may_be_chosen(found) if first not in names]
    free = not background(found.manifest.get("workload", {}))
    asked = [one for one in may_answer(found) if one.name != told.criterion]
    nodes = found.measures.get(NODES)
    if nodes is not None and free and told.criterion != NODES:
        asked.append(dataclasses.replace(nodes, better="low"))
    for measure in asked:
        apart = ((name, difference(found, first, name, measure.name)) for name in rivals)
        worse = [
            (name, by)
            for name, by in apart
            if by is not None
            and way(measure, by) == "worse"
            and not too_near(measure, [found.of(one, measure.name).mean() for one in (first, name)])
        ]
        if worse:
            name, by = max(worse, key=lambda one: abs(one[1].mean))
            costs.append((measure.name != NODES, measure, name, by))
    costs.sort(key=lambda one: one[0])
    said = [
        f"{small(measure.title)} {difference_text(measure, by)} against {name}"
        for _, measure, name, by in costs[:_PRICES]
    ]
    said += [count(len(costs) - _PRICES, "more measure")] if len(costs) > _PRICES else []
    return f"; it is worse by {listed(said)}" if said else ""


def _blind(found: Results, told: Decision) -> str:
    """A sentence if the first policy reads use and never saw any; or nothing."""
    first = told.chosen[0]
    known: Mapping[str, Any] = next(
        (one for one in found.manifest.get("policies", []) if one["policy"] == first), {}
    )
    blind, containers = known.get("decisions_without_use"), _containers(found)
    if not blind or not containers or blind < containers:
        return ""
    return (
        f" All decisions of {first}, which reads use, were made before any use had been measured:"
        " it placed as it does without."
    )


def _containers(found: Results) -> int:
    return int(found.manifest.get("workload", {}).get("containers") or 0)


def _gains(found: Results, told: Decision) -> list[str]:
    """By which other measures the first of the chosen is better than production, and how much."""
    return [
        f"{small(measure.title)} changes by {difference_text(measure, against)}"
        for measure, against in _beside_production(found, told, "better")
    ]


def _beside_production(
    found: Results, told: Decision, which: str
) -> list[tuple[Measure, Difference]]:
    """Other measures by which the first of the chosen is better beyond chance, or worse.

    Those that may answer, and what no policy may do; how requests lie is neither.
    """
    asked = {*CONDITIONS, *(one.name for one in may_answer(found))}
    beside = []
    for one in told.measures:
        if one.measure not in asked:
            continue
        measure, against = find_measure(one.measure), one.against_production
        if measure is None or against is None or one.measure == told.criterion:
            continue
        if which == "better" and carries_less(found, told.chosen[0], measure):
            continue
        if way(measure, against, average=True).startswith(which):
            beside.append((measure, against))
    return beside


def _verb(title: str) -> str:
    """Whether a measure's title is of one thing or of many."""
    words = title.partition(",")[0].split()
    return "are" if words[0].endswith("s") or words[-1].endswith("s") else "is"
