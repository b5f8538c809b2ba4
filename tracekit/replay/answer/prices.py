"""What the first of the chosen policies gets better, and what it makes worse, in clauses."""

import dataclasses
from collections.abc import Sequence

from tracekit.replay.answer.amounts import COST, difference_text, standing_text, value_text, way
from tracekit.replay.answer.decision import Decision
from tracekit.replay.answer.left_waiting import carries_less
from tracekit.replay.answer.may_answer import CONDITIONS, may_answer, may_be_chosen
from tracekit.replay.answer.overload import OVERLOAD
from tracekit.replay.answer.preferred import NODES
from tracekit.replay.answer.standings import Difference, difference, standings
from tracekit.replay.chance.material import too_near
from tracekit.replay.measures import Measure, find_measure, small
from tracekit.replay.runs.kept_back import background
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.words import count, listed

#: So many measures that get worse are told; others are counted.
_PRICES = 2
#: What grows by more than this share beside production, of nodes and their cost, is told.
_MUCH_MORE = 0.1
#: More overload than in production in more than this share of the orders is told.
_MOSTLY = 0.5


def price(found: Results, told: Decision) -> tuple[str, bool]:
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
    worse = f". It is worse {', and '.join(said)}" if said else ""
    paid = _more(found, told, COST)
    # less overload is worth its price; what else costs something is for the reader to weigh
    trade = bool(sure or always or paid) and told.criterion not in CONDITIONS
    return f"{worse}{_overload(found, told)}{_more(found, told, NODES)}{paid}", trade


def _overload(found: Results, told: Decision) -> str:
    """That it overloads nodes more in most orders, where nothing else says so; a clause."""
    first, measure = told.chosen[0], found.measures.get(OVERLOAD)
    by = difference(found, first, OBSERVED, OVERLOAD) if measure is not None else None
    if measure is None or by is None or told.criterion == OVERLOAD or by.on_average or by.apart:
        return ""
    usual = found.of(OBSERVED, OVERLOAD).mean()
    if not (found.of(first, OVERLOAD) > usual).mean() > _MOSTLY:
        return ""
    row = standings(found, OVERLOAD).row(first)
    much = "" if row is None else standing_text(measure, row)
    return f"; {small(measure.title)} are {much}, {value_text(measure, float(usual))} in production"


def _more(found: Results, told: Decision, name: str) -> str:
    """That it takes much more nodes, or that these cost much more, than in production; a clause."""
    first, measure = told.chosen[0], found.measures.get(name)
    by = difference(found, first, OBSERVED, name) if measure is not None else None
    free = not background(found.manifest.get("workload", {}))
    if measure is None or by is None or not free or told.criterion == name:
        return ""
    if not (by.apart or _in_every_order(found, first, measure)):
        return ""
    usual = float(found.of(OBSERVED, name).mean())
    if by.mean <= _MUCH_MORE * usual:
        return ""
    row, title = standings(found, name).row(first), small(measure.title)
    much = "" if row is None else f" {standing_text(measure, row)},"
    return f"; {title} {verb(title)}{much} {difference_text(measure, by)} against production"


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


def cost(found: Results, told: Decision) -> str:
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
    return f". It is worse by {listed(said)}" if said else ""


def gains(found: Results, told: Decision) -> list[str]:
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


def verb(title: str) -> str:
    """Whether a measure's title is of one thing or of many."""
    words = title.partition(",")[0].split()
    return "are" if words[0].endswith("s") or words[-1].endswith("s") else "is"
